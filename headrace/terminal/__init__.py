"""The terminal: arguments, tables, progress and errors that commands share."""
