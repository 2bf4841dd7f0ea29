"""Processes outside Autosys, described in YAML: their descriptions, schedules and records, and when they start next."""
