"""The catalog's vocabulary, in PostgreSQL: records of datasets, versions and runs, their names, and how to find them.

Open it with `headrace.database.connection.connect()`; `registration` and `publishing` write it, `queries` read it.
Independent of Dagster and Spark.
"""
