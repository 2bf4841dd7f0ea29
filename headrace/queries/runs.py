"""Runs: what each did, and why it failed."""

from collections.abc import Mapping, Sequence, Set
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.catalog.records import Outcome, PinReason, RunState
from headrace.catalog.run_events import Ending
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownRun
from headrace.queries.rows import AttemptRow, RunInput, RunOutput, RunReport, VersionRef
from headrace.queries.sql import statement
from headrace.queries.versions import check_result

_MIN_PREFIX_LENGTH = 4
_EXACT = (
    "run",
    "dagster",
    "reported",
    "number",
)  # of several matches with the whole name, the first kind is meant
_ATTEMPTS = """
SELECT run_id, attempt AS number, state, start_ts AS started_at, end_ts AS ended_at, reason, failure_kind, log_location,
       dagster_run_id, host, ending, exit_code
FROM catalog.run_attempt
WHERE run_id = ANY (%s)
ORDER BY run_id, attempt
"""


def find_runs(engine: Engine, run: str | UUID) -> tuple[RunReport, ...]:
    """Return the run with this id, or all runs of this Dagster run, or the one with this prefix of an id.

    Also the runs to which a scheduler gave this number, and the run that OpenLineage events reported under this id.

    Empty if none is in the tables; archived runs are not searched. Raises UnknownRun for a prefix that is too short or
    matches several runs.
    """
    with transaction(engine) as cursor:
        run_ids = _find(cursor, str(run).strip())
        return _reports(cursor, run_ids) if run_ids else ()


def assembled(
    runs: Sequence[Mapping[str, Any]],
    attempts: Sequence[dict[str, Any]],
    inputs: Sequence[dict[str, Any]],
    outputs: Sequence[dict[str, Any]],
) -> tuple[RunReport, ...]:
    """Assemble reports of these runs, in their order, from rows of the statements `run_reports`, `run_inputs` and so
    on."""
    return tuple(
        RunReport(
            run_id=run["run_id"],
            process_key=run["process_key"],
            technology=run["technology"],
            state=RunState(run["state"]),
            started_at=run["start_ts"],
            ended_at=run["end_ts"],
            partitions=tuple(run["partitions"]),
            root_dagster_run_id=run["root_dagster_run_id"],
            attempts=tuple(_attempt(row) for row in attempts if row["run_id"] == run["run_id"]),
            inputs=tuple(_input(row) for row in inputs if row["run_id"] == run["run_id"]),
            outputs=tuple(_output(row) for row in outputs if row["run_id"] == run["run_id"]),
            parent_run_id=run["parent_run_id"],
            external_run=run["external_run"],
            historical=run["historical"],
        )
        for run in runs
    )


def _find(cursor: Cursor[Any], name: str) -> list[UUID]:
    prefix = name.lower()
    digits = prefix.replace("-", "")
    hexadecimal = bool(digits) and len(digits) <= 32 and not set(digits) - set("0123456789abcdef")
    is_short = len(digits) < _MIN_PREFIX_LENGTH
    hexadecimal = hexadecimal and not is_short
    bounds = {
        "lower": UUID(digits.ljust(32, "0")) if hexadecimal else None,
        "upper": UUID(digits.ljust(32, "f")) if hexadecimal else None,
    }
    candidates = (
        statement("runs/run_candidates")
        .execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "prefix": None if is_short else prefix,
                "number": name,
                **bounds,
            },
        )
        .fetchall()
    )
    ids = {(row["kind"], row["id"]) for row in candidates}
    exact = [each for kind in _EXACT for each in ids if each in {(kind, prefix), (kind, name)}]
    if exact:
        ids = {exact[0]}
    elif is_short:
        raise UnknownRun(
            f"{name!r} is not a run number and is too short for a run id: use {_MIN_PREFIX_LENGTH} characters or more"
        )
    refuse_several(prefix, {id_ for _, id_ in ids})
    return list(dict.fromkeys(row["run_id"] for row in candidates if (row["kind"], row["id"]) in ids))


def refuse_several(prefix: str, ids: Set[str]) -> None:
    """Raise UnknownRun if a prefix matches more than one of these ids."""
    if len(ids) > 1:
        listed = ", ".join(sorted(ids)[:5])
        raise UnknownRun(f"{prefix} matches {len(ids)} runs: {listed}{' ...' if len(ids) > 5 else ''}")


def _reports(cursor: Cursor[Any], run_ids: list[UUID]) -> tuple[RunReport, ...]:
    wanted = {"run_ids": run_ids}
    runs = statement("runs/run_reports").execute(cursor, wanted).fetchall()
    attempts = cursor.execute(_ATTEMPTS, [run_ids]).fetchall()
    inputs = statement("runs/run_inputs").execute(cursor, wanted).fetchall()
    return assembled(runs, attempts, inputs, outputs_of(cursor, run_ids))


def outputs_of(cursor: Cursor[Any], run_ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """Return the rows of the versions that these runs wrote, as `assembled` takes them."""
    return statement("runs/run_outputs").execute(cursor, {"run_ids": list(run_ids)}).fetchall()


def _attempt(row: dict[str, Any]) -> AttemptRow:
    stored = {name: value for name, value in row.items() if name != "run_id"}
    ending = row["ending"] and Ending(row["ending"])
    return AttemptRow(**{**stored, "state": RunState(row["state"]), "ending": ending})


def _input(row: dict[str, Any]) -> RunInput:
    return RunInput(version=_ref(row), reason=row["reason"] and PinReason(row["reason"]))


def _output(row: dict[str, Any]) -> RunOutput:
    return RunOutput(
        version=_ref(row),
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        row_count=row["row_count"],
        quarantine_rows=row["quarantine_rows"],
        location=row["location"],
        checks=tuple(check_result(each) for each in row["checks"]),
    )


def _ref(row: dict[str, Any]) -> VersionRef:
    return VersionRef(row["version_id"], row["dataset"], row["partition_key"] or None, row["tag"])
