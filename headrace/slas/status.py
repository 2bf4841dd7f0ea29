"""SLA statuses, arrivals and evaluation results, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class SlaStatus(StrEnum):
    """The status of an SLA objective."""

    UNKNOWN = "UNKNOWN"  # no data to evaluate yet
    ON_TRACK = "ON_TRACK"  # met, or not due yet
    AT_RISK = "AT_RISK"  # will probably be missed, or its warning time has passed
    LATE = "LATE"  # the deadline has passed, and nothing has arrived
    MET_LATE = "MET_LATE"  # arrived late
    MISSED = "MISSED"  # never arrived, or did not meet its terms
    PAUSED = "PAUSED"  # suspended: a planned outage, a job on hold or on ice


OUTAGE = "planned outage"  # begins the reason of a pause by one
OUT_OF_ORDER = frozenset((SlaStatus.AT_RISK, SlaStatus.LATE, SlaStatus.MISSED))


class DeadlineOutcome(StrEnum):
    """The outcome of one deadline."""

    MET = "MET"
    MET_LATE = "MET_LATE"
    MISSED = "MISSED"
    PAUSED = "PAUSED"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A published version, or a run.

    at: when it was published, started (START, RUN_TIME) or succeeded (DELIVERY). ended_at: of a run; None while it is
    running. rows, bytes: of a version; None if unknown.
    """

    at: datetime
    partition: str = ""
    run_id: UUID | None = None
    ended_at: datetime | None = None
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """A period in which nothing is expected. until: None if open-ended."""

    since: datetime
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class ObjectiveState:
    """The state of an objective at `evaluated_at`.

    opens_at, deadline, partition: the current expectation. met_at: when it was met. settled: the previous deadline, up
    to which all outcomes are known. newest_at: the newest arrival considered. run_id: the run being watched. next_at:
    the next evaluation if nothing arrives. miss_probability: as forecast.
    """

    state: SlaStatus
    since: datetime
    reason: str
    evaluated_at: datetime
    next_at: datetime
    settled: datetime | None = None
    opens_at: datetime | None = None
    deadline: datetime | None = None
    partition: str = ""
    met_at: datetime | None = None
    newest_at: datetime | None = None
    run_id: UUID | None = None
    miss_probability: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A status change: when it happened, and why."""

    at: datetime
    before: SlaStatus
    state: SlaStatus
    reason: str
    deadline: datetime | None
    partition: str
    arrived_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one deadline. arrived_at: None if nothing arrived before the next one."""

    deadline: datetime
    partition: str
    result: DeadlineOutcome
    arrived_at: datetime | None


@dataclass(slots=True)
class Evaluation:
    """The new state of an objective, with all changes and outcomes since its last evaluation."""

    objective_state: ObjectiveState
    changes: list[Change] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
