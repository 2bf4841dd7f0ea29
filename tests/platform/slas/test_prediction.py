"""Forecasts: days sampled from history, propagated through the graph; and the job that all others wait for."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import numpy as np
import pytest

from benchmarks import sla_calibration
from headrace.slas.forecasting.history import ArrivalHistory, Floats, Zone, usual
from headrace.slas.forecasting.prediction import Forecast, Prediction, PresentState
from headrace.slas.forecasting.volume import follows
from headrace.slas.graph import Graph, graph_of

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
RANDOM = np.random.default_rng(7)


def daily(
    minute_of_day: float, spread: float, took: float, days: int = 140, weekend: bool = True
) -> ArrivalHistory:
    moments = [
        (START + timedelta(days=day, minutes=minute_of_day + RANDOM.normal(0, spread))).timestamp()
        for day in range(days)
        if weekend or (START + timedelta(days=day)).weekday() < 5
    ]
    return runs(np.array(moments), np.full(len(moments), took * 60))


def runs(arrived: Floats, took: Floats) -> ArrivalHistory:
    """Runs of a process without row counts."""
    return ArrivalHistory(arrived, took, np.full(len(arrived), np.nan))


def foretold(
    graph: Graph,
    arrival_histories: dict[UUID, ArrivalHistory],
    target: UUID,
    now: datetime,
    failed: tuple[UUID, ...] = (),
) -> Forecast | None:
    zone = Zone("UTC", START.timestamp(), now.timestamp())
    present = PresentState(now.timestamp(), {}, frozenset(graph.number[each] for each in failed))
    of = {graph.number[each]: arrival_history for each, arrival_history in arrival_histories.items()}
    return Prediction(graph, of, zone, present).of([graph.number[target]]).get(graph.number[target])


A, B, C = uuid4(), uuid4(), uuid4()
CHAIN = graph_of([(A, B), (B, C)])


def chain() -> dict[UUID, ArrivalHistory]:
    a = daily(120, 5, 30)
    b = runs(a.arrived + 3600 + RANDOM.normal(0, 120, len(a.arrived)), np.full(len(a.arrived), 3600.0))
    c = runs(b.arrived + 1800 + RANDOM.normal(0, 60, len(b.arrived)), np.full(len(a.arrived), 1800.0))
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


def test_a_node_that_waits_for_a_late_one_is_late_by_as_much_and_names_it() -> None:
    now = START + timedelta(days=140, hours=4)  # A, which comes at 2:00, has not come by 4:00
    found = foretold(CHAIN, chain(), C, now)
    assert found is not None
    assert found.waits_for == CHAIN.number[A]
    assert 115 < found.by_minutes < 160
    assert found.low > (now + timedelta(minutes=80)).timestamp()  # an hour and a half after A


def test_what_is_there_is_waited_for_no_longer() -> None:
    now = START + timedelta(days=140, hours=4)
    arrival_histories = chain()
    arrived = runs(
        np.append(arrival_histories[A].arrived, (now - timedelta(minutes=10)).timestamp()),
        np.append(arrival_histories[A].took, 1800),
    )
    found = foretold(CHAIN, {**arrival_histories, A: arrived}, C, now)
    assert found is not None
    assert found.waits_for == CHAIN.number[B]


def test_the_forecast_after_a_failure_includes_the_time_to_retry() -> None:
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
    arrival_history = daily(120, 5, 30, weekend=False)
    now = START + timedelta(days=day, hours=1)
    found = usual(arrival_history, Zone("UTC", START.timestamp(), now.timestamp()), now.timestamp())
    assert found is not None
    assert found.is_expected is is_expected


def test_times_around_midnight_are_one_habit() -> None:
    arrival_history = daily(0, 20, 5)
    now = START + timedelta(days=140, hours=-1)
    found = usual(arrival_history, Zone("UTC", START.timestamp(), now.timestamp()), now.timestamp())
    assert found is not None
    assert abs(found.due - (START + timedelta(days=140)).timestamp()) < 900


def test_a_clock_change_moves_what_follows_the_zone() -> None:
    zone = "Europe/London"  # an hour ahead of UTC from 29 March 2026
    times = [(START + timedelta(days=day, hours=6 if day < 83 else 5)).timestamp() for day in range(90)]
    arrival_history = runs(np.array(times), np.full(90, 60.0))
    now = datetime(2026, 4, 6, 2, tzinfo=UTC).timestamp()
    found = usual(arrival_history, Zone(zone, START.timestamp(), now), now)
    assert found is not None
    assert found.due == datetime(2026, 4, 6, 5, tzinfo=UTC).timestamp()


RAW, LOADS, CORE, JOINS = uuid4(), uuid4(), uuid4(), uuid4()
FLOW = graph_of([(RAW, LOADS), (LOADS, CORE), (CORE, JOINS)])
NIGHT = START + timedelta(days=140)


def flow(rows: Floats, tonight: float | None) -> dict[UUID, ArrivalHistory]:
    """A file that lands at 2:00 and is loaded, 10 minutes for a thousand rows; what comes of it is joined, 20 minutes.

    rows: of each night before; tonight: of the file that has landed now, None before it does.
    """
    nights = len(rows)
    landed = np.array([(NIGHT + timedelta(days=day - nights, hours=2)).timestamp() for day in range(nights)])
    loading, joining = (minutes * 0.06 * rows * RANDOM.normal(1, 0.05, nights) for minutes in (10, 20))
    loaded, joined = landed + loading, landed + loading + joining
    if tonight is not None:
        landed, rows = np.append(landed, NIGHT.timestamp() + 2 * 3600), np.append(rows, tonight)
    unknown = np.full(nights, np.nan)
    return {
        RAW: ArrivalHistory(landed, np.full(len(landed), np.nan), rows),
        LOADS: runs(loaded, loading),
        CORE: ArrivalHistory(loaded, unknown, rows[:nights] // 2),
        JOINS: runs(joined, joining),
    }


VARIED = 1000 * RANDOM.lognormal(0, 0.3, 140)


@pytest.mark.parametrize(
    ("tonight", "minutes"), [(1000, 30), (3000, 90), (500, 15)]
)  # after the file: ten and twenty minutes for each thousand
def test_the_forecast_is_late_once_many_rows_have_landed(tonight: float, minutes: float) -> None:
    found = foretold(FLOW, flow(VARIED, tonight), JOINS, NIGHT + timedelta(hours=2, minutes=1))
    assert found is not None
    took = (found.expected - NIGHT.timestamp()) / 60 - 120
    assert took == pytest.approx(minutes, rel=0.1)


def test_a_run_that_has_more_rows_than_usual_is_not_late_before_its_time() -> None:
    now = NIGHT + timedelta(
        hours=2, minutes=20
    )  # it usually takes 10 minutes, and 30 for three thousand rows
    present = PresentState(now.timestamp(), {FLOW.number[LOADS]: NIGHT.timestamp() + 7200}, frozenset())
    zone = Zone("UTC", START.timestamp(), now.timestamp())
    arrival_histories = {
        FLOW.number[each]: arrival_history for each, arrival_history in flow(VARIED, 3000).items()
    }
    prediction = Prediction(FLOW, arrival_histories, zone, present)
    found = prediction.of([FLOW.number[LOADS]])[FLOW.number[LOADS]]
    assert found.expected == pytest.approx((NIGHT + timedelta(hours=2, minutes=30)).timestamp(), abs=120)
    assert prediction.times_usual_rows(FLOW.number[LOADS]) == pytest.approx(3, rel=0.2)


def test_what_has_never_run_is_no_obstacle() -> None:
    arrival_histories = flow(VARIED, 3000)
    never = runs(np.empty(0), np.empty(0))
    assert (
        foretold(FLOW, {**arrival_histories, LOADS: never}, JOINS, NIGHT + timedelta(hours=2, minutes=1))
        is not None
    )


def test_rows_that_have_not_landed_are_as_many_as_usual() -> None:
    found = foretold(FLOW, flow(VARIED, None), JOINS, NIGHT + timedelta(hours=1))
    assert found is not None
    assert found.expected == pytest.approx((NIGHT + timedelta(hours=2, minutes=30)).timestamp(), abs=300)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (np.full(140, 1000.0), "they were always as many"),
        (VARIED[:19], "too few nights are known"),
        (np.full(140, np.nan), "nobody counted them"),
    ],
)
def test_rows_of_which_nothing_is_known_move_nothing(rows: Floats, why: str) -> None:
    assert follows(rows, 0.06 * VARIED[: len(rows)]) is None, why


def test_run_times_that_do_not_follow_rows_are_not_moved_by_them() -> None:
    assert follows(VARIED, RANDOM.permutation(VARIED)) is None


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5])
def test_odd_nights_do_not_change_what_is_learned(power: float) -> None:
    took = VARIED**power * RANDOM.lognormal(0, 0.1, 140)
    took[::10] *= 20
    assert follows(VARIED, took) == pytest.approx(power, abs=0.15)


def test_forecast_run_times_grow_at_most_with_the_square_of_rows() -> None:
    assert follows(np.linspace(1000, 1001, 50), np.linspace(60, 600, 50)) == 2.0


def test_four_of_five_nights_are_in_the_interval() -> None:
    graph = graph_of(sla_calibration.EDGES)
    inside = []
    for seed in (4, 5):
        year = sla_calibration.simulate(np.random.default_rng(seed))
        for night in range(sla_calibration.LEARNED, sla_calibration.DAYS, 2):
            found = sla_calibration.forecast_deadlines(
                graph, year, night, float(year.deadlines[night]) - 4 * 3600
            )
            if found is not None:
                _, low, high = found
                inside.append(low <= year.ended[-1, night] <= high)
    assert len(inside) > 100
    assert 0.75 < np.mean(inside) < 0.9
