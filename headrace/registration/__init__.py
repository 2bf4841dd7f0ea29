"""Entries of the catalog: declarations, requests for datasets, and retirements."""
