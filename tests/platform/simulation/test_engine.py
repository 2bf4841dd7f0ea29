"""What the simulation makes of attributes and events, worked out by hand from the vendor's pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.simulation.deadlines import results
from headrace.simulation.engine import Simulation
from headrace.simulation.obstacles import deadlocks
from headrace.simulation.outcome import Outcome
from headrace.simulation.playing import Scene
from headrace.simulation.statuses import ENDED, Status

from ..autosys.building import estate
from .playing import MONDAY, box, clock, job, play, rows


def at(hour: int, minute: int = 0) -> datetime:
    return MONDAY + timedelta(hours=hour, minutes=minute)


# "n_retrys": a job that fails is started again; what waits for its failure waits for the last attempt.
def test_a_failed_run_is_tried_again() -> None:
    text = clock("A", "02:00", "n_retrys: 2") + job("F", "condition: f(A)") + job("S", "condition: s(A)")
    assert rows(play(text, codes={"A": (1, 1, 0)})) == ["02:00 03:30 A SUCCESS", "03:30 04:00 S SUCCESS"]
    assert rows(play(text, codes={"A": (1,)})) == ["02:00 03:30 A FAILURE", "03:30 04:00 F SUCCESS"]


# Equal precedence, from left to right: s(A) | s(B) & s(C) is (s(A) | s(B)) & s(C)
def test_conditions_are_read_from_left_to_right() -> None:
    text = (
        clock("A", "02:00")
        + clock("C", "04:00")
        + clock("X", "03:00", "condition: f(B) | s(A) & s(C, 02.00)")
    )
    assert rows(play(text))[-1] == "04:30 05:00 X SUCCESS"


def test_off_hold_starts_what_is_due_and_off_ice_does_not() -> None:
    def release(simulation: Simulation) -> None:
        simulation.change_status(at(5), "H", Status.INACTIVE)
        simulation.change_status(at(5), "I", Status.INACTIVE)

    text = clock("H", "02:00", "status: ON_HOLD") + clock("I", "02:00", "status: ON_ICE")
    assert rows(play(text, before=release)) == ["05:00 05:30 H SUCCESS"]


def test_a_variable_lets_a_job_start() -> None:
    text = clock("A", "02:00", "condition: v(OPEN) = 1")

    def close_then_open(simulation: Simulation) -> None:
        simulation.set_variable(at(1), "OPEN", "0")
        simulation.set_variable(at(4), "OPEN", "1")

    assert rows(play(text)) == ["02:00 02:30 A SUCCESS"]
    assert rows(play(text, before=close_then_open)) == ["04:00 04:30 A SUCCESS"]


def test_a_job_of_another_scheduler_lets_a_job_start() -> None:
    outcome = play(
        job("A", "condition: s(X^PRD)"),
        before=lambda simulation: simulation.change_status(at(3), "X^PRD", Status.SUCCESS),
    )
    assert rows(outcome) == ["03:00 03:30 A SUCCESS"]


def test_runs_on_a_lost_machine_fail_and_others_wait_for_it() -> None:
    def lose(simulation: Simulation) -> None:
        simulation.take_machine(at(2, 10), "m", offline=True)
        simulation.take_machine(at(4), "m", offline=False)

    text = clock("A", "02:00") + clock("B", "03:00")
    assert rows(play(text, before=lose)) == ["02:00 02:10 A FAILURE", "04:00 04:30 B SUCCESS"]


def test_a_virtual_machine_uses_the_machine_with_room() -> None:
    machines = "".join(f"insert_machine: {name}\ntype: r\nmax_load: 50\n" for name in ("m1", "m2"))
    machines += "insert_machine: m\ntype: v\nmachine: m1\nmachine: m2\n"
    jobs = "".join(clock(name, "02:00", "job_load: 40", "priority: 1") for name in "ABC")
    outcome = play(machines + jobs)
    assert rows(outcome) == ["02:00 02:30 A SUCCESS", "02:00 02:30 B SUCCESS", "02:30 03:00 C SUCCESS"]
    assert [run.machine for run in outcome.of_period()][:2] == ["m1", "m2"]


def test_an_override_counts_for_one_run() -> None:
    text = clock("A", "02:00") + 'override_job: A\nstart_times: "05:00"\n'
    assert rows(play(text, until=MONDAY + timedelta(days=2))) == [
        "05:00 05:30 A SUCCESS",
        "02:00 02:30 A SUCCESS",
    ]


# On 29 March 2026 the clocks of London go from 01:00 to 02:00 UTC+1, on 25 October from 02:00 back to 01:00.
@pytest.mark.parametrize(
    ("day", "start"),
    [(datetime(2026, 3, 29, tzinfo=UTC), "01:00"), (datetime(2026, 10, 25, tzinfo=UTC), "01:30")],
)
def test_a_start_in_the_hour_of_a_clock_change(day: datetime, start: str) -> None:
    text = clock("A", "01:30", "timezone: Europe/London")
    assert rows(play(text, day, day + timedelta(hours=6)))[0].startswith(start)


MACHINE = "insert_machine: m\ntype: a\nmax_load: 5\n"


def test_an_override_during_a_run_leaves_the_room_of_the_machine_right() -> None:
    text = MACHINE + clock("A", "23:50", "job_load: 5\npriority: 1\nmachine: m")
    text += clock("B", "00:10", "job_load: 5\npriority: 1\nmachine: m") + "override_job: A\njob_load: 1\n"
    assert rows(play(text))[0] == "00:20 00:50 B SUCCESS"


def test_a_queued_job_on_hold_does_not_start_and_holds_up_no_other() -> None:
    queue = "job_load: 5\npriority: {}\nmachine: m"
    text = MACHINE + "".join(clock(name, "01:00", queue.format(n)) for n, name in enumerate("ABC", 1))
    held = MONDAY + timedelta(hours=1, minutes=5)
    outcome = play(text, before=lambda simulation: simulation.change_status(held, "B", Status.ON_HOLD))
    assert rows(outcome) == ["01:00 01:30 A SUCCESS", "01:30 02:00 C SUCCESS"]


def test_a_variable_that_only_box_success_names_starts_no_box() -> None:
    text = "insert_job: X job_type: BOX\ncondition: s(A)\nbox_success: v(G) = 1 | s(M)\n"
    text += clock("A", "01:00") + job("M", "box_name: X")
    later = MONDAY + timedelta(hours=9)
    outcome = play(text, before=lambda simulation: simulation.set_variable(later, "G", "1"))
    assert [row for row in rows(outcome) if " X " in row] == ["01:30 02:00 X SUCCESS"]


def test_must_times_and_limits_that_are_missed_are_listed() -> None:
    text = clock("W", "01:00") + clock(
        "A", "02:00", "condition: s(W, 03.00)", "must_start_times: +5", "must_complete_times: 03:30",
        "max_run_alarm: 20",
    )  # fmt: skip
    found = [each for each in results(play(text, minutes={"W": 90})) if each.is_missed]
    due = [
        (each.deadline.source, f"{datetime.fromtimestamp(each.deadline.due, UTC):%H:%M}") for each in found
    ]
    assert due == [("must_start_times", "02:05"), ("max_run_alarm", "02:50")]


def test_boxes_that_wait_for_each_other_are_named() -> None:
    text = box("X", "20:00", "box_success: s(OUTSIDE, 01.00)") + job("A", "box_name: X")
    text += job("OUTSIDE", "condition: s(X, 01.00)")
    assert deadlocks(Scene.of(estate(text)), play(text, until=MONDAY + timedelta(days=1))) == [
        ("OUTSIDE", "X")
    ]


def test_jobs_that_start_each_other_without_end_are_stopped() -> None:
    text = clock("A", "02:00") + job("B", "condition: s(A) | s(C)") + job("C", "condition: s(B)")
    outcome = play(text, minutes={"B": 0, "C": 0})
    assert set(outcome.stopped) & {"B", "C"}


def test_boxes_without_members_that_start_each_other_are_stopped() -> None:
    text = box("A", "02:00") + "insert_job: B job_type: BOX\ncondition: s(A) | s(C)\n"
    text += "insert_job: C job_type: BOX\ncondition: s(B)\n"
    assert set(play(text).stopped) & {"B", "C"}


def test_a_long_chain_of_boxes_without_members_is_played() -> None:
    text = box("B0", "02:00")
    text += "".join(f"insert_job: B{n} job_type: BOX\ncondition: s(B{n - 1})\n" for n in range(1, 400))
    assert rows(play(text))[-1] == "02:00 02:00 B99 SUCCESS"


NAMES = tuple("ABCDEFGH")
ATOMS = st.builds("{}({})".format, st.sampled_from("sfdn"), st.sampled_from(NAMES))
CONDITIONS = st.lists(ATOMS, min_size=1, max_size=3).flatmap(
    lambda found: st.sampled_from((" & ".join(found), " | ".join(found)))
)
STARTS = st.one_of(
    st.builds(
        lambda hour, condition: (f"{hour:02d}:00", condition), st.integers(0, 23), st.none() | CONDITIONS
    ),
    st.builds(lambda condition: (None, condition), CONDITIONS),
)


def written(name: str, start: tuple[str | None, str | None], inside: bool) -> str:
    at_time, condition = start
    rest = [f"condition: {condition}"] if condition else []
    rest += ["box_name: BOX"] if inside else []
    return clock(name, at_time, *rest) if at_time else job(name, *rest)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(STARTS, st.booleans()), min_size=len(NAMES), max_size=len(NAMES)),
    st.permutations(range(len(NAMES) + 1)),
    st.dictionaries(st.sampled_from(NAMES), st.just((1,))),
)
def test_runs_have_reasons_statuses_stay_and_the_order_of_definitions_has_no_effect(
    starts: list[tuple[tuple[str | None, str | None], bool]],
    order: list[int],
    codes: dict[str, tuple[int, ...]],
) -> None:
    jobs = [written(name, start, inside) for name, (start, inside) in zip(NAMES, starts, strict=True)]
    jobs.append(box("BOX", "01:00"))
    outcome = play("".join(jobs), codes=codes)
    again = play("".join(jobs[each] for each in order), codes=codes)
    assert rows(outcome) == rows(again)
    assert all(outcome.why(run) for run in outcome.runs)
    _assert_statuses_stay(outcome)


def _assert_statuses_stay(outcome: Outcome) -> None:
    """A job that does not run has the status of its last run, unless its box has started since."""
    last = {run.name: run for run in outcome.runs}
    for name, run in last.items():
        inside = outcome.definitions[name].box is not None
        state = outcome.states[name].status
        assert state is run.status or (inside and state in (Status.ACTIVATED, Status.INACTIVE))
        assert run.status is Status.RUNNING or run.status in ENDED
