"""The Iceberg store: a version is a snapshot of a table, over Parquet files that Spark has written.

`store.py` writes and stages, `references.py` publishes. Both commit by `snapshots.py` to the catalog of `catalog.py`.
"""
