"""OpenLineage events of any producer: stored as received, and projected into the catalog.

`parsing` validates an event and reports the invalid field; `ingestion` stores events and updates datasets, processes,
runs, versions and lineage. Datasets are found by every name they have.
"""
