"""Read a project's YAML, SQL and Python files, and report every problem with file, line and field."""
