"""The datasets of this project: a folder for each domain, with YAML, SQL and Python."""
