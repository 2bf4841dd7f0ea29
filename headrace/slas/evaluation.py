"""Evaluate an objective at a moment, from its previous state and what has arrived since: a pure function.

Changes are recorded at the time they happened, so that an evaluation after hours of downtime yields the same history.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from headrace.slas.arrivals import Following, evaluate_clock
from headrace.slas.objectives import Age, Clock, RunTime, Terms, Volume
from headrace.slas.status import Arrival, DeadlineOutcome, Evaluation, ObjectiveState, Pause, SlaStatus
from headrace.slas.transitions import Transitions, format_moment
from headrace.slas.wording import length

MAX_EVALUATION_INTERVAL = timedelta(
    days=1
)  # maximum time between evaluations: a zone's rules may change by then


def begin(now: datetime, settled: datetime | None = None) -> ObjectiveState:
    """Return the state of a new objective. settled: the previous deadline, which does not count."""
    return ObjectiveState(SlaStatus.UNKNOWN, now, "no data yet", now, now, settled)


def evaluate_objective(
    terms: Terms,
    objective_state: ObjectiveState,
    arrivals: Sequence[Arrival],
    pauses: Sequence[Pause],
    now: datetime,
    following: Following,
) -> Evaluation:
    """Evaluate the objective at `now`; returns the changes and outcomes since `objective_state`.

    Args:
        terms: the terms of the objective.
        objective_state: its state at the last evaluation; see `begin`.
        arrivals: candidate arrivals, ordered by time: for deliveries since `opens_at` (for an expected partition, all),
            for other kinds since `newest_at`.
        pauses: those that end after `objective_state.evaluated_at`.
        now: timezone-aware. Before `objective_state.evaluated_at` (the clock was set back) nothing changes.
        following: returns the first deadline of a clock after a moment, and its partition.
    """
    if now < objective_state.evaluated_at:
        return Evaluation(objective_state)
    come = [arrival for arrival in arrivals if arrival.at <= now]
    match terms:
        case Clock():
            return evaluate_clock(terms, objective_state, come, pauses, now, following)
        case Age():
            return _evaluate_age(terms, objective_state, come, pauses, now)
        case RunTime():
            return _evaluate_run_time(terms, objective_state, come, now)
        case Volume():
            return _evaluate_volume(terms, objective_state, come, now)


def unevaluable(objective_state: ObjectiveState, problem: str, now: datetime) -> Evaluation:
    """Return the result for an objective whose terms cannot be evaluated: UNKNOWN with the reason, tried again later.

    Nothing is settled: once its terms can be evaluated, the deadlines since then are.
    """
    transitions = Transitions(objective_state)
    transitions.lose(now, f"cannot be evaluated: {problem}")
    return transitions.end(now, now + MAX_EVALUATION_INTERVAL, deadline=None, partition="", met_at=None)


def _evaluate_age(
    age: Age,
    objective_state: ObjectiveState,
    arrivals: Sequence[Arrival],
    pauses: Sequence[Pause],
    now: datetime,
) -> Evaluation:
    transitions = Transitions(objective_state)
    newest, looked = objective_state.newest_at, objective_state.evaluated_at

    def turn(until: datetime) -> None:
        """Apply the passing of time since the last evaluation, up to a moment."""
        if newest is None:
            return
        expires = newest + age.max_age
        warned = newest + age.warn_after if age.warn_after else expires
        edges = {warned, expires, *(each for pause in pauses for each in (pause.since, pause.until) if each)}
        for moment in sorted({each for each in edges if looked <= each <= until} | {until}):
            pause = next(
                (p for p in pauses if p.since <= moment and (p.until is None or moment < p.until)), None
            )
            if pause is not None:
                transitions.turn(moment, SlaStatus.PAUSED, pause.reason, expires)
            elif moment >= expires:
                transitions.turn(
                    moment, SlaStatus.LATE, f"nothing newer than {format_moment(newest)}", expires
                )
            elif moment >= warned:
                transitions.turn(
                    moment, SlaStatus.AT_RISK, f"nothing newer than {format_moment(newest)}", expires
                )
            else:
                transitions.quieten(moment, expires)

    for arrival in arrivals:
        if newest is not None and arrival.at <= newest:
            continue
        turn(arrival.at)
        if newest is not None:
            expired = newest + age.max_age
            late = arrival.at > expired
            transitions.settle(
                expired, "", DeadlineOutcome.MET_LATE if late else DeadlineOutcome.MET, arrival.at
            )
            state = SlaStatus.MET_LATE if transitions.state is SlaStatus.LATE else SlaStatus.ON_TRACK
        else:
            state = SlaStatus.ON_TRACK
        newest = looked = arrival.at
        transitions.turn(
            arrival.at,
            state,
            f"published at {format_moment(arrival.at)}",
            newest + age.max_age,
            arrived_at=arrival.at,
        )
    turn(now)
    expires = newest + age.max_age if newest else None
    coming = [
        each for each in (expires, newest + age.warn_after if newest and age.warn_after else None) if each
    ]
    coming += [each for pause in pauses for each in (pause.since, pause.until) if each]
    return transitions.end(
        now,
        min((each for each in coming if each > now), default=now + MAX_EVALUATION_INTERVAL),
        deadline=expires,
        newest_at=newest,
    )


def _evaluate_run_time(
    limits: RunTime, objective_state: ObjectiveState, arrivals: Sequence[Arrival], now: datetime
) -> Evaluation:
    transitions = Transitions(objective_state)
    newest, watched, deadline = objective_state.newest_at, objective_state.run_id, objective_state.deadline
    following = now + MAX_EVALUATION_INTERVAL
    for run in arrivals:
        if newest is not None and run.at <= newest and run.run_id != watched:
            continue
        newest, watched = (max(newest, run.at) if newest else run.at), run.run_id
        deadline = run.at + limits.max_run if limits.max_run else None
        ended = run.ended_at if run.ended_at and run.ended_at <= now else None
        if limits.max_run and deadline and (ended or now) > deadline:
            reason = f"has run for longer than {length(limits.max_run)}, since {format_moment(run.at)}"
            transitions.turn(deadline, SlaStatus.LATE, reason, deadline)
        elif ended is None:
            if deadline:
                following = min(following, deadline + timedelta(seconds=1))
            continue
        if ended is None:
            continue
        took, watched = ended - run.at, None
        due = deadline or run.at + (limits.min_run or timedelta())
        if limits.max_run and deadline and ended > deadline:
            transitions.settle(due, run.partition, DeadlineOutcome.MET_LATE, ended)
            transitions.turn(
                ended,
                SlaStatus.MET_LATE,
                f"took {length(took)}, at most {length(limits.max_run)}",
                due,
                arrived_at=ended,
            )
        elif limits.min_run and took < limits.min_run:
            transitions.settle(due, run.partition, DeadlineOutcome.MISSED, ended)
            transitions.turn(
                ended,
                SlaStatus.MISSED,
                f"took {length(took)}, at least {length(limits.min_run)}",
                due,
                arrived_at=ended,
            )
        else:
            transitions.settle(due, run.partition, DeadlineOutcome.MET, ended)
            transitions.turn(ended, SlaStatus.ON_TRACK, f"took {length(took)}", due, arrived_at=ended)
    return transitions.end(now, following, deadline=deadline, newest_at=newest, run_id=watched)


def _evaluate_volume(
    volume: Volume, objective_state: ObjectiveState, arrivals: Sequence[Arrival], now: datetime
) -> Evaluation:
    transitions = Transitions(objective_state)
    newest = objective_state.newest_at
    for arrival in arrivals:
        if newest is not None and arrival.at <= newest:
            continue
        newest = arrival.at
        events = [
            (found, least, unit)
            for found, least, unit in (
                (arrival.rows, volume.min_rows, "rows"),
                (arrival.bytes, volume.min_bytes, "bytes"),
            )
            if least is not None
        ]
        short = [
            f"{found:,} {unit}, at least {least:,}"
            for found, least, unit in events
            if found is not None and found < least
        ]
        if short:
            transitions.settle(arrival.at, arrival.partition, DeadlineOutcome.MISSED, arrival.at)
            transitions.turn(arrival.at, SlaStatus.MISSED, "; ".join(short), arrival.at, arrival.partition)
        elif any(found is None for found, _, _ in events):
            transitions.turn(
                arrival.at, SlaStatus.UNKNOWN, "the size was not reported", arrival.at, arrival.partition
            )
        else:
            transitions.settle(arrival.at, arrival.partition, DeadlineOutcome.MET, arrival.at)
            reason = "; ".join(f"{found:,} {unit}" for found, _, unit in events)
            transitions.turn(arrival.at, SlaStatus.ON_TRACK, reason, arrival.at, arrival.partition)
    return transitions.end(now, now + MAX_EVALUATION_INTERVAL, deadline=newest, newest_at=newest)
