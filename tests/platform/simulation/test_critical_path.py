"""The critical path and the slack of a night, against values calculated by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.simulation.critical_path import Activity, Schedule, schedule

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def at(hours: float) -> datetime:
    return MIDNIGHT + timedelta(hours=hours)


def ran(key: str, start: float, end: float | None, **more: object) -> Activity:
    return Activity(key, at(start), None if end is None else at(end), **more)  # type: ignore[arg-type]


def expected(key: str, start: float, took: float, **more: object) -> Activity:
    return Activity(key, at(start), started=False, took=timedelta(hours=took), **more)  # type: ignore[arg-type]


def slack(found: Schedule) -> dict[str, float]:
    """The slack of each run in hours."""
    return {key: timing.slack / timedelta(hours=1) for key, timing in found.timings.items()}


def starts(found: Schedule) -> dict[str, float]:
    return {key: (timing.starts_at - MIDNIGHT) / timedelta(hours=1) for key, timing in found.timings.items()}


# A project of the textbooks: A 3, B 4, C 2 and D 5 hours; B and C after A, D after B and C. The path A-B-D takes 12
# hours; C can be 2 hours later.
PROJECT = [expected("A", 0, 3), expected("B", 0, 4), expected("C", 0, 2), expected("D", 0, 5)]
AFTER = [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")]


def test_a_project_of_the_textbooks() -> None:
    found = schedule(PROJECT, AFTER, MIDNIGHT)

    assert starts(found) == {"A": 0, "B": 3, "C": 3, "D": 7}
    assert slack(found) == {"A": 0, "B": 0, "C": 2, "D": 0}
    assert (found.target, found.critical) == ("D", ("A", "B", "D"))


def test_a_deadline_bounds_the_slack_of_all_that_it_waits_for() -> None:
    due = [*PROJECT[:3], expected("D", 0, 5, deadline=at(11)), expected("E", 0, 20)]
    found = schedule(due, AFTER, MIDNIGHT)

    assert slack(found) == {"A": -1, "B": -1, "C": 1, "D": -1, "E": 0}
    assert (found.target, found.critical) == ("D", ("A", "B", "D"))
    assert schedule(due, AFTER, MIDNIGHT, "E").critical == ("E",)
    assert schedule(due, AFTER, MIDNIGHT, "unknown").target == "D"


def test_runs_that_have_ended_or_run_count_as_they_are() -> None:
    night = [ran("A", 0, 4), ran("B", 4, None, took=timedelta(hours=4)), ran("C", 4, 5), expected("D", 7, 5)]
    found = schedule(night, AFTER, at(6))

    assert starts(found) == {"A": 0, "B": 4, "C": 4, "D": 8}
    assert slack(found) == {"A": 0, "B": 0, "C": 3, "D": 0}
    assert schedule(night, AFTER, at(9)).timings["B"].ends_at == at(9)


def test_an_overdue_run_starts_now_at_the_earliest() -> None:
    assert starts(schedule([expected("A", 1, 2)], [], at(3))) == {"A": 3}


def test_a_run_that_did_not_wait_is_independent() -> None:
    found = schedule([ran("A", 0, 5), ran("B", 2, 3)], [("A", "B")], at(6))

    assert found.critical == ("A",)
    assert slack(found) == {"A": 0, "B": 2}


def test_the_chain_ends_where_a_run_started_by_the_clock() -> None:
    found = schedule([ran("A", 0, 1), ran("B", 3, 5), ran("C", 5, 6)], [("A", "B"), ("B", "C")], at(7))

    assert found.critical == ("B", "C")
    assert slack(found)["A"] == 2


def test_a_box_ends_with_its_last_member_and_its_members_wait_for_what_it_waits_for() -> None:
    night = [
        expected("A", 0, 2),
        expected("BOX", 1, 9),
        expected("long", 1, 3, box="BOX"),
        expected("short", 1, 1, box="BOX"),
        expected("after", 0, 1),
    ]
    found = schedule(night, [("A", "BOX"), ("BOX", "after")], MIDNIGHT)

    assert starts(found) == {"A": 0, "BOX": 2, "long": 2, "short": 2, "after": 5}
    assert found.timings["BOX"].ends_at == at(5)
    assert slack(found) == {"A": 0, "BOX": 0, "long": 0, "short": 2, "after": 0}
    assert found.critical == ("A", "long", "BOX", "after")


def test_runs_that_wait_for_each_other_are_not_ordered() -> None:
    found = schedule(PROJECT[:2], [("A", "B"), ("B", "A")], MIDNIGHT)

    assert starts(found) == {"A": 0, "B": 0}
    assert schedule([], [], MIDNIGHT) == Schedule({}, None, ())


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20),
)
def test_the_critical_path_is_the_longest_and_has_no_slack(
    hours: list[int], pairs: list[tuple[int, int]]
) -> None:
    night = [expected(f"n{place}", 0, each) for place, each in enumerate(hours)]
    edges = [(f"n{min(pair)}", f"n{max(pair)}") for pair in pairs if pair[0] != pair[1]]
    found = schedule(night, edges, MIDNIGHT)

    end = max(timing.ends_at for timing in found.timings.values())
    assert sum(hours[int(key[1:])] for key in found.critical) == (end - MIDNIGHT) / timedelta(hours=1)
    assert all(not found.timings[key].slack for key in found.critical)
    assert all(timing.slack >= timedelta() for timing in found.timings.values())
    assert all(
        found.timings[one].ends_at == found.timings[other].starts_at
        for one, other in pairwise(found.critical)
    )
