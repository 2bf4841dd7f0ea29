"""Every dataset: a folder for each domain, with declarations (defs.yaml) beside their SQL and Python."""
