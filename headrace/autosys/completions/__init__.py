"""Completion files and reports of legacy jobs: names, formats, parsing to run events."""
