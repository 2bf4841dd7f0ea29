"""How a promise stands at a moment, from how it stood before and what has come since: a pure function.

Whatever happened in between is told at its own time, so that an engine that was down for hours comes to the same
history as one that was not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from headrace.slas.arrivals import Following, judge_clock
from headrace.slas.objectives import Age, Clock, RunTime, Terms, Volume
from headrace.slas.status import Arrival, Judgement, Pause, Standing, State, Verdict
from headrace.slas.transitions import Course, words

LONGEST = timedelta(days=1)  # without another look: by then a zone may have other rules


def begin(now: datetime, settled: datetime | None = None) -> Standing:
    """A promise that was made just now; settled: the deadline before, of which nothing is asked."""
    return Standing(State.UNKNOWN, now, "nothing has come yet", now, now, settled)


def judge(
    terms: Terms,
    standing: Standing,
    arrivals: Sequence[Arrival],
    pauses: Sequence[Pause],
    now: datetime,
    following: Following,
) -> Judgement:
    """How the promise stands at `now`, with the changes and outcomes since `standing`.

    Args:
        terms: what is promised.
        standing: how it stood when it was judged last; see `begin`.
        arrivals: what may count, in the order of time: of deliveries since `opens_at` (of an expected partition all),
            of others since `newest_at`.
        pauses: those that are not over before `standing.evaluated_at`.
        now: timezone-aware. Before `standing.evaluated_at` (the clock was set back) nothing changes.
        following: the first deadline of a clock after a moment, and the partition it is about.
    """
    if now < standing.evaluated_at:
        return Judgement(standing)
    come = [arrival for arrival in arrivals if arrival.at <= now]
    match terms:
        case Clock():
            return judge_clock(terms, standing, come, pauses, now, following)
        case Age():
            return _judge_age(terms, standing, come, pauses, now)
        case RunTime():
            return _judge_run_time(terms, standing, come, now)
        case Volume():
            return _judge_volume(terms, standing, come, now)


def _judge_age(
    age: Age, standing: Standing, arrivals: Sequence[Arrival], pauses: Sequence[Pause], now: datetime
) -> Judgement:
    course = Course(standing)
    newest, looked = standing.newest_at, standing.evaluated_at

    def turn(until: datetime) -> None:
        """What time alone has brought since one looked, up to a moment."""
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
                course.turn(moment, State.PAUSED, pause.reason, expires)
            elif moment >= expires:
                course.turn(moment, State.LATE, f"nothing newer than {words(newest)}", expires)
            elif moment >= warned:
                course.turn(moment, State.AT_RISK, f"nothing newer than {words(newest)}", expires)
            else:
                course.quieten(moment, expires)

    for arrival in arrivals:
        if newest is not None and arrival.at <= newest:
            continue
        turn(arrival.at)
        if newest is not None:
            expired = newest + age.max_age
            late = arrival.at > expired
            course.settle(expired, "", Verdict.MET_LATE if late else Verdict.MET, arrival.at)
            state = State.MET_LATE if course.state is State.LATE else State.ON_TRACK
        else:
            state = State.ON_TRACK
        newest = looked = arrival.at
        course.turn(
            arrival.at,
            state,
            f"published at {words(arrival.at)}",
            newest + age.max_age,
            arrived_at=arrival.at,
        )
    turn(now)
    expires = newest + age.max_age if newest else None
    coming = [
        each for each in (expires, newest + age.warn_after if newest and age.warn_after else None) if each
    ]
    coming += [each for pause in pauses for each in (pause.since, pause.until) if each]
    return course.end(
        now,
        min((each for each in coming if each > now), default=now + LONGEST),
        deadline=expires,
        newest_at=newest,
    )


def _judge_run_time(
    limits: RunTime, standing: Standing, arrivals: Sequence[Arrival], now: datetime
) -> Judgement:
    course = Course(standing)
    newest, watched, deadline = standing.newest_at, standing.run_id, standing.deadline
    following = now + LONGEST
    for run in arrivals:
        if newest is not None and run.at <= newest and run.run_id != watched:
            continue
        newest, watched = (max(newest, run.at) if newest else run.at), run.run_id
        deadline = run.at + limits.max_run if limits.max_run else None
        ended = run.ended_at if run.ended_at and run.ended_at <= now else None
        if deadline and (ended or now) > deadline:
            reason = f"has run for longer than {limits.max_run}, since {words(run.at)}"
            course.turn(deadline, State.LATE, reason, deadline)
        elif ended is None:
            if deadline:
                following = min(following, deadline + timedelta(seconds=1))
            continue
        if ended is None:
            continue
        took, watched = ended - run.at, None
        due = deadline or run.at + (limits.min_run or timedelta())
        if deadline and ended > deadline:
            course.settle(due, run.partition, Verdict.MET_LATE, ended)
            course.turn(
                ended, State.MET_LATE, f"took {took}, at most {limits.max_run}", due, arrived_at=ended
            )
        elif limits.min_run and took < limits.min_run:
            course.settle(due, run.partition, Verdict.MISSED, ended)
            course.turn(ended, State.MISSED, f"took {took}, at least {limits.min_run}", due, arrived_at=ended)
        else:
            course.settle(due, run.partition, Verdict.MET, ended)
            course.turn(ended, State.ON_TRACK, f"took {took}", due, arrived_at=ended)
    return course.end(now, following, deadline=deadline, newest_at=newest, run_id=watched)


def _judge_volume(
    volume: Volume, standing: Standing, arrivals: Sequence[Arrival], now: datetime
) -> Judgement:
    course = Course(standing)
    newest = standing.newest_at
    for arrival in arrivals:
        if newest is not None and arrival.at <= newest:
            continue
        newest = arrival.at
        told = [
            (found, least, unit)
            for found, least, unit in (
                (arrival.rows, volume.min_rows, "rows"),
                (arrival.bytes, volume.min_bytes, "bytes"),
            )
            if least is not None
        ]
        short = [
            f"{found:,} {unit}, at least {least:,}"
            for found, least, unit in told
            if found is not None and found < least
        ]
        if short:
            course.settle(arrival.at, arrival.partition, Verdict.MISSED, arrival.at)
            course.turn(arrival.at, State.MISSED, "; ".join(short), arrival.at, arrival.partition)
        elif any(found is None for found, _, _ in told):
            course.turn(
                arrival.at, State.UNKNOWN, "nobody said how much there is", arrival.at, arrival.partition
            )
        else:
            course.settle(arrival.at, arrival.partition, Verdict.MET, arrival.at)
            reason = "; ".join(f"{found:,} {unit}" for found, _, unit in told)
            course.turn(arrival.at, State.ON_TRACK, reason, arrival.at, arrival.partition)
    return course.end(now, now + LONGEST, deadline=newest, newest_at=newest)
