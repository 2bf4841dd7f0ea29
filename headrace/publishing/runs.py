"""Runs and attempts: a live attempt holds an advisory lock, so that a dead one is detected."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Cursor
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from headrace.access.redaction import redacted
from headrace.catalog import published_events as events
from headrace.catalog.records import ResolvedInput, RunState
from headrace.context import current_context
from headrace.database.connection import own_session, transaction
from headrace.database.ids import lock_key
from headrace.errors import CatalogError, UnknownProcess
from headrace.publishing.sql import statement

# Versions expire one dataset at a time, and not while a run records what it reads (publishing/expiry.py).
_WAIT_FOR_EXPIRY = "SELECT pg_advisory_xact_lock_shared(hashtextextended('headrace/expiry/' || %s, 0))"
_EXPIRED = (
    "SELECT dataset_version_id, expired_at FROM catalog.expired_version WHERE dataset_version_id = ANY (%s)"
)
_FINAL = {RunState.SUCCESS, RunState.FAILED, RunState.BLOCKED, RunState.SUPERSEDED}


@dataclass(slots=True)
class Attempt:
    """One attempt of a run, until `end` is called or the `attempt` block is left.

    completed: how many attempts of the run succeeded before; if any did, this one is new work, not a repetition.
    """

    engine: Engine = field(repr=False)
    run_id: UUID
    number: int
    completed: int
    process_key: str
    started_at: datetime
    state: RunState = RunState.RUNNING

    def end(self, state: RunState, reason: str | None = None, kind: str | None = None) -> None:
        """Record the end of the attempt; leaving the block then adds nothing. `kind` categorises the reason (INPUT,
        CODE).

        Raises ValueError for a state that is not an end, or a second end.
        """
        if state not in _FINAL:
            raise ValueError(f"{state} is not a final state; use one of {', '.join(sorted(_FINAL))}")
        if self.state is not RunState.RUNNING:
            raise ValueError(f"attempt {self.number} of run {self.run_id} ended already, as {self.state}")
        with transaction(self.engine) as cursor:
            _end(cursor, self.run_id, self.number, self.process_key, state, reason, kind)
        self.state = state


@dataclass(frozen=True, slots=True)
class LostAttempt:
    """An attempt whose process died without reporting an end."""

    run_id: UUID
    number: int
    process_key: str


@contextmanager
def attempt(
    engine: Engine,
    *,
    run_id: UUID,
    process_key: str,
    root_dagster_run_id: str | None = None,
    dagster_run_id: str | None = None,
    partitions: Sequence[str] = (),
    log_location: str | None = None,
) -> Iterator[Attempt]:
    """Run the block as the next attempt of the run `run_id`, which the first attempt creates.

    The attempt ends as SUCCESS, or FAILED with the exception's class and message, unless the block calls `end`. A
    dedicated session holds the attempt's advisory lock: if this process dies, `reap` finds the lock free. Earlier dead
    attempts of the run are marked LOST first. Raises UnknownProcess for a process that was never registered.
    """
    with own_session(engine) as session:
        current = _begin(
            engine,
            session,
            run_id=run_id,
            process_key=process_key,
            root_dagster_run_id=root_dagster_run_id,
            dagster_run_id=dagster_run_id,
            partitions=list(partitions),
            log_location=log_location,
        )
        try:
            yield current
        except BaseException as error:
            if current.state is RunState.RUNNING:
                _fail(current, error)
            raise
        if current.state is RunState.RUNNING:
            current.end(RunState.SUCCESS)


def reap(engine: Engine, run_id: UUID | None = None) -> list[LostAttempt]:
    """Mark RUNNING attempts (of one run, or all) whose lock is free as LOST, and return them."""
    with transaction(engine) as cursor:
        return _reap(cursor, run_id)


def record_inputs(engine: Engine, run_id: UUID, attempt: int, inputs: Sequence[ResolvedInput]) -> None:
    """Record the inputs of the attempt: while it runs, retention keeps these versions. Idempotent.

    Raises VersionExpired for one that has expired since it was chosen; one that was chosen although it had is not read.
    """
    if not inputs:
        return
    read = {each.version.version_id: each.version for each in inputs if each.version.expired_at is None}
    with transaction(engine) as cursor:
        cursor.execute(_WAIT_FOR_EXPIRY, [str(current_context().organisation_id)])
        for row in cursor.execute(_EXPIRED, [list(read)]).fetchall():
            replace(read[row["dataset_version_id"]], expired_at=row["expired_at"]).require_rows()
        statement("record_inputs").execute(
            cursor,
            {
                "run_id": run_id,
                "attempt": attempt,
                "organisation": current_context().organisation_id,
                "versions": [resolved.version.version_id for resolved in inputs],
                "reasons": [resolved.reason.value for resolved in inputs],
            },
        )


def failure_kind(error: BaseException) -> str:
    """Return the failure kind (CODE, INPUT, ...); an exception may define its own `failure_kind`."""
    declared = getattr(error, "failure_kind", None)
    if isinstance(declared, str):
        return declared
    if isinstance(error, (OSError, MemoryError, psycopg.OperationalError)):
        return "INFRASTRUCTURE"
    return "CODE" if isinstance(error, Exception) else "INTERRUPTED"


def _begin(
    engine: Engine,
    session: psycopg.Connection,
    *,
    run_id: UUID,
    process_key: str,
    **run: Any,  # noqa: ANN401 - to SQL
) -> Attempt:
    with transaction(engine) as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s)", [lock_key(run_id, 0)]
        )  # serialises the start of a run
        _reap(cursor, run_id)
        row = (
            statement("attempt_number")
            .execute(
                cursor,
                {
                    "organisation": current_context().organisation_id,
                    "process_key": process_key,
                    "run_id": run_id,
                },
            )
            .fetchone()
        )
        if row is None:
            raise UnknownProcess(
                f"process {process_key} is not registered in the catalog: "
                "processes are registered when the definitions load"
            )
        number = row["attempt"]
        key = lock_key(run_id, number)
        session.execute("SELECT pg_advisory_lock(%s)", [key])  # before the row is visible
        started_at = datetime.now(UTC)
        statement("attempt_begin").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "process_id": row["process_id"],
                "run_id": run_id,
                "attempt": number,
                "run_start_ts": row["start_ts"] or started_at,
                "start_ts": started_at,
                "host": socket.gethostname(),
                "os_pid": os.getpid(),
                "lock_key": key,
                **run,
            },
        )
        facets = {"headrace_attempt": events.facet(attempt=number, **run)}
        event = events.run_event("START", run_id, process_key, facets=facets)
        events.store(cursor, event, run_id, process_key)
    return Attempt(engine, run_id, number, row["completed"], process_key, started_at)


def _end(
    cursor: Cursor[Any],
    run_id: UUID,
    number: int,
    process_key: str,
    state: RunState,
    reason: str | None,
    kind: str | None,
) -> None:
    """Record the end; an attempt that was marked LOST but is alive overrides that."""
    statement("attempt_end").execute(
        cursor,
        {"run_id": run_id, "attempt": number, "state": state, "reason": reason, "failure_kind": kind},
    )
    facets = {"headrace_attempt": events.facet(attempt=number, state=state, reason=reason, failureKind=kind)}
    if reason is not None and state is RunState.FAILED:
        facets["errorMessage"] = events.facet(message=reason, programmingLanguage="Python")
    event = events.run_event(events.EVENT_TYPES[state], run_id, process_key, facets=facets)
    events.store(cursor, event, run_id, process_key)


def _fail(current: Attempt, error: BaseException) -> None:
    kind, message = failure_kind(error), str(error)
    if kind == "INTERRUPTED" and not message:
        message = "its process was asked to stop (Ctrl-C, `headrace down`, or Terminate in Dagster's UI)"
    reason = redacted("\n".join([f"{type(error).__name__}: {message}", *getattr(error, "__notes__", ())]))
    try:
        current.end(RunState.FAILED, reason, kind)
    except (
        CatalogError,
        psycopg.Error,
        SQLAlchemyError,
    ) as unrecorded:  # the failure itself is more important: it is raised, with this as a note
        error.add_note(f"The catalog does not know of this failure: {unrecorded}")


def _reap(cursor: Cursor[Any], run_id: UUID | None) -> list[LostAttempt]:
    rows = statement("reap").execute(
        cursor, {"organisation": current_context().organisation_id, "run_id": run_id}
    )
    lost = [LostAttempt(row["run_id"], row["attempt"], row["process_key"]) for row in rows]
    for each in lost:
        reason = (
            "its process died without reporting an end (killed, or its host or database connection was lost)"
        )
        _end(cursor, each.run_id, each.number, each.process_key, RunState.LOST, reason, "INFRASTRUCTURE")
    return lost
