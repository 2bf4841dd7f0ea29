"""The Delta store: published versions are commits of a Delta table, over Parquet files that Spark has written.

`store.py` writes, which no reader of the table sees; `references.py` commits what is published.
"""
