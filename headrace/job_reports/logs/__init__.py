"""Autosys logs and reports (event demon, autorep, archived runs), parsed to run events."""
