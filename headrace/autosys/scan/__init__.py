"""Scan an estate's files: compare with the catalog, store the difference, propose datasets."""
