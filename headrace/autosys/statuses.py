"""Map the status words, codes and numbers of Autosys and wrappers to run states."""

from difflib import get_close_matches
from typing import NamedTuple

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending


class Meaning(NamedTuple):
    """The state of a run, and for an end how it ended."""

    state: RunState
    ending: Ending | None = None


class UnknownStatus(ValueError):
    """An unknown status; the message names the nearest known one."""


# name, two-letter code, number, state; INACTIVE means that a job has no run.
_AUTOSYS = (
    ("RUNNING", "RU", 1, RunState.RUNNING),
    ("STARTING", "ST", 3, RunState.QUEUED),
    ("SUCCESS", "SU", 4, RunState.SUCCESS),
    ("FAILURE", "FA", 5, RunState.FAILED),
    ("TERMINATED", "TE", 6, RunState.TERMINATED),
    ("ON_ICE", "OI", 7, RunState.SKIPPED),
    ("INACTIVE", "IN", 8, None),
    ("ACTIVATED", "AC", 9, RunState.QUEUED),
    ("RESTART", "RE", 10, RunState.QUEUED),
    ("ON_HOLD", "OH", 11, RunState.HELD),
    ("QUE_WAIT", "QU", 12, RunState.QUEUED),
    ("WAIT_REPLY", "WR", 13, RunState.RUNNING),
    ("PEND_MACH", "PE", 14, RunState.QUEUED),
    ("RESWAIT", "RW", 15, RunState.QUEUED),
    ("ON_NOEXEC", "NE", 16, RunState.SKIPPED),
    ("SUSPENDED", "SP", 17, RunState.HELD),
)
_PLAIN = {
    "START": RunState.RUNNING,
    "STARTED": RunState.RUNNING,
    "COMPLETE": RunState.SUCCESS,
    "COMPLETED": RunState.SUCCESS,
    "DONE": RunState.SUCCESS,
    "OK": RunState.SUCCESS,
    "SUCCEEDED": RunState.SUCCESS,
    "FAIL": RunState.FAILED,
    "FAILED": RunState.FAILED,
    "ERROR": RunState.FAILED,
    "ABORT": RunState.TERMINATED,
    "ABORTED": RunState.TERMINATED,
    "KILLED": RunState.TERMINATED,
    "QUEUED": RunState.QUEUED,
    "HELD": RunState.HELD,
    "SKIPPED": RunState.SKIPPED,
    "BYPASS": RunState.SKIPPED,
    "BYPASSED": RunState.SKIPPED,
}
STATES: dict[str, RunState | None] = {
    **{name: state for name, _, _, state in _AUTOSYS},
    **{code: state for _, code, _, state in _AUTOSYS},
    **{str(number): state for _, _, number, state in _AUTOSYS},
    "0": RunState.SKIPPED,
    **_PLAIN,
}
ENDED = frozenset({RunState.SUCCESS, RunState.FAILED, RunState.TERMINATED})


def meaning(word: str, *, by_hand: bool = False) -> Meaning | None:
    """Return the meaning of a status, in any case; None for INACTIVE, which means that there is no run.

    by_hand: an operator set it, which Autosys shows as a retry number (ntry) of 0. `SU/NE`, a success of a job on
    noexec, is not a success: nothing ran. Raises UnknownStatus.
    """
    status, _, qualifier = word.strip().upper().replace(" ", "_").partition("/")
    if status not in STATES or qualifier not in {"", "NE"}:
        near = get_close_matches(status, STATES, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UnknownStatus(
            f"unknown status {word!r}{hint}" if near else f"unknown status {word!r}; for example, use SUCCESS"
        )
    state = STATES[status]
    if state is None:
        return None
    if state is RunState.SKIPPED or (state is RunState.SUCCESS and qualifier):
        return Meaning(RunState.SKIPPED, Ending.BYPASSED)
    if state in ENDED:
        return Meaning(state, Ending.FORCED if by_hand else Ending.GENUINE)
    return Meaning(state)
