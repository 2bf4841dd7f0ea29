"""The layout of a night."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.pages.night.timeline import WIDTH, Row, as_of, rows, ticks

EVENING = datetime(2026, 11, 29, 18, tzinfo=UTC)
MORNING = EVENING + timedelta(hours=12)


def run(
    key: str, start: float, end: float | None, box: str | None = None, state: str = "SUCCESS"
) -> dict[str, Any]:
    """A run that began and ended so many hours after the evening."""
    return {
        "run_id": key,
        "process_key": key,
        "box": box,
        "state": state,
        "started_at": (EVENING + timedelta(hours=start)).isoformat(),
        "ended_at": None if end is None else (EVENING + timedelta(hours=end)).isoformat(),
    }


def deadline(key: str, at: float, *producers: str, expected: float | None = None) -> dict[str, Any]:
    return {
        "key": key,
        "process_keys": list(producers),
        "state": "LATE",
        "deadline": (EVENING + timedelta(hours=at)).isoformat(),
        "expected_at": None if expected is None else (EVENING + timedelta(hours=expected)).isoformat(),
    }


def night(*runs: dict[str, Any], deadlines: tuple[dict[str, Any], ...] = (), days: int = 0) -> dict[str, Any]:
    day = timedelta(days=days)
    return {
        "since": (EVENING + day).isoformat(),
        "until": (MORNING + day).isoformat(),
        "runs": list(runs),
        "deadlines": list(deadlines),
    }


def test_bars_are_where_their_runs_are() -> None:
    [row] = rows(night(run("load", 3, 6)), MORNING)

    [bar] = row.bars
    assert (bar.left, bar.width) == (WIDTH / 4, WIDTH / 4)


def test_a_running_run_reaches_until_now_and_a_run_that_began_before_begins_at_the_edge() -> None:
    late, early = rows(night(run("a", 6, None), run("b", -2, 3)), EVENING + timedelta(hours=9))[::-1]

    assert (late.bars[0].left, late.bars[0].width) == (WIDTH / 2, WIDTH / 4)
    assert (early.bars[0].left, early.bars[0].width) == (0, WIDTH / 4)


def test_runs_of_a_box_are_below_it_in_the_order_in_which_they_began() -> None:
    found = rows(
        night(run("second", 4, 5, "box"), run("box", 1, 6), run("first", 2, 3, "box"), run("other", 0, 1)),
        MORNING,
    )

    assert [row.key for row in found] == ["other", "box"]
    assert [row.key for row in found[1].members] == ["first", "second"]


def test_boxes_that_are_in_each_other_are_shown() -> None:
    found = rows(night(run("a", 1, 2, "b"), run("b", 2, 3, "a")), MORNING)

    assert {row.key for row in found} == {"a", "b"}


def test_a_deadline_is_at_the_processes_that_deliver_and_its_forecast_beside_it() -> None:
    due = deadline("mart/x", 9, "load", expected=6)
    [row] = rows(night(run("load", 1, 2), deadlines=(due,)), MORNING)

    assert [(mark.left, mark.is_forecast) for mark in row.marks] == [(750, False), (500, True)]


def test_a_deadline_without_a_process_has_a_row_of_its_own() -> None:
    [row] = rows(night(deadlines=(deadline("mart/x", 9),)), MORNING)

    assert row.key == "mart/x"


def test_the_difference_from_another_night() -> None:
    before = night(run("load", -23, -22), run("gone", -20, -19), days=-1)
    found = {row.key: row for row in rows(night(run("load", 1.5, 3)), MORNING, before)}

    assert found["load"].difference == (timedelta(minutes=30), timedelta(minutes=30))
    assert found["gone"].difference is None
    assert found["gone"].earlier


def test_expected_runs_are_placed_in_their_boxes() -> None:
    def planned(key: str, start: float, end: float, **more: object) -> dict[str, Any]:
        ran = run(key, start, end)
        return {**ran, "starts_at": ran["started_at"], "ends_at": ran["ended_at"], **more}

    expected = planned("first", 6, 9, is_expected=True, slack_seconds=600, box="box")
    actual = planned("box", 1, 9, is_expected=False, slack_seconds=-60)
    plan = {"critical": ["first"], "runs": [expected, actual]}
    [box] = rows(night(run("box", 1, None)), EVENING + timedelta(hours=2), None, plan)

    assert (box.is_expected, box.is_critical, box.plan.slack) == (False, False, timedelta(minutes=-1))
    [first] = box.members
    assert (first.is_expected, first.is_critical, first.plan.left, first.plan.width) == (True, True, 500, 250)


def test_as_of_a_time_runs_have_not_ended_or_not_started() -> None:
    whole = night(
        run("done", 0, 1), run("long", 1, 5, state="FAILED"), run("later", 4, 5), run("open", 2, None),
        deadlines=(deadline("early", 2), deadline("met", 5), deadline("late", 1), deadline("due", 9)),
    )  # fmt: skip
    for each, arrived in zip(whole["deadlines"], (9, 1, 2, 9), strict=True):
        each["arrived_at"] = (EVENING + timedelta(hours=arrived)).isoformat()

    found = as_of(whole, EVENING + timedelta(hours=3))

    assert {each["run_id"]: each["state"] for each in found["runs"]} == {
        "done": "SUCCESS", "long": "RUNNING", "later": "NOT_STARTED", "open": "RUNNING"
    }  # fmt: skip
    assert {each["key"]: each["state"] for each in found["deadlines"]} == {
        "early": "LATE", "met": "MET", "late": "MET_LATE", "due": "DUE"
    }  # fmt: skip
    [long] = [row for row in rows(found, MORNING) if row.key == "long"]
    assert (long.bars[0].left, round(long.bars[0].width)) == (83.33, 167)


RUNS = st.lists(
    st.builds(
        run,
        key=st.sampled_from("abcdef"),
        start=st.floats(-20, 11.9),
        end=st.one_of(st.none(), st.floats(12, 30)),
        box=st.one_of(st.none(), st.sampled_from("abcdef")),
    ),
    max_size=12,
)


def every(found: list[Row]) -> list[Row]:
    return [each for row in found for each in (row, *every(row.members))]


@given(RUNS)
def test_every_process_has_one_row_inside_the_drawing(runs: list[dict[str, Any]]) -> None:
    found = every(rows(night(*runs), MORNING))

    assert sorted(row.key for row in found) == sorted({each["process_key"] for each in runs})
    assert all(0 <= bar.left <= WIDTH for row in found for bar in row.bars)


@given(st.integers(1, 168))
def test_ticks_are_a_dozen_at_most_and_even(hours: int) -> None:
    found = ticks(EVENING, EVENING + timedelta(hours=hours))

    assert found[0].left == 0
    assert len(found) <= 12
    assert len({later.at - tick.at for tick, later in pairwise(found)}) <= 1
