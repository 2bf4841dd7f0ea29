"""Evaluate a condition against the statuses of jobs at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from operator import eq, ge, gt, le, lt, ne

from headrace.autosys.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExitIs,
    GlobalIs,
    JobIs,
    Lookback,
    RequiredStatus,
)
from headrace.simulation.statuses import RUNNING, JobState, Status

_COMPARE = {"=": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge}
_MET_BY = {
    RequiredStatus.SUCCESS: frozenset((Status.SUCCESS,)),
    RequiredStatus.FAILURE: frozenset((Status.FAILURE,)),
    RequiredStatus.TERMINATED: frozenset((Status.TERMINATED,)),
    RequiredStatus.DONE: frozenset((Status.SUCCESS, Status.FAILURE, Status.TERMINATED)),
}
_MET_ON_ICE = frozenset((RequiredStatus.SUCCESS, RequiredStatus.DONE, RequiredStatus.NOT_RUNNING))


def key_of(atom: JobIs | ExitIs) -> str:
    """Return the name under which the state of an atom's job is kept: `name^INSTANCE` for one of another scheduler."""
    return f"{atom.job}^{atom.instance}" if atom.instance else atom.job


def holds(
    condition: Condition,
    states: Mapping[str, JobState],
    variables: Mapping[str, str],
    now: float,
    last_end: float,
) -> bool:
    """Return whether the condition holds at `now`. last_end: when the dependent job itself last ended (for lookback 0).

    A status stays until it changes: an atom reads the current one, whichever day it was set. A job that does not exist
    meets nothing but `notrunning`; one on ice meets s, d and n, and every atom with a lookback. A variable without a
    value is assumed to have the required one.
    """
    match condition:
        case AllOf(parts):
            return all(holds(part, states, variables, now, last_end) for part in parts)
        case AnyOf(parts):
            return any(holds(part, states, variables, now, last_end) for part in parts)
        case GlobalIs(name, operator, value):
            return name not in variables or _compare(variables[name], operator, value)
        case JobIs() | ExitIs():
            return _atom_holds(condition, states.get(key_of(condition)), now, last_end)


def _atom_holds(atom: JobIs | ExitIs, state: JobState | None, now: float, last_end: float) -> bool:
    wanted = atom.wanted if isinstance(atom, JobIs) else None
    if state is None:
        return wanted is RequiredStatus.NOT_RUNNING
    if state.status is Status.ON_ICE:
        return atom.lookback is not None or wanted in _MET_ON_ICE
    if wanted is RequiredStatus.NOT_RUNNING:
        if state.ended_at == -inf:  # it has never run, whatever the lookback
            return state.status not in RUNNING
        met = state.status not in RUNNING
    elif wanted is not None:
        met = state.status in _MET_BY[wanted]
    else:
        met = (
            isinstance(atom, ExitIs)
            and state.exit_code is not None
            and state.status not in RUNNING
            and _COMPARE[atom.operator](state.exit_code, atom.code)
        )
    return met and (atom.lookback is None or _is_recent(atom.lookback, state.ended_at, now, last_end))


def _is_recent(lookback: Lookback, ended_at: float, now: float, last_end: float) -> bool:
    if lookback.minutes is None:
        return True
    return now - ended_at <= lookback.minutes * 60 if lookback.minutes else ended_at > last_end


def _compare(actual: str, operator: str, required: str) -> bool:
    """Compare numbers as numbers, and anything else as text."""
    try:
        return bool(_COMPARE[operator](float(actual), float(required)))
    except ValueError:
        return bool(_COMPARE[operator](actual, required))
