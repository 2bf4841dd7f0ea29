"""Completion files and reports of legacy jobs: file names, formats, parsing to run events."""
