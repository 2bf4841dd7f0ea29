"""What the events of one run elsewhere come to, whatever their order: the run and its attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending

_T = TypeVar("_T")

# An end outdoes what is under way, whatever the clocks of two machines say.
_RANK = {RunState.QUEUED: 0, RunState.HELD: 1, RunState.RUNNING: 2}
_ENDED = 3
_STARTING = {"STARTING", "ST", "3"}  # Autosys' words for it, of which all else that is queued waits


@dataclass(frozen=True, slots=True)
class Said:
    """One event of a run, as far as it bears on the run.

    run: its number there; None where it has none, and the event then is all that will be known of the run.
    """

    event_key: str
    run_id: UUID
    process_id: UUID
    run: str | None
    attempt: int
    state: RunState
    status: str
    ending: Ending | None
    at: datetime
    started_at: datetime | None
    exit_code: int | None
    machine: str | None
    reason: str | None
    log_location: str | None
    partition_key: str
    box_process_id: UUID | None
    outputs: Sequence[dict[str, Any]]
    historical: bool

    @property
    def rank(self) -> int:
        """How far along a run is that this is said of."""
        return _RANK.get(self.state, _ENDED)

    @property
    def tells_start(self) -> bool:
        """Whether the attempt had begun by then, and neither waited nor ended."""
        return (
            self.started_at is not None or self.state is RunState.RUNNING or self.status.upper() in _STARTING
        )


@dataclass(frozen=True, slots=True)
class ExternalAttempt:
    """An attempt; number 0 is a status that was set by hand."""

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
class ExternalRun:
    """A run, in the state of the attempt that has the last word."""

    run_id: UUID
    process_id: UUID
    run: str | None
    state: RunState
    attempt: int
    start_ts: datetime
    end_ts: datetime | None
    partitions: tuple[str, ...]
    log_location: str | None
    parent_process_id: UUID | None
    historical: bool
    attempts: tuple[ExternalAttempt, ...]


def external_run(said: Sequence[Said]) -> ExternalRun:
    """The run that these events, all of one run and each given once, come to.

    Of attempts the newest decides, unless an operator set the status by hand after its last event.
    """
    grouped: defaultdict[int, list[Said]] = defaultdict(list)
    for each in sorted(said, key=lambda each: (each.at, each.rank, each.event_key)):
        grouped[each.attempt].append(each)
    if max(grouped) == 1:
        grouped.update(enumerate(_tries(grouped[1]), 1))
    attempts = tuple(_attempt(number, grouped[number]) for number in sorted(grouped))
    deciding = attempts[-1]
    if attempts[0].number == 0 and attempts[0].last_at > deciding.last_at:
        deciding = attempts[0]
    first = min(said, key=lambda each: (each.box_process_id is None, each.at, each.event_key))
    partitions = {each.partition_key for each in said}
    partitions |= {output.get("partition") or "" for each in said for output in each.outputs}
    return ExternalRun(
        run_id=first.run_id,
        process_id=first.process_id,
        run=first.run,
        state=deciding.state,
        attempt=deciding.number,
        start_ts=min(attempt.start_ts for attempt in attempts),
        end_ts=deciding.end_ts,
        partitions=tuple(sorted(partitions - {""})),
        log_location=deciding.log_location,
        parent_process_id=first.box_process_id,
        historical=all(each.historical for each in said),
        attempts=attempts,
    )


def _tries(said: Sequence[Said]) -> list[list[Said]]:
    """The attempts of a run of which nobody counts them: a start after an end is the next one's.

    said: in the order of their times.
    """
    tries: list[list[Said]] = [[]]
    for each in said:
        start = each.started_at or (each.at if each.state is RunState.RUNNING else None)
        first_end = next((before.at for before in tries[-1] if before.rank == _ENDED), None)
        if start is not None and first_end is not None and start > first_end:
            tries.append([])
        tries[-1].append(each)
    return tries


def _attempt(number: int, said: Sequence[Said]) -> ExternalAttempt:
    """said: in the order of their times."""
    ends = [each for each in said if each.rank == _ENDED]
    deciding = ends[-1] if ends else said[-1]
    ended = bool(ends) or deciding.run is None
    # Of a success whose start nobody told, the wait tells nothing of how long it ran.
    begun = [each for each in said if each.tells_start] or (
        [deciding] if deciding.state is RunState.SUCCESS else said
    )
    return ExternalAttempt(
        number=number,
        state=deciding.state,
        ending=deciding.ending,
        start_ts=min(min(each.started_at or each.at, each.at) for each in begun),
        end_ts=deciding.at if ended else None,
        exit_code=_last(ends, lambda each: each.exit_code),
        host=_last(said, lambda each: each.machine),
        reason=deciding.reason,
        log_location=_last(said, lambda each: each.log_location),
        last_at=said[-1].at,
    )


def _last(said: Sequence[Said], value: Callable[[Said], _T | None]) -> _T | None:
    return next((found for each in reversed(said) if (found := value(each)) is not None), None)
