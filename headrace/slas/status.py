"""SLA statuses, arrivals and evaluation results, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class SlaStatus(StrEnum):
    """How a promise stands."""

    UNKNOWN = "UNKNOWN"  # nothing has come yet by which it could be judged
    ON_TRACK = "ON_TRACK"  # kept, or there is still time
    AT_RISK = "AT_RISK"  # will probably be broken, or its warning time has come
    LATE = "LATE"  # broken, and what was promised is still to come
    MET_LATE = "MET_LATE"  # what was late has come
    MISSED = "MISSED"  # what was promised never came, or is less than was promised
    PAUSED = "PAUSED"  # nothing is expected: a planned outage, a job on hold or on ice


OUT_OF_ORDER = frozenset((SlaStatus.AT_RISK, SlaStatus.LATE, SlaStatus.MISSED))


class DeadlineOutcome(StrEnum):
    """What became of one deadline."""

    MET = "MET"
    MET_LATE = "MET_LATE"
    MISSED = "MISSED"
    PAUSED = "PAUSED"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A published version, or a run.

    at: when it was published, began (START, RUN_TIME) or succeeded (DELIVERY). ended_at: of a run; None while it goes
    on. rows, bytes: of a version; None where nobody said.
    """

    at: datetime
    partition: str = ""
    run_id: UUID | None = None
    ended_at: datetime | None = None
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which nothing is expected; until None: nobody knows."""

    since: datetime
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class ObjectiveState:
    """How a promise stands at `evaluated_at`.

    opens_at, deadline, partition: what is expected now; met_at: when it came. settled: the deadline before, up to which
    all have their outcome. newest_at: the newest arrival that was taken into account. run_id: the run that is watched.
    next_at: when to look again though nothing comes. chance: of a miss, as predicted.
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
    """A change of state: when it happened, and why."""

    at: datetime
    before: SlaStatus
    state: SlaStatus
    reason: str
    deadline: datetime | None
    partition: str
    arrived_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one deadline; arrived_at None: nothing came before the next one."""

    deadline: datetime
    partition: str
    result: DeadlineOutcome
    arrived_at: datetime | None


@dataclass(slots=True)
class Evaluation:
    """A promise as it stands now, and all that has happened to it since it was judged last."""

    objective_state: ObjectiveState
    changes: list[Change] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
