"""Every dataset: a folder per domain, with declarations (defs.yaml), SQL and Python."""
