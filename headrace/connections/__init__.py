"""Databases behind named connections of the settings: their dialects, and statements through Spark's JVM.

Spark reads and writes rows in parallel; everything else (counts, tables, views, a watermark's new rows) is a statement
over java.sql in the same JVM, with the same driver, so that a database needs no second client. `database.py` runs them.
"""
