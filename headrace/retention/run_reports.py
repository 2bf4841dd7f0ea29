"""Explain a run, live or archived."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Engine

from headrace.errors import UnknownRun
from headrace.queries.rows import RunReport
from headrace.queries.runs import find_runs, refuse_several


def why(engine: Engine, run: str | UUID) -> tuple[RunReport, ...]:
    """Return the run with this id, or all runs of this Dagster run, or the one with this prefix of an id.

    Searches the archive if the tables have none. Raises UnknownRun if nothing matches, or more than one id;
    ArchiveUnavailable on storage errors.
    """
    if found := find_runs(engine, run):
        return found
    # Here, because it loads pyarrow, and most runs are in the tables.
    from headrace.retention.archived_runs import archived_reports

    prefix = str(run).strip().lower()
    archived = archived_reports(engine, prefix)
    refuse_several(prefix, {report.root_dagster_run_id or str(report.run_id) for report in archived})
    if not archived:
        raise UnknownRun(
            f"no run or Dagster run in the catalog has an id that begins with {prefix}; "
            "`headrace catalog runs` lists runs"
        )
    return archived
