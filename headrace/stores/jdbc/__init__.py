"""The store of databases: a version is a table, and what is published a view.

`store.py` writes tables that no view shows, and reads them and other programs' tables; `references.py` moves the view.
"""
