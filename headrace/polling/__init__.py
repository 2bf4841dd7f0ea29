"""Adapters for processes that report nothing: their state is polled where their own system keeps it.

A poll (`polls.py`, declared in legacy/polls.yaml) reads rows of a database or an HTTP endpoint (`reading.py`), turns
them into reports of runs (`reports.py`) and drops these into the folder of completions (`polling.py`), where they are
read, quarantined and archived like those of any other source.
"""
