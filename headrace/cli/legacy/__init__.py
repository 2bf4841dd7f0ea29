"""`headrace legacy`: scan, ingest and review an Autosys estate."""
