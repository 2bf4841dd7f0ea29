"""Evaluate deadlines: what is expected, whether it arrived, what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.slas.calendars import UnknownCalendar
from headrace.slas.deadlines import NoDeadline
from headrace.slas.objectives import Clock
from headrace.slas.status import Arrival, DeadlineOutcome, Evaluation, ObjectiveState, Pause, SlaStatus
from headrace.slas.transitions import Transitions, format_moment

# Returns the first deadline of a clock after a moment, and its partition key ('' if it has none).
Following = Callable[[Clock, datetime], tuple[datetime, str]]
LIKELY = 0.5  # probability of a miss from which an objective is at risk
UNLIKELY = 0.25  # probability below which it recovers
_MAX_EVALUATION_INTERVAL = timedelta(days=1)
_SHIFT = timedelta(hours=3)  # maximum shift of a deadline by new time-zone rules
_CALENDAR_RETRY = timedelta(
    hours=1
)  # how long to wait for a scan before an unknown calendar is looked up again


@dataclass(frozen=True, slots=True)
class _ExpectedDeadline:
    """An expected deadline. settled: the previous deadline. closes_at: arrivals from then on count for the next
    deadline.

    Without `within`, an arrival closer to the next deadline counts for that one; with a partition there is no
    ambiguity.
    """

    settled: datetime
    opens_at: datetime
    deadline: datetime
    partition: str
    closes_at: datetime


def evaluate_clock(
    clock: Clock,
    objective_state: ObjectiveState,
    arrivals: Sequence[Arrival],
    pauses: Sequence[Pause],
    now: datetime,
    following: Following,
) -> Evaluation:
    """Evaluate a clock objective; see `evaluation.evaluate_objective`.

    One arrival counts for one deadline: an arrival that ends a delay does not count for the next deadline. While no
    deadline can be computed, because its calendar is unknown or ends, the objective is UNKNOWN. When time-zone rules
    change, the expected deadline follows the new rules, and settled deadlines are not reopened.
    """
    transitions = Transitions(objective_state)
    met_at, newest = objective_state.met_at, objective_state.newest_at
    looked, settled = objective_state.evaluated_at, objective_state.settled or objective_state.evaluated_at
    try:
        expected = _expected(clock, settled, following)
        if objective_state.deadline not in (None, expected.deadline):
            settled = _moved(clock, settled, following)
            expected = _expected(clock, settled, following)
            if transitions.state is SlaStatus.LATE and now < expected.deadline:
                transitions.quieten(now, expected.deadline, expected.partition)
        if met_at is None and newest is None and clock.partition is None:
            earlier = [each.at for each in arrivals if each.at < expected.opens_at]
            if earlier:
                newest = max(earlier)
                transitions.quieten(min(earlier), expected.deadline)
        if (
            objective_state.state is SlaStatus.UNKNOWN
            and objective_state.deadline is None
            and newest is not None
        ):
            transitions.quieten(now, expected.deadline, expected.partition)
        while True:
            if met_at is None:
                arrival = _arrival(expected, arrivals, newest if clock.partition is None else None)
                until = min(arrival.at if arrival else now, expected.closes_at, now)
                ever = newest is not None or arrival is not None
                paused = _pass(transitions, clock, expected, pauses, looked, until, arrival, ever=ever)
                if paused:
                    looked = max(looked, expected.deadline)
                    transitions.settle(expected.deadline, expected.partition, DeadlineOutcome.PAUSED, None)
                    settled = expected.deadline
                    expected = _expected(clock, settled, following)
                    continue
                looked = max(looked, until)
                if arrival is not None:
                    met_at = newest = arrival.at
                    _meet(transitions, expected, arrival)
                elif now >= expected.closes_at:
                    transitions.settle(expected.deadline, expected.partition, DeadlineOutcome.MISSED, None)
                    reason = f"nothing arrived for the deadline of {format_moment(expected.deadline)}"
                    transitions.turn(
                        expected.closes_at, SlaStatus.MISSED, reason, expected.deadline, expected.partition
                    )
                    settled = expected.deadline
                    expected = _expected(clock, settled, following)
                    continue
            if met_at is not None and now >= max(expected.deadline, met_at):
                looked = max(looked, expected.deadline)
                settled, met_at = expected.deadline, None
                expected = _expected(clock, settled, following)
                continue
            break
    except (NoDeadline, UnknownCalendar) as error:
        transitions.lose(now, str(error))
        return transitions.end(
            now, now + _CALENDAR_RETRY, settled=settled, opens_at=settled, deadline=None, partition="", met_at=None,
            newest_at=newest,
        )  # fmt: skip
    if met_at is None and now < expected.deadline:
        _forecast(transitions, clock, expected, objective_state, pauses, now)
    if met_at is None and clock.partition is None:  # too early to count for the current deadline
        early = [each.at for each in arrivals if each.at < expected.opens_at]
        newest = max((*early, newest) if newest else early, default=None)
    return transitions.end(
        now,
        _next(clock, expected, pauses, met_at, now),
        settled=expected.settled,
        opens_at=expected.opens_at,
        deadline=expected.deadline,
        partition=expected.partition,
        met_at=met_at,
        newest_at=newest,
    )


def _expected(clock: Clock, settled: datetime, following: Following) -> _ExpectedDeadline:
    deadline, partition = following(clock, settled)
    try:
        after, _ = following(clock, deadline)
    except (NoDeadline, UnknownCalendar):  # the last day in the calendar
        after = deadline + _MAX_EVALUATION_INTERVAL
    opens = max(settled, deadline - clock.within) if clock.within else settled
    if clock.within:
        closes = max(deadline, after - clock.within)
    else:
        closes = after if clock.partition else deadline + (after - deadline) / 2
    return _ExpectedDeadline(settled, opens, deadline, partition, closes)


def _moved(clock: Clock, settled: datetime, following: Following) -> datetime:
    """Return the previous deadline by the current rules; unchanged if they still have it, or if none matches."""
    if following(clock, settled - timedelta(seconds=1))[0] == settled:
        return settled
    moved, _ = following(clock, settled)
    return moved if moved - settled <= _SHIFT else settled


def _arrival(
    expected: _ExpectedDeadline, arrivals: Sequence[Arrival], newest: datetime | None
) -> Arrival | None:
    """Return the first arrival that counts and has not been counted before."""
    if expected.partition:
        return next((each for each in arrivals if each.partition == expected.partition), None)
    return next(
        (
            each
            for each in arrivals
            if expected.opens_at <= each.at < expected.closes_at and (newest is None or each.at > newest)
        ),
        None,
    )


def _pass(
    transitions: Transitions,
    clock: Clock,
    expected: _ExpectedDeadline,
    pauses: Sequence[Pause],
    looked: datetime,
    until: datetime,
    arrival: Arrival | None,
    *,
    ever: bool,
) -> bool:
    """Apply the passing of time between two moments; returns True if the deadline passed during a pause."""
    edges = {edge for pause in pauses for edge in (pause.since, pause.until) if edge}
    warned = expected.deadline - clock.warn_before if clock.warn_before else None
    moments = {edge for edge in (*edges, warned, expected.deadline) if edge and looked < edge <= until}
    for moment in sorted({looked} | moments if looked <= until else set()):
        if arrival is not None and moment >= arrival.at and moment >= expected.deadline:
            break  # it arrived in that very moment
        pause = _pause_at(pauses, moment)
        if moment >= expected.deadline:
            if _pause_at(pauses, expected.deadline) is not None:
                return True
            reason = f"nothing arrived by {format_moment(expected.deadline)}"
            if pause is not None:
                transitions.turn(
                    moment, SlaStatus.PAUSED, pause.reason, expected.deadline, expected.partition
                )
            else:
                transitions.turn(moment, SlaStatus.LATE, reason, expected.deadline, expected.partition)
        elif pause is not None:
            transitions.turn(moment, SlaStatus.PAUSED, pause.reason, expected.deadline, expected.partition)
        elif warned and moment >= warned:
            reason = f"nothing has arrived, and {format_moment(expected.deadline)} is near"
            transitions.turn(moment, SlaStatus.AT_RISK, reason, expected.deadline, expected.partition)
        elif transitions.state is SlaStatus.PAUSED:
            transitions.quieten(moment, expected.deadline, expected.partition, ever=ever)
    return False


def _meet(transitions: Transitions, expected: _ExpectedDeadline, arrival: Arrival) -> None:
    late = arrival.at > expected.deadline
    transitions.settle(
        expected.deadline,
        expected.partition,
        DeadlineOutcome.MET_LATE if late else DeadlineOutcome.MET,
        arrival.at,
    )
    if late:
        reason = f"arrived {_minutes(arrival.at - expected.deadline)} late"
    else:
        reason = f"arrived {_minutes(expected.deadline - arrival.at)} before the deadline"
    transitions.turn(
        arrival.at,
        SlaStatus.MET_LATE if late else SlaStatus.ON_TRACK,
        reason,
        expected.deadline,
        expected.partition,
        arrived_at=arrival.at,
    )


def _forecast(
    transitions: Transitions,
    clock: Clock,
    expected: _ExpectedDeadline,
    objective_state: ObjectiveState,
    pauses: Sequence[Pause],
    now: datetime,
) -> None:
    """Update the expected deadline with its predicted miss probability; a warning time that has passed stays."""
    warned = clock.warn_before is not None and now >= expected.deadline - clock.warn_before
    if warned or _pause_at(pauses, now) is not None:
        return
    if (
        objective_state.miss_probability is not None
        and objective_state.miss_probability >= LIKELY
        and objective_state.deadline == expected.deadline
    ):
        reason = (
            f"will probably miss {format_moment(expected.deadline)}: {objective_state.miss_probability:.0%}"
        )
        transitions.turn(now, SlaStatus.AT_RISK, reason, expected.deadline, expected.partition)
    elif transitions.state is SlaStatus.AT_RISK and (
        objective_state.miss_probability is None or objective_state.miss_probability < UNLIKELY
    ):
        transitions.quieten(now, expected.deadline, expected.partition)


def _next(
    clock: Clock,
    expected: _ExpectedDeadline,
    pauses: Sequence[Pause],
    met_at: datetime | None,
    now: datetime,
) -> datetime:
    moments = [expected.deadline, expected.closes_at, now + _MAX_EVALUATION_INTERVAL]
    if met_at is None:
        moments += [edge for pause in pauses for edge in (pause.since, pause.until) if edge]
        if clock.warn_before:
            moments.append(expected.deadline - clock.warn_before)
    return min(moment for moment in moments if moment > now)


def _pause_at(pauses: Sequence[Pause], moment: datetime) -> Pause | None:
    return next(
        (each for each in pauses if each.since <= moment and (each.until is None or moment < each.until)),
        None,
    )


def _minutes(length: timedelta) -> str:
    minutes = round(length.total_seconds() / 60)
    if minutes < 1:
        return f"{length.total_seconds():.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
