"""Databases behind named connections of the settings: their dialects, their statements, and Spark's reads and writes.

`jdbc.py` runs statements over java.sql in Spark's JVM, with the driver by which Spark reads and writes rows, so that a
database needs no second client. PostgreSQL needs no driver: `postgresql.py` runs statements by libpq, and `arrow.py`
lets Spark's tasks copy rows by ADBC. `opening.py` chooses by the connection's URL.
"""
