"""Reports about jobs: completion files and documents, scheduler logs, autorep output.

`completions` and `logs` parse them to run events, and are pure; `ingestion` stores the events, and `projection` derives
runs and versions from them.
"""
