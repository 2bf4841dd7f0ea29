"""The id of a run that a scheduler reports, before it does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Engine

from headrace.job_reports.completions.reports import Place, event_of
from headrace.job_reports.ingestion import run_ids
from headrace.job_reports.reported_names import with_processes


class UnclearRun(Exception):
    """A report with these fields would be rejected; the message says why."""


def reported_run_id(engine: Engine, fields: Mapping[str, object]) -> UUID:
    """Return the id that a report with these fields gives its run. Raises UnclearRun."""
    event, problems = event_of({**fields, "status": "RUNNING"}, Place("--process", 1, datetime.now(UTC)))
    if event is None:
        raise UnclearRun("; ".join(f"{each.attribute}: {each.message}" for each in problems))
    events, unclear = with_processes(engine, [event])
    if unclear:
        raise UnclearRun(unclear[0][1])
    [run_id] = run_ids(engine, events)
    assert run_id is not None  # noqa: S101 - the report names a process
    return run_id
