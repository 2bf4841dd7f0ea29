"""The catalog of datasets, versions, runs and lineage, in PostgreSQL.

Open it with `headrace.database.connection.connect()`; declare with `registry`, choose inputs with `pins`, run within
`runs.attempt`, publish with `publishing`, take back with `rollback`, ask with `queries`. It knows neither Dagster
nor Spark.
"""
