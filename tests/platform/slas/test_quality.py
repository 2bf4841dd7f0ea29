"""Problems other than deadlines: row counts, schemas, checks, runs, sensors."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import Engine

from headrace.alerts.heartbeat import record_heartbeat
from headrace.catalog.records import DatasetRecord
from headrace.catalog.schema import schema_hash
from headrace.registration.declarations import register
from headrace.slas.events import Kind
from headrace.slas.forecasting.row_counts import unusual_row_count
from headrace.slas.tick import evaluate
from tests.platform.slas.building import alert_events, columns, declare, published, ran
from tests.platform.slas.test_tick import at, events, incidents

UNTOLD = schema_hash(())
MONDAY = datetime(2026, 6, 1, 6, tzinfo=UTC)
# A thousand rows on working days, a hundred at weekends, a few more or less.
SEASONAL = [
    (day, (100 if day.weekday() >= 5 else 1000) + index % 7)
    for index in range(70)
    for day in [MONDAY - timedelta(days=index + 1)]
]


@pytest.mark.parametrize(
    ("day", "rows", "strange"),
    [
        (0, 1000, False),
        (0, 1150, False),
        (0, 100, True),  # as many as on a Sunday
        (0, 0, True),
        (0, 5000, True),
        (5, 100, False),
        (5, 1000, True),
    ],
)
def test_row_counts_by_the_day_of_the_week(day: int, rows: int, strange: bool) -> None:
    assert (unusual_row_count(MONDAY + timedelta(days=day), rows, SEASONAL) is not None) is strange


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(("day", "usual"), [(4, 1000), (5, 100), (6, 100), (7, 1000)])  # Friday to Monday
def test_what_comes_around_midnight_is_of_one_day_whether_it_comes_before_or_after(
    day: int, usual: int, early: bool
) -> None:
    def arrived(at: datetime, early: bool) -> datetime:
        return at.replace(hour=0) + timedelta(minutes=-20 if early else 20)

    history = [(arrived(each, index % 3 == 0), rows) for index, (each, rows) in enumerate(SEASONAL)]
    now = arrived(MONDAY + timedelta(days=day), early)
    assert unusual_row_count(now, usual, history) is None
    assert unusual_row_count(now, 1100 - usual, history) is not None


def test_little_history_says_nothing() -> None:
    assert unusual_row_count(MONDAY, 0, SEASONAL[:5]) is None


def reported(series: list[tuple[datetime, int]], learned: int) -> list[datetime]:
    """When a version of the series would be reported, of those after the first `learned`."""
    return [
        at
        for place, (at, rows) in enumerate(series)
        if place >= learned and unusual_row_count(at, rows, series[max(place - 400, 0) : place]) is not None
    ]


def hourly(hours: int) -> list[tuple[datetime, int]]:
    """A hundred thousand rows by day, two thousand by night, 10 % more or less."""
    shake = Random(7)  # noqa: S311 - not cryptography
    moments = [MONDAY + timedelta(hours=hour) for hour in range(hours)]
    return [
        (each, round((100_000 if 8 <= each.hour < 20 else 2_000) * shake.uniform(0.9, 1.1)))
        for each in moments
    ]


def test_an_hourly_dataset_with_days_and_nights_is_never_unusual() -> None:
    assert reported(hourly(24 * 24), 0) == []


def test_an_hourly_dataset_is_compared_with_the_same_time_of_day() -> None:
    history = hourly(24 * 14)
    at = history[-1][0] + timedelta(hours=1)  # 06:00
    assert unusual_row_count(at, 2_100, history) is None
    assert unusual_row_count(at, 100_000, history) is not None


def daily(days: int, level: Callable[[datetime], float]) -> list[tuple[datetime, int]]:
    shake = Random(7)  # noqa: S311 - not cryptography
    moments = [MONDAY + timedelta(days=day) for day in range(days)]
    return [(each, round(level(each) * shake.uniform(0.95, 1.05))) for each in moments]


def test_a_shift_of_level_is_reported_once() -> None:
    shift = MONDAY + timedelta(days=60)
    assert reported(daily(120, lambda at: 3000 if at >= shift else 1000), 60) == [shift]


def test_a_shift_of_level_of_an_hourly_dataset_is_reported_once() -> None:
    shift = MONDAY + timedelta(days=14, hours=9)
    series = [(at, rows * 3 if at >= shift else rows) for at, rows in hourly(24 * 21)]
    assert reported(series, 24 * 10) == [shift]


def test_a_single_outlier_is_reported_and_the_return_to_the_usual_is_not() -> None:
    day = MONDAY + timedelta(days=60)
    assert reported(daily(90, lambda at: 10 if at == day else 1000), 30) == [day]


def test_a_spike_on_the_same_day_of_each_month_is_reported_once() -> None:
    found = reported(daily(300, lambda at: 10_000 if at.day == 15 else 1000), 40)
    assert len(found) <= 1


def test_the_end_of_a_month_may_be_a_weekend() -> None:
    assert reported(daily(365, lambda at: 100 if at.weekday() >= 5 else 1000), 60) == []


def test_static_partitions_are_compared_with_themselves(engine: Engine) -> None:
    definition = {"type": "static", "keys": ["UK", "LI"]}
    register(engine, [DatasetRecord("sales/country", "parquet", partition_definition=definition)])
    for day in range(1, 30):
        moment = at("2026-11-10T05:00") - timedelta(days=day)
        published(engine, "sales/country", moment, 1_000_000 + day, partition="UK")
        published(engine, "sales/country", moment, 400 + day, partition="LI")
    evaluate(engine, at("2026-11-10T00:00"))
    published(engine, "sales/country", at("2026-11-10T05:00"), 500, partition="UK")
    published(engine, "sales/country", at("2026-11-10T05:00"), 405, partition="LI")
    evaluate(engine, at("2026-11-10T05:01"))
    (unusual,) = alert_events(engine)
    assert (unusual.kind, unusual.facts["partition"]) == (Kind.UNUSUAL_ROW_COUNT, "UK")


def test_an_unusual_row_count_and_a_changed_schema_are_recorded_once(engine: Engine) -> None:
    declare(engine, {"sales/orders": None})
    for day in range(1, 30):
        published(engine, "sales/orders", at("2026-11-10T05:00") - timedelta(days=day), 1000 + day)
    evaluate(engine, at("2026-11-10T00:00"))
    columns(engine, "sales/orders", {"h": ["a"], "g": ["a", "b"]})
    published(engine, "sales/orders", at("2026-11-10T05:00"), 3, schema="g")
    evaluate(engine, at("2026-11-10T05:01"))
    evaluate(engine, at("2026-11-10T05:02"))
    assert events(engine) == [("sales/orders", "UNUSUAL_ROW_COUNT"), ("sales/orders", "SCHEMA_CHANGED")]
    assert incidents(engine) == []


def test_a_version_without_a_schema_is_not_a_schema_change(engine: Engine) -> None:
    declare(engine, {"sales/orders": None})
    columns(engine, "sales/orders", {"h": ["a"], "g": ["a", "b"]})
    evaluate(engine, at("2026-11-10T00:00"))
    for hour, schema in enumerate(("h", UNTOLD, "h", UNTOLD, "g"), 1):
        published(engine, "sales/orders", at(f"2026-11-10T0{hour}:00"), schema=schema)
        evaluate(engine, at(f"2026-11-10T0{hour}:01"))
    changed = [each for each in alert_events(engine) if each.kind is Kind.SCHEMA_CHANGED]
    assert [each.at for each in changed] == [at("2026-11-10T05:00")]
    assert changed[0].facts["compatible"] == ["column b (int) was added"]


def test_a_blocked_version_is_an_incident_until_one_is_published(engine: Engine) -> None:
    declare(engine, {"sales/orders": None})
    evaluate(engine, at("2026-11-10T00:00"))
    published(engine, "sales/orders", at("2026-11-10T05:00"), outcome="BLOCKED")
    evaluate(engine, at("2026-11-10T05:01"))
    assert incidents(engine) == [("sales/orders", True)]
    published(engine, "sales/orders", at("2026-11-10T05:30"))
    evaluate(engine, at("2026-11-10T05:31"))
    assert events(engine) == [("sales/orders", "CHECK_FAILED"), ("sales/orders", "INCIDENT_CLOSED")]
    assert incidents(engine) == [("sales/orders", False)]


def test_a_failed_run_without_downstream_sla_opens_no_incident(engine: Engine) -> None:
    declare(engine, {"sales/orders": None})
    evaluate(engine, at("2026-11-10T00:00"))
    ran(engine, "sales/orders", at("2026-11-10T03:00"), at("2026-11-10T03:05"), "FAILED")
    evaluate(engine, at("2026-11-10T03:06"))
    assert events(engine) == []


def test_a_sensor_that_falls_silent_and_one_that_ticks_again(engine: Engine) -> None:
    declare(engine, {"sales/orders": None})
    record_heartbeat(engine, "completions", at("2026-11-10T03:00"), timedelta(minutes=5))
    for minute in (0, 4, 5, 6, 7):
        evaluate(engine, at(f"2026-11-10T03:0{minute}"))
    assert events(engine) == [("completions", "SENSOR_SILENT")]
    record_heartbeat(engine, "completions", at("2026-11-10T03:08"), timedelta(minutes=5))
    evaluate(engine, at("2026-11-10T03:09"))
    assert events(engine)[1:] == [("completions", "SENSOR_BACK"), ("completions", "INCIDENT_CLOSED")]


def test_after_a_night_in_which_nothing_ran_a_sensor_has_its_time_to_tick(engine: Engine) -> None:
    declare(engine, {"sales/orders": None})
    record_heartbeat(engine, "completions", at("2026-11-10T03:00"), timedelta(minutes=5))
    evaluate(engine, at("2026-11-10T03:00"))
    for minute in (0, 1, 5):
        evaluate(engine, at(f"2026-11-10T09:0{minute}"))
    assert events(engine) == []
    evaluate(engine, at("2026-11-10T09:06"))
    assert events(engine) == [("completions", "SENSOR_SILENT")]


def test_a_late_estate_is_forecast_with_its_bottleneck(engine: Engine) -> None:
    objective = {"deadline": "0 6 * * *", "timezone": "UTC"}
    declare(
        engine,
        {"raw/a": None, "core/b": None, "mart/c": objective},
        [("raw/a", "core/b"), ("core/b", "mart/c")],
    )
    for day in range(1, 40):
        began = at("2026-11-10T02:00") - timedelta(days=day)
        for hours, key in enumerate(("raw/a", "core/b", "mart/c")):
            ran(
                engine,
                key,
                began + timedelta(hours=hours),
                began + timedelta(hours=hours + 1, minutes=day % 5),
                "SUCCESS",
            )
            published(engine, key, began + timedelta(hours=hours + 1, minutes=day % 5))
    evaluate(engine, at("2026-11-10T00:00"))
    evaluate(engine, at("2026-11-10T03:20"))
    assert events(engine) == []  # a usually ends at 3:00, c at 5:00: there is time
    evaluate(engine, at("2026-11-10T05:00"))
    assert events(engine) == [("mart/c", "AT_RISK")]
    assert incidents(engine) == [("raw/a", True)]
    for key in ("raw/a", "core/b", "mart/c"):
        published(engine, key, at("2026-11-10T05:30"))
        ran(engine, key, at("2026-11-10T05:10"), at("2026-11-10T05:30"), "SUCCESS")
    evaluate(engine, at("2026-11-10T05:31"))
    assert events(engine)[1:] == [("mart/c", "ON_TRACK"), ("raw/a", "INCIDENT_CLOSED")]


def test_the_forecast_is_late_once_three_times_the_rows_have_landed(engine: Engine) -> None:
    objective = {"deadline": "0 6 * * *", "timezone": "UTC"}
    declare(engine, {"raw/a": None, "mart/c": objective}, [("raw/a", "mart/c")])
    for day in range(1, 40):  # two hours for a million rows, of which there are 0.7 to 1.3
        landed = at("2026-11-10T02:00") - timedelta(days=day)
        rows = 700_000 + 100_000 * (day * 5 % 7)
        done = landed + timedelta(hours=2) * rows / 1e6
        published(engine, "raw/a", landed, rows)
        ran(engine, "mart/c", landed, done, "SUCCESS")
        published(engine, "mart/c", done)
    evaluate(engine, at("2026-11-10T00:00"))
    published(engine, "raw/a", at("2026-11-10T02:00"), 3_000_000)
    ran(engine, "mart/c", at("2026-11-10T02:00"), None, "RUNNING")
    evaluate(engine, at("2026-11-10T02:01"))
    risk = next(each for each in alert_events(engine) if each.kind is Kind.AT_RISK)
    assert risk.subject.key == "mart/c"
    expected = datetime.fromisoformat(str(risk.facts["expected_at"]))
    assert abs(expected - at("2026-11-10T08:00")) < timedelta(minutes=10)
