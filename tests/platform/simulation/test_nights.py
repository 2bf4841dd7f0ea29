"""Nights: run times from history, deadlines with probabilities, critical path, and recorded nights played again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headrace.simulation.comparison import Span, agreement, pairs, spans
from headrace.simulation.deadlines import Deadline
from headrace.simulation.durations import History, PastRun, UsualEfforts
from headrace.simulation.nights import Period, critical_path, simulate
from headrace.simulation.playing import Scene
from headrace.simulation.replay import RecordedRun, compared, replay

from ..autosys.building import estate
from .playing import MONDAY, box, clock, job, play, rows

UNTIL = MONDAY + timedelta(days=1)


def past(*runs: tuple[datetime, float]) -> list[PastRun]:
    return [PastRun(at.timestamp(), at.timestamp() + minutes * 60) for at, minutes in runs]


def history(**runs: list[PastRun]) -> History:
    return History(runs, UTC)


def weeks_before(at: datetime, *minutes: float) -> list[PastRun]:
    return past(*((at - timedelta(days=7 * n), each) for n, each in enumerate(minutes, 1)))


def test_a_run_takes_the_median_of_the_same_weekday() -> None:
    tuesdays = weeks_before(MONDAY + timedelta(days=1), 90, 90, 90)
    efforts = UsualEfforts(history(A=[*weeks_before(MONDAY, 10, 40, 20), *tuesdays]))
    outcome = simulate(Scene.of(estate(clock("A", "02:00"))), Period(MONDAY, UNTIL, efforts)).outcome
    assert rows(outcome) == ["02:00 02:20 A SUCCESS"]


def test_a_run_at_the_end_of_a_month_takes_as_long_as_at_those_before() -> None:
    ends = [datetime(2026, month, day, 2, tzinfo=UTC) for month, day in ((1, 31), (2, 28), (3, 31))]
    runs = past(*((each, 60) for each in ends), *((MONDAY + timedelta(days=n), 10) for n in range(20)))
    since = datetime(2026, 4, 30, tzinfo=UTC)
    period = Period(since, since + timedelta(days=2), UsualEfforts(history(A=runs)))
    found = rows(simulate(Scene.of(estate(clock("A", "02:00"))), period).outcome)
    assert sorted(found) == ["02:00 02:10 A SUCCESS", "02:00 03:00 A SUCCESS"]


def test_a_file_arrives_at_its_usual_time_of_day() -> None:
    text = clock("W", "01:00").replace("CMD", "FW") + job("B", "condition: s(W)")
    arrived = past(*((MONDAY - timedelta(days=7 * n) + timedelta(hours=2), 60) for n in range(1, 5)))
    efforts = UsualEfforts(history(W=arrived), given={"B": 600})
    found = rows(simulate(Scene.of(estate(text)), Period(MONDAY, UNTIL, efforts)).outcome)
    assert found == ["01:00 03:00 W SUCCESS", "03:00 03:10 B SUCCESS"]


MUST = clock("A", "02:00", "must_complete_times: 02:45") + job("B", "condition: s(A)")


def test_the_probability_of_a_miss_is_the_share_of_drawn_nights_with_it() -> None:
    efforts = UsualEfforts(history(A=weeks_before(MONDAY, 30, 30, 30, 60)))
    slas = (Deadline("B", "SLA", (MONDAY + timedelta(hours=2, minutes=50)).timestamp(), 0.0),)
    scene = Scene.of(estate(MUST))
    results = [simulate(scene, Period(MONDAY, UNTIL, efforts, slas, seed=seed)).results for seed in (1, 1, 2)]
    first, second = results[0]
    assert (first.deadline.source, first.is_missed, second.deadline.name) == (
        "must_complete_times",
        False,
        "B",
    )
    assert first.probability == pytest.approx(0.25, abs=0.1)
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_slack_is_the_time_until_a_deadline_moves() -> None:
    text = clock("A", "02:00") + clock("B", "03:00", "condition: s(A)", "must_complete_times: 04:00")
    text += clock("Z", "10:00")
    efforts = UsualEfforts(given={"A": 1800, "B": 1800, "Z": 1800})
    found = critical_path(simulate(Scene.of(estate(text)), Period(MONDAY, UNTIL, efforts)), "B")
    assert {key: timing.slack for key, timing in found.timings.items()} == {
        "A": timedelta(hours=1),
        "B": timedelta(minutes=30),
        "Z": timedelta(),
    }
    assert found.critical == ("B",)


NIGHT = (
    box("X", "20:00")
    + clock("W", "19:00").replace("CMD", "FW")
    + job("L", "box_name: X", "condition: s(W)")
    + job("M", "box_name: X", "condition: s(L)", "n_retrys: 1")
    + job("F", "condition: f(M)")
    + job("HAND")
)


def at(hour: int, minute: int = 0) -> float:
    return (MONDAY + timedelta(hours=hour, minutes=minute)).timestamp()


def test_a_recorded_night_is_played_again() -> None:
    recorded = [
        RecordedRun(Span("W", at(19, 1), at(20, 10), "SUCCESS")),
        RecordedRun(Span("L", at(20, 11), at(20, 41), "SUCCESS")),
        RecordedRun(Span("M", at(20, 42), at(21, 2), "FAILURE"), 3),
        RecordedRun(Span("F", at(21, 43), at(21, 48), "SUCCESS")),
        RecordedRun(Span("HAND", at(22), at(22, 5), "SUCCESS")),
    ]
    scene = Scene.of(estate(NIGHT))
    outcome = replay(scene, recorded, MONDAY, UNTIL)
    assert rows(outcome) == [
        "19:00 20:10 W SUCCESS", "20:00 21:20 X FAILURE", "20:10 20:40 L SUCCESS", "20:40 21:20 M FAILURE",
        "21:20 21:25 F SUCCESS", "22:00 22:05 HAND SUCCESS",
    ]  # fmt: skip
    assert compared(scene, outcome, recorded).replayed == 1.0


def test_a_status_that_an_operator_set_lets_jobs_start() -> None:
    recorded = [RecordedRun(Span("W", at(5), at(5), "SUCCESS"), is_forced=True)]
    text = job("W", "condition: s(NEVER)") + job("L", "condition: s(W)")
    assert rows(replay(Scene.of(estate(text)), recorded, MONDAY, UNTIL)) == ["05:00 05:00 L SUCCESS"]


def test_agreement_is_the_share_of_the_runs_that_end_in_time() -> None:
    planned = spans(play(clock("A", "02:00") + clock("B", "10:00")))
    actual = [Span("A", at(2), at(2, 33), "SUCCESS"), Span("B", at(10), at(10, 59), "SUCCESS")]
    assert agreement(pairs(planned, actual), MONDAY.timestamp()) == 1.0
    late = [*actual[:1], Span("B", at(10), at(11, 30), "SUCCESS")]
    assert agreement(pairs(planned, late), MONDAY.timestamp()) == 0.5
    assert agreement([], MONDAY.timestamp()) is None


def test_a_run_that_was_killed_ends_as_recorded() -> None:
    recorded = [RecordedRun(Span("A", at(2, 1), at(2, 21), "TERMINATED"))]
    text = clock("A", "02:00") + job("T", "condition: t(A)")
    assert rows(replay(Scene.of(estate(text)), recorded, MONDAY, UNTIL)) == [
        "02:00 02:20 A TERMINATED",
        "02:20 02:20 T SUCCESS",
    ]
