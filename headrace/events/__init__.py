"""Run events of external systems: stored raw, folded into runs, and written with completions and versions.

`job_reports` and `openlineage` are the two sources.
"""
