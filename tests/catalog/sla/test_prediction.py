"""Forecasts: days drawn from history, carried through the graph; and the job that everybody waits for."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid4

import numpy as np
import pytest

from benchmarks import sla_calibration
from catalog.sla.graph import Graph, graph_of
from catalog.sla.habits import Habit, Zone, usual
from catalog.sla.prediction import Forecast, Prediction, Present

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
RANDOM = np.random.default_rng(7)


def daily(minute_of_day: float, spread: float, took: float, days: int = 140, weekend: bool = True) -> Habit:
    moments = [
        (START + timedelta(days=day, minutes=minute_of_day + RANDOM.normal(0, spread))).timestamp()
        for day in range(days)
        if weekend or (START + timedelta(days=day)).weekday() < 5
    ]
    return Habit(np.array(moments), np.full(len(moments), took * 60))


def foretold(
    graph: Graph, habits: dict[UUID, Habit], target: UUID, now: datetime, failed: tuple[UUID, ...] = ()
) -> Forecast | None:
    zone = Zone("UTC", START.timestamp(), now.timestamp())
    present = Present(now.timestamp(), {}, frozenset(graph.number[each] for each in failed))
    of = {graph.number[each]: habit for each, habit in habits.items()}
    return Prediction(graph, of, zone, present).of([graph.number[target]]).get(graph.number[target])


A, B, C = uuid4(), uuid4(), uuid4()
CHAIN = graph_of([(A, B), (B, C)])


def chain() -> dict[UUID, Habit]:
    a = daily(120, 5, 30)
    b = Habit(a.came + 3600 + RANDOM.normal(0, 120, len(a.came)), np.full(len(a.came), 3600.0))
    c = Habit(b.came + 1800 + RANDOM.normal(0, 60, len(b.came)), np.full(len(a.came), 1800.0))
    return {A: a, B: b, C: c}


def test_what_goes_as_usual_is_expected_at_its_usual_time() -> None:
    now = START + timedelta(days=140, hours=1)
    found = foretold(CHAIN, chain(), C, now)
    assert found is not None
    expected = datetime.fromtimestamp(found.expected, UTC)
    assert abs(expected - (START + timedelta(days=140, hours=3, minutes=30))) < timedelta(minutes=8)
    assert found.low < found.expected < found.high
    assert found.chance_after((START + timedelta(days=140, hours=6)).timestamp()) == 0
    assert found.chance_after((START + timedelta(days=140, hours=3)).timestamp()) == 1


def test_what_waits_for_something_late_is_late_by_as_much_and_says_for_whom() -> None:
    now = START + timedelta(days=140, hours=4)  # A, which comes at 2:00, has not come by 4:00
    found = foretold(CHAIN, chain(), C, now)
    assert found is not None
    assert found.waits_for == CHAIN.number[A]
    assert 115 < found.by_minutes < 160
    assert found.low > (now + timedelta(minutes=80)).timestamp()  # an hour and a half after A


def test_what_is_there_is_waited_for_no_longer() -> None:
    now = START + timedelta(days=140, hours=4)
    habits = chain()
    arrived = Habit(
        np.append(habits[A].came, (now - timedelta(minutes=10)).timestamp()), np.append(habits[A].took, 1800)
    )
    found = foretold(CHAIN, {**habits, A: arrived}, C, now)
    assert found is not None
    assert found.waits_for == CHAIN.number[B]


def test_a_failure_is_expected_to_take_until_somebody_runs_it_again() -> None:
    now = START + timedelta(days=140, hours=2)
    found = foretold(CHAIN, chain(), C, now, failed=(A,))
    assert found is not None
    assert found.expected > (now + timedelta(hours=2)).timestamp()


def test_what_starts_by_the_clock_is_not_moved_by_inputs_that_are_early_enough() -> None:
    late = daily(300, 1, 10)
    graph = graph_of([(A, B)])
    found = foretold(graph, {A: daily(60, 40, 10), B: late}, B, START + timedelta(days=140))
    assert found is not None
    assert abs(found.expected - (START + timedelta(days=140, minutes=300)).timestamp()) < 300


@pytest.mark.parametrize(("day", "is_expected"), [(140, True), (145, False)])  # a Monday, a Saturday
def test_what_rests_at_the_weekend_is_not_expected_then(day: int, is_expected: bool) -> None:
    habit = daily(120, 5, 30, weekend=False)
    now = START + timedelta(days=day, hours=1)
    found = usual(habit, Zone("UTC", START.timestamp(), now.timestamp()), now.timestamp())
    assert found is not None
    assert found.is_expected is is_expected


def test_times_around_midnight_are_one_habit() -> None:
    habit = daily(0, 20, 5)
    now = START + timedelta(days=140, hours=-1)
    found = usual(habit, Zone("UTC", START.timestamp(), now.timestamp()), now.timestamp())
    assert found is not None
    assert abs(found.due - (START + timedelta(days=140)).timestamp()) < 900


def test_a_clock_change_moves_what_follows_the_zone() -> None:
    zone = "Europe/London"  # an hour ahead of UTC from 29 March 2026
    times = [(START + timedelta(days=day, hours=6 if day < 83 else 5)).timestamp() for day in range(90)]
    habit = Habit(np.array(times), np.full(90, 60.0))
    now = datetime(2026, 4, 6, 2, tzinfo=UTC).timestamp()
    found = usual(habit, Zone(zone, START.timestamp(), now), now)
    assert found is not None
    assert found.due == datetime(2026, 4, 6, 5, tzinfo=UTC).timestamp()


def test_four_of_five_nights_are_in_the_interval() -> None:
    graph = graph_of(list(pairwise(sla_calibration.JOBS)))
    inside = []
    for seed in (4, 5):
        year = sla_calibration.simulate(np.random.default_rng(seed))
        for night in range(sla_calibration.LEARNED, sla_calibration.DAYS, 2):
            found = sla_calibration.foresee(graph, year, night, float(year.deadlines[night]) - 4 * 3600)
            if found is not None:
                _, low, high = found
                inside.append(low <= year.ended[-1, night] <= high)
    assert len(inside) > 100
    assert 0.75 < np.mean(inside) < 0.9
