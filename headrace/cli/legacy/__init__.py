"""`headrace legacy`: scan, review and ingest an Autosys estate."""
