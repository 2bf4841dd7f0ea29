"""Deadlines by the clock: what is expected, whether it came, what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.slas.calendars import UnknownCalendar
from headrace.slas.deadlines import NoDeadline
from headrace.slas.objectives import Clock
from headrace.slas.status import Arrival, Judgement, Pause, Standing, State, Verdict
from headrace.slas.transitions import Course, words

# The first deadline of a clock after a moment, and the key of the partition that it is about ('' for whatever comes).
Following = Callable[[Clock, datetime], tuple[datetime, str]]
LIKELY = 0.5  # a miss that is at least so likely is a risk
UNLIKELY = 0.25  # and one that becomes less likely than this is none any more
_LONGEST = timedelta(days=1)
_SHIFT = timedelta(hours=3)  # by which new rules of a zone move a deadline at most
_AGAIN = timedelta(hours=1)  # what a calendar does not know today a scan may bring


@dataclass(frozen=True, slots=True)
class _Expected:
    """settled: the deadline before. closes_at: from when on what comes is for the next deadline.

    Without `within`, what comes nearer to the next deadline is for that one; of a partition one knows which it is.
    """

    settled: datetime
    opens_at: datetime
    deadline: datetime
    partition: str
    closes_at: datetime


def judge_clock(
    clock: Clock,
    standing: Standing,
    arrivals: Sequence[Arrival],
    pauses: Sequence[Pause],
    now: datetime,
    following: Following,
) -> Judgement:
    """See `judging.judge`.

    One arrival is for one deadline: what ends a delay is not counted for the next deadline as well. Where no deadline
    can be told, its calendar being unknown or at its end, the promise is UNKNOWN until it can. When its zone has other
    rules than before, the deadline that is expected is the one by these, and a settled one is not asked for again.
    """
    course = Course(standing)
    met_at, newest = standing.met_at, standing.newest_at
    looked, settled = standing.evaluated_at, standing.settled or standing.evaluated_at
    try:
        expected = _expected(clock, settled, following)
        if standing.deadline not in (None, expected.deadline):
            settled = _moved(clock, settled, following)
            expected = _expected(clock, settled, following)
            if course.state is State.LATE and now < expected.deadline:
                course.quieten(now, expected.deadline, expected.partition)
        if met_at is None and newest is None and clock.partition is None:
            earlier = [each.at for each in arrivals if each.at < expected.opens_at]
            if earlier:
                newest = max(earlier)
                course.quieten(min(earlier), expected.deadline)
        if standing.state is State.UNKNOWN and standing.deadline is None and newest is not None:
            course.quieten(now, expected.deadline, expected.partition)
        while True:
            if met_at is None:
                arrival = _arrival(expected, arrivals, newest if clock.partition is None else None)
                until = min(arrival.at if arrival else now, expected.closes_at, now)
                ever = newest is not None or arrival is not None
                paused = _pass(course, clock, expected, pauses, looked, until, arrival, ever=ever)
                if paused:
                    looked = max(looked, expected.deadline)
                    course.settle(expected.deadline, expected.partition, Verdict.PAUSED, None)
                    settled = expected.deadline
                    expected = _expected(clock, settled, following)
                    continue
                looked = max(looked, until)
                if arrival is not None:
                    met_at = newest = arrival.at
                    _meet(course, expected, arrival)
                elif now >= expected.closes_at:
                    course.settle(expected.deadline, expected.partition, Verdict.MISSED, None)
                    reason = f"nothing came for the deadline of {words(expected.deadline)}"
                    course.turn(
                        expected.closes_at, State.MISSED, reason, expected.deadline, expected.partition
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
        course.lose(now, str(error))
        return course.end(
            now, now + _AGAIN, settled=settled, opens_at=settled, deadline=None, partition="", met_at=None,
            newest_at=newest,
        )  # fmt: skip
    if met_at is None and now < expected.deadline:
        _foresee(course, clock, expected, standing, pauses, now)
    if met_at is None and clock.partition is None:  # what came too early to count for what is expected now
        early = [each.at for each in arrivals if each.at < expected.opens_at]
        newest = max((*early, newest) if newest else early, default=None)
    return course.end(
        now,
        _next(clock, expected, pauses, met_at, now),
        settled=expected.settled,
        opens_at=expected.opens_at,
        deadline=expected.deadline,
        partition=expected.partition,
        met_at=met_at,
        newest_at=newest,
    )


def _expected(clock: Clock, settled: datetime, following: Following) -> _Expected:
    deadline, partition = following(clock, settled)
    try:
        after, _ = following(clock, deadline)
    except (NoDeadline, UnknownCalendar):  # the last day that a calendar knows
        after = deadline + _LONGEST
    opens = max(settled, deadline - clock.within) if clock.within else settled
    if clock.within:
        closes = max(deadline, after - clock.within)
    else:
        closes = after if clock.partition else deadline + (after - deadline) / 2
    return _Expected(settled, opens, deadline, partition, closes)


def _moved(clock: Clock, settled: datetime, following: Following) -> datetime:
    """The deadline before, by the rules of now; itself where they have it too, or none that it can have been."""
    if following(clock, settled - timedelta(seconds=1))[0] == settled:
        return settled
    moved, _ = following(clock, settled)
    return moved if moved - settled <= _SHIFT else settled


def _arrival(expected: _Expected, arrivals: Sequence[Arrival], newest: datetime | None) -> Arrival | None:
    """The first that counts; what was taken into account before does not."""
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
    course: Course,
    clock: Clock,
    expected: _Expected,
    pauses: Sequence[Pause],
    looked: datetime,
    until: datetime,
    arrival: Arrival | None,
    *,
    ever: bool,
) -> bool:
    """What time alone brings between two moments; whether the deadline passed in a pause."""
    edges = {edge for pause in pauses for edge in (pause.since, pause.until) if edge}
    warned = expected.deadline - clock.warn_before if clock.warn_before else None
    moments = {edge for edge in (*edges, warned, expected.deadline) if edge and looked < edge <= until}
    for moment in sorted({looked} | moments if looked <= until else set()):
        if arrival is not None and moment >= arrival.at and moment >= expected.deadline:
            break  # it came in the very moment
        pause = _pause_at(pauses, moment)
        if moment >= expected.deadline:
            if _pause_at(pauses, expected.deadline) is not None:
                return True
            reason = f"nothing came by {words(expected.deadline)}"
            if pause is not None:
                course.turn(moment, State.PAUSED, pause.reason, expected.deadline, expected.partition)
            else:
                course.turn(moment, State.LATE, reason, expected.deadline, expected.partition)
        elif pause is not None:
            course.turn(moment, State.PAUSED, pause.reason, expected.deadline, expected.partition)
        elif warned and moment >= warned:
            reason = f"nothing has come, and {words(expected.deadline)} is near"
            course.turn(moment, State.AT_RISK, reason, expected.deadline, expected.partition)
        elif course.state is State.PAUSED:
            course.quieten(moment, expected.deadline, expected.partition, ever=ever)
    return False


def _meet(course: Course, expected: _Expected, arrival: Arrival) -> None:
    late = arrival.at > expected.deadline
    course.settle(
        expected.deadline, expected.partition, Verdict.MET_LATE if late else Verdict.MET, arrival.at
    )
    if late:
        reason = f"came {_minutes(arrival.at - expected.deadline)} late"
    else:
        reason = f"came {_minutes(expected.deadline - arrival.at)} before the deadline"
    course.turn(
        arrival.at,
        State.MET_LATE if late else State.ON_TRACK,
        reason,
        expected.deadline,
        expected.partition,
        arrived_at=arrival.at,
    )


def _foresee(
    course: Course,
    clock: Clock,
    expected: _Expected,
    standing: Standing,
    pauses: Sequence[Pause],
    now: datetime,
) -> None:
    """What is expected now, from the chance of a miss as predicted; a warning time that has come stays."""
    warned = clock.warn_before is not None and now >= expected.deadline - clock.warn_before
    if warned or _pause_at(pauses, now) is not None:
        return
    if standing.chance is not None and standing.chance >= LIKELY and standing.deadline == expected.deadline:
        reason = f"will probably miss {words(expected.deadline)}: {standing.chance:.0%}"
        course.turn(now, State.AT_RISK, reason, expected.deadline, expected.partition)
    elif course.state is State.AT_RISK and (standing.chance is None or standing.chance < UNLIKELY):
        course.quieten(now, expected.deadline, expected.partition)


def _next(
    clock: Clock,
    expected: _Expected,
    pauses: Sequence[Pause],
    met_at: datetime | None,
    now: datetime,
) -> datetime:
    moments = [expected.deadline, expected.closes_at, now + _LONGEST]
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
