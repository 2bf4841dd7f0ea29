"""Code shared by commands: arguments, output, errors, progress."""
