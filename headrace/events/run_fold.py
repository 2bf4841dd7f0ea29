"""Fold the reports of one run into the run and its attempts; pure, in any order.

`openlineage.run_fold` makes the same run of OpenLineage events; `runs` writes either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending, RunEvent

_T = TypeVar("_T")

# An end outranks a running state, whatever the clocks of two machines show.
_RANK = {RunState.QUEUED: 0, RunState.HELD: 1, RunState.RUNNING: 2}
_ENDED = 3
_STARTING = {"STARTING", "ST", "3"}  # Autosys' terms; the other queued states wait for this one


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """One event of a run, with the catalog ids of its names.

    sequence: its position in the order of arrival. box_process_id: the box that it names, or that a scan has.
    """

    event: RunEvent
    run_id: UUID
    process_id: UUID
    box_process_id: UUID | None
    sequence: int

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.event.at

    @property
    def rank(self) -> int:
        """Progress of a run in this state."""
        return _RANK.get(self.event.state, _ENDED)

    @property
    def has_begun(self) -> bool:
        """True if the attempt had started by then, and was neither waiting nor ended."""
        event = self.event
        return (
            event.started_at is not None
            or event.state is RunState.RUNNING
            or event.status.upper() in _STARTING
        )


@dataclass(frozen=True, slots=True)
class ExternalAttempt:
    """An attempt; number 0 is a status set by an operator."""

    number: int
    state: RunState
    ending: Ending | None
    start_ts: datetime
    end_ts: datetime | None
    exit_code: int | None
    host: str | None
    reason: str | None
    log_location: str | None
    last_at: datetime


@dataclass(frozen=True, slots=True)
class RunCompletion:
    """A genuine success of a run, or the registration of a dataset without one.

    sequence: that of the event that reports it; None if only known events do. run: the number of the run. moment: when
    the attempt started, or ended if the start is unknown. run_partition_key: a partition in another event of the run,
    for a completion without one.
    """

    event_key: str
    sequence: int | None
    run_id: UUID | None
    process_id: UUID | None
    run: str | None
    attempt: int
    status: str
    at: datetime
    started_at: datetime | None
    moment: datetime
    exit_code: int | None
    machine: str | None
    log_location: str | None
    partition_key: str
    run_partition_key: str
    historical: bool


@dataclass(frozen=True, slots=True)
class ExternalRun:
    """A run, in the state of its deciding attempt.

    run: the scheduler's own number. parent_run_id: as OpenLineage reports it; for scheduler runs the writer finds the
    box run that was active.
    """

    run_id: UUID
    process_id: UUID
    run: str | None
    state: RunState
    attempt: int
    start_ts: datetime
    end_ts: datetime | None
    partitions: tuple[str, ...]
    log_location: str | None
    parent_run_id: UUID | None
    parent_process_id: UUID | None
    facets: Mapping[str, Any]
    historical: bool
    attempts: tuple[ExternalAttempt, ...]
    completions: tuple[RunCompletion, ...]


def is_completion(event: RunEvent) -> bool:
    """Return True if the event reports that the work was done."""
    return event.state is RunState.SUCCESS and event.ending is Ending.GENUINE


def fold(updates: Sequence[RunUpdate]) -> ExternalRun:
    """Fold what schedulers report of one run, each report once; there is at least one.

    The newest attempt decides, unless an operator set the status by hand after its last event.
    """
    grouped: defaultdict[int, list[RunUpdate]] = defaultdict(list)
    for each in sorted(updates, key=lambda each: (each.at, each.rank, each.event.key)):
        grouped[each.event.attempt].append(each)
    if max(grouped) == 1:
        grouped.update(enumerate(_tries(grouped[1]), 1))
    attempts = tuple(_attempt(number, grouped[number]) for number in sorted(grouped))
    deciding = attempts[-1]
    if attempts[0].number == 0 and attempts[0].last_at > deciding.last_at:
        deciding = attempts[0]
    first = min(updates, key=lambda each: (each.box_process_id is None, each.at, each.event.key))
    named = {each.event.partition or "" for each in updates}
    written = {output.partition or "" for each in updates for output in each.event.outputs}
    return ExternalRun(
        run_id=first.run_id,
        process_id=first.process_id,
        run=first.event.run,
        state=deciding.state,
        attempt=deciding.number,
        start_ts=min(attempt.start_ts for attempt in attempts),
        end_ts=deciding.end_ts,
        partitions=tuple(sorted((named | written) - {""})),
        log_location=deciding.log_location,
        parent_run_id=None,
        parent_process_id=first.box_process_id,
        facets={"external_run": first.event.run},
        historical=all(each.event.historical for each in updates),
        attempts=attempts,
        completions=tuple(
            completion(
                each.event,
                each.sequence,
                run_id=first.run_id,
                process_id=first.process_id,
                run=first.event.run,
                moment=_moment(each.event, updates),
                run_partition_key=max(named),
            )
            for each in updates
            if is_completion(each.event)
        ),
    )


def completion(
    event: RunEvent,
    sequence: int,
    *,
    run_id: UUID | None = None,
    process_id: UUID | None = None,
    run: str | None = None,
    moment: datetime | None = None,
    run_partition_key: str = "",
) -> RunCompletion:
    """Return the completion that the event reports, of its run if it has one."""
    return RunCompletion(
        event_key=event.key,
        sequence=sequence,
        run_id=run_id,
        process_id=process_id,
        run=run,
        attempt=event.attempt,
        status=event.status,
        at=event.at,
        started_at=event.started_at,
        moment=moment or event.at,
        exit_code=event.exit_code,
        machine=event.machine,
        log_location=event.log_location,
        partition_key=event.partition or "",
        run_partition_key=run_partition_key,
        historical=event.historical,
    )


def _moment(event: RunEvent, updates: Sequence[RunUpdate]) -> datetime:
    return event.started_at or min(
        each.event.started_at or each.at
        for each in updates
        if each.event.attempt == event.attempt and each.event.state not in (RunState.QUEUED, RunState.HELD)
    )


def _tries(updates: Sequence[RunUpdate]) -> list[list[RunUpdate]]:
    """Number the attempts of a run without attempt numbers: a start after an end begins the next attempt.

    updates: ordered by time.
    """
    tries: list[list[RunUpdate]] = [[]]
    for each in updates:
        start = each.event.started_at or (each.at if each.event.state is RunState.RUNNING else None)
        first_end = next((before.at for before in tries[-1] if before.rank == _ENDED), None)
        if start is not None and first_end is not None and start > first_end:
            tries.append([])
        tries[-1].append(each)
    return tries


def _attempt(number: int, updates: Sequence[RunUpdate]) -> ExternalAttempt:
    """Derive an attempt. updates: ordered by time."""
    ends = [each for each in updates if each.rank == _ENDED]
    deciding = (ends or updates)[-1].event
    ended = bool(ends) or deciding.run is None
    # For a success without a reported start, the waiting time does not show how long it ran.
    begun = [each.event for each in updates if each.has_begun] or (
        [deciding] if deciding.state is RunState.SUCCESS else [each.event for each in updates]
    )
    return ExternalAttempt(
        number=number,
        state=deciding.state,
        ending=deciding.ending,
        start_ts=min(min(each.started_at or each.at, each.at) for each in begun),
        end_ts=deciding.at if ended else None,
        exit_code=_last([each.event.exit_code for each in ends]),
        host=_last([each.event.machine for each in updates]),
        reason=deciding.reason,
        log_location=_last([each.event.log_location for each in updates]),
        last_at=updates[-1].at,
    )


def _last(values: Sequence[_T | None]) -> _T | None:
    return next((value for value in reversed(values) if value is not None), None)
