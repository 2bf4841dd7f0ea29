"""Project stored reports into the catalog: runs with attempts, completions, and dataset versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.context import current_context
from headrace.events.completions import store_completions
from headrace.events.reports import Processes, StoredReport, StoredReports, run_updates
from headrace.events.run_fold import ExternalRun, completion, fold, is_completion
from headrace.events.runs import FormerTimes, former_times, write_box_parents, write_runs
from headrace.events.scheduler_versions import StoredVersions, store_outputs
from headrace.openlineage.joining import RunSpan, join_openlineage_runs

_OBSERVED = """
SELECT FROM catalog.openlineage_run WHERE organisation_id = %s AND process_id = ANY (%s)
UNION ALL
SELECT FROM catalog.openlineage_run WHERE organisation_id = %s AND reported_run_id = ANY (%s)
LIMIT 1
"""
_OPENLINEAGE_RUNS = (
    "SELECT run_id FROM catalog.openlineage_run WHERE organisation_id = %s AND run_id = ANY (%s)"
)


def project(cursor: Cursor[Any], stored: StoredReports, processes: Processes) -> tuple[int, StoredVersions]:
    """Update the catalog with these stored reports; returns the number of changed runs, and their versions."""
    versions = project_outputs(cursor, stored.news)  # which the versions of the joined runs depend on
    return project_runs(cursor, stored.news, stored.earlier, processes), versions


def project_runs(
    cursor: Cursor[Any], news: Sequence[StoredReport], earlier: Sequence[StoredReport], processes: Processes
) -> int:
    """Derive the runs of these reports, which are all reports of these runs; returns their number.

    earlier: the reports that the stored runs were derived from.
    """
    processes.find(cursor, [each.event for each in earlier])
    reports = [*news, *earlier]
    run_ids = {each.run_id for each in reports if each.run_id}
    if not run_ids:
        return 0
    known = {each.run_id for each in earlier if each.run_id}
    # Most jobs are known from their scheduler only, and have nothing to join.
    processes_seen = list({each.process_id for each in reports})
    observed = cursor.execute(
        _OBSERVED,
        [current_context().organisation_id, processes_seen, current_context().organisation_id, list(run_ids)],
    ).fetchone()
    if observed is not None:
        rows = cursor.execute(_OPENLINEAGE_RUNS, [current_context().organisation_id, list(run_ids)])
        known |= {row["run_id"] for row in rows}
    spans = derive_runs(cursor, reports, processes, known)
    if observed is not None:
        join_openlineage_runs(cursor, current_context().organisation_id, spans)
    return len(run_ids)


def project_outputs(
    cursor: Cursor[Any], reports: Sequence[StoredReport], *, silent: bool = False
) -> StoredVersions:
    """Store the versions of these reports, and the completions without a run.

    silent: no outbox messages, since consumers already know.
    """
    alone = [
        completion(each.event, each.sequence)
        for each in reports
        if each.run_id is None and is_completion(each.event)
    ]
    store_completions(cursor, current_context().organisation_id, alone)
    return store_outputs(cursor, reports, silent=silent)


def derive_runs(
    cursor: Cursor[Any],
    reports: Sequence[StoredReport],
    processes: Processes,
    known: Collection[UUID] = (),
) -> list[RunSpan]:
    """Store the runs derived from these reports, which are all reports of these runs; returns when they ran.

    known: those of the runs that may have rows already.
    """
    runs = [fold(updates) for updates in run_updates(reports, processes).values()]
    former = former_times(cursor, known)
    write_runs(cursor, current_context().organisation_id, runs, known)
    write_box_parents(cursor, runs, former)
    store_completions(
        cursor, current_context().organisation_id, [each for run in runs for each in run.completions]
    )
    return [_span(run, former.get(run.run_id)) for run in runs]


def _span(run: ExternalRun, former: FormerTimes | None) -> RunSpan:
    if former is None:
        return RunSpan(run.process_id, run.run_id, run.start_ts, run.end_ts)
    until = None if run.end_ts is None or former.end_ts is None else max(run.end_ts, former.end_ts)
    return RunSpan(run.process_id, run.run_id, min(run.start_ts, former.start_ts), until)
