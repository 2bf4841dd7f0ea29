"""Write folded runs to the catalog: `process_run`, `run_attempt` and the parents of runs in boxes.

The only writer of runs from outside, whichever source reported them; `run_fold` computes what is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.database.jsonb import jsonb
from headrace.events.run_fold import ExternalAttempt, ExternalRun
from headrace.events.sql import statement

_FORMER = "SELECT run_id, start_ts, end_ts FROM catalog.process_run WHERE run_id = ANY (%s)"
_RUN_COLUMNS = [name for name in ExternalRun.__slots__ if name not in {"run", "attempts", "completions"}]


@dataclass(frozen=True, slots=True)
class FormerTimes:
    """The times that a run had in the catalog before it was written again."""

    start_ts: datetime
    end_ts: datetime | None


def former_times(cursor: Cursor[Any], run_ids: Collection[UUID]) -> dict[UUID, FormerTimes]:
    """Return the times in the catalog of those of these runs that it contains."""
    rows = cursor.execute(_FORMER, [list(run_ids)]).fetchall() if run_ids else []
    return {row["run_id"]: FormerTimes(row["start_ts"], row["end_ts"]) for row in rows}


def write_runs(
    cursor: Cursor[Any], organisation: UUID, runs: Sequence[ExternalRun], known: Collection[UUID]
) -> None:
    """Insert or replace the runs with their attempts.

    known: those of the runs that the catalog may contain already.
    """
    if not runs:
        return
    parameters = {
        "organisation": organisation,
        "runs": jsonb([_row(run, _RUN_COLUMNS) for run in runs]),
        "known": list(known),
    }
    statement("write_runs").execute(cursor, parameters)
    attempts = [
        _row(attempt, ExternalAttempt.__slots__) | {"run_id": run.run_id, "run_start_ts": run.start_ts}
        for run in runs
        for attempt in run.attempts
    ]
    statement("write_attempts").execute(
        cursor, {"organisation": organisation, "attempts": jsonb(attempts), "known": list(known)}
    )


def write_box_parents(
    cursor: Cursor[Any], runs: Sequence[ExternalRun], former: Mapping[UUID, FormerTimes]
) -> None:
    """Set the parents of scheduler runs, and of the runs in those that are boxes: the box run active at the start."""
    bounds = [
        {"run_id": run.run_id, "process_id": run.process_id, "start_ts": run.start_ts, "since": since}
        for run in runs
        for since in {run.start_ts, former[run.run_id].start_ts if run.run_id in former else run.start_ts}
    ]
    statement("write_box_parents").execute(cursor, {"bounds": jsonb(bounds)})


def _row(value: ExternalRun | ExternalAttempt, columns: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in columns}
