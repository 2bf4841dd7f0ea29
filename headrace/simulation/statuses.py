"""The statuses of simulated jobs, and the state that conditions read."""

from enum import StrEnum
from typing import Protocol


class Status(StrEnum):
    """The status of a job, as Autosys names it. A start goes straight to RUNNING."""

    INACTIVE = "INACTIVE"
    ACTIVATED = "ACTIVATED"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    TERMINATED = "TERMINATED"
    ON_ICE = "ON_ICE"
    ON_HOLD = "ON_HOLD"
    QUE_WAIT = "QUE_WAIT"  # its machine has no room
    PEND_MACH = "PEND_MACH"  # its machine is offline


RUNNING = frozenset((Status.RUNNING,))
"""The statuses in which `notrunning` does not hold."""

ENDED = frozenset((Status.SUCCESS, Status.FAILURE, Status.TERMINATED))
BUSY = frozenset((Status.RUNNING, Status.QUE_WAIT, Status.PEND_MACH))
"""The statuses in which another start has no effect."""


class JobState(Protocol):
    """The state of a job that a condition reads. ended_at: seconds since 1970; far in the past if it never ended."""

    status: Status
    exit_code: int | None
    ended_at: float
