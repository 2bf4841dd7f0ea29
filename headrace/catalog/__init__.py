"""The catalog of datasets, versions, runs and lineage, in PostgreSQL.

Open it with `headrace.database.connection.connect()`; declare with `registry`, choose inputs with `pins`, run within
`runs.attempt`, publish with `publishing`, roll back with `rollback`, query with `queries`. Independent of Dagster and
Spark.
"""
