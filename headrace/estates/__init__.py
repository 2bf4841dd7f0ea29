"""Scan an estate into the catalog: compare, store the difference, propose datasets, review and adopt."""
