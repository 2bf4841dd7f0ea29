"""Files of declarations: YAML documents with the lines of their fields, and the modules that Python files import."""
