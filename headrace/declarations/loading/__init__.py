"""Read a project's YAML, SQL and Python files, and report every error with file, line and field."""
