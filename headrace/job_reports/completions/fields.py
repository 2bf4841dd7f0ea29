"""Aliases of report fields, in wrappers and Autosys' environment variables."""

ALIASES = {
    "job": "process",
    "job_name": "process",
    "auto_job_name": "process",
    "process_name": "process",
    "autoserv": "instance",
    "box_name": "box",
    "state": "status",
    "run_num": "run",
    "run_number": "run",
    "run_id": "run",
    "autorun": "run",
    "ntry": "attempt",
    "exitcode": "exit_code",
    "rc": "exit_code",
    "return_code": "exit_code",
    "host": "machine",
    "log_location": "log",
    "start_time": "started_at",
    "end_time": "at",
    "ended_at": "at",
    "finished_at": "at",
    "time": "at",
    "message": "reason",
    "path": "location",
    "rows": "row_count",
    "bytes": "byte_size",
    "tag": "version",
}


def is_empty(value: object) -> bool:
    """Return True for an empty value: null or blank."""
    return value is None or (isinstance(value, str) and not value.strip())
