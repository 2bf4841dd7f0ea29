"""Small estates whose runs are known.

The expected runs were recorded from `dsl41 rehearse` (version 1.12.0, run as a separate program on the same text, each
run 30 minutes unless given). What it leaves out (retries, machines off line) is tested in test_engine.py.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from .playing import box, clock, job, play, rows

MACHINE = "insert_machine: m\ntype: a\nmax_load: 100\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            clock("A", "02:00") + clock("B", "01:00", "condition: s(A)").replace("s(A)", "s(A, 00.30)"),
            ["02:00 02:30 A SUCCESS", "02:30 03:00 B SUCCESS"],
            id="a time that has come stays due until the condition holds",
        ),
        pytest.param(
            box("X", "20:00", "box_success: s(A)")
            + job("A", "box_name: X")
            + job("B", "box_name: X", "condition: s(A)")
            + clock("P", "20:45", "box_name: X", "condition: s(A)")
            + job("O", "condition: s(X)"),
            ["20:00 20:30 A SUCCESS", "20:00 20:30 X SUCCESS", "20:30 21:00 O SUCCESS"],
            id="box_success ends the box, and members that have not started do not",
        ),
        pytest.param(
            clock("A", "02:00")
            + box("X", "03:00", "box_success: s(A)")
            + job("B", "box_name: X")
            + job("C", "box_name: X", "condition: s(B)"),
            ["02:00 02:30 A SUCCESS", "03:00 03:30 B SUCCESS", "03:00 03:30 X SUCCESS"],
            id="box_success is evaluated when a member ends, not when the box starts",
        ),
        pytest.param(
            box("X", "01:00", "box_success: s(A, 00.59)") + job("B", "box_name: X") + clock("A", "02:00"),
            ["01:00 01:30 B SUCCESS", "01:00       X RUNNING", "02:00 02:30 A SUCCESS"],
            id="the end of a job outside the box does not end it",
        ),
        pytest.param(
            clock("A", "02:00, 02:20, 02:50"),
            ["02:00 02:30 A SUCCESS", "02:50 03:20 A SUCCESS"],
            id="a time that comes while the job runs has no effect",
        ),
        pytest.param(
            clock("A", "02:00, 03:00") + clock("B", "02:10, 02:40, 03:10", "condition: s(A, 0)"),
            [
                "02:00 02:30 A SUCCESS", "02:30 03:00 B SUCCESS",
                "03:00 03:30 A SUCCESS", "03:30 04:00 B SUCCESS",
            ],
            id="lookback 0 wants an end after the last end of the job itself",
        ),
        pytest.param(
            box("X", "20:00")
            + clock("A", "20:30", "box_name: X")
            + job("B", "box_name: X", "condition: s(A)"),
            ["20:00 21:30 X SUCCESS", "20:30 21:00 A SUCCESS", "21:00 21:30 B SUCCESS"],
            id="a member with a time of its own waits for it",
        ),
        pytest.param(
            box("X", "20:00") + clock("A", "19:30", "box_name: X") + job("B", "box_name: X"),
            ["20:00 20:30 B SUCCESS", "20:00       X RUNNING"],
            id="a member whose time came before its box started holds the box",
        ),
        pytest.param(
            box("X", "20:00, 22:00")
            + job("A", "box_name: X")
            + job("B", "box_name: X", "condition: s(A)")
            + "insert_job: I\njob_type: BOX\nbox_name: X\ncondition: s(A)\n"
            + job("IM", "box_name: I"),
            [
                "20:00 20:30 A SUCCESS", "20:00 21:00 X SUCCESS", "20:30 21:00 B SUCCESS",
                "20:30 21:00 I SUCCESS", "20:30 21:00 IM SUCCESS",
                "22:00 22:30 A SUCCESS", "22:00 23:00 X SUCCESS", "22:30 23:00 B SUCCESS",
                "22:30 23:00 I SUCCESS", "22:30 23:00 IM SUCCESS",
            ],
            id="a box resets its members, so that they wait for each other again",
        ),
        pytest.param(
            box("EMPTY", "20:00"), ["20:00 20:00 EMPTY SUCCESS"], id="a box without members ends at once"
        ),
        pytest.param(
            box("X", "20:00")
            + job("A", "box_name: X", "status: ON_ICE")
            + job("B", "box_name: X", "status: ON_NOEXEC")
            + job("D", "box_name: X", "condition: s(A) & s(B)")
            + job("H", "box_name: X", "auto_hold: 1"),
            ["20:00 20:00 B SUCCESS", "20:00 20:30 D SUCCESS", "20:00       X RUNNING"],
            id="a member on ice does not count, one on noexec succeeds, one on hold holds the box",
        ),
        pytest.param(
            clock("A", "02:00", "status: ON_ICE")
            + clock("H", "02:00", "status: ON_HOLD")
            + clock("B", "03:00", "condition: s(A)")
            + clock("B2", "03:00", "condition: f(A)")
            + clock("B3", "03:00", "condition: s(H)")
            + clock("B5", "03:00", "condition: n(H)")
            + clock("B6", "03:00", "condition: f(A, 12)"),
            ["03:00 03:30 B SUCCESS", "03:00 03:30 B5 SUCCESS", "03:00 03:30 B6 SUCCESS"],
            id="a job on ice meets s and n, and everything with a lookback; one on hold meets n",
        ),
        pytest.param(
            clock("A", "02:00", "term_run_time: 5") + job("O", "condition: t(A)"),
            ["02:00 02:05 A TERMINATED", "02:05 02:35 O SUCCESS"],
            id="term_run_time ends a run",
        ),
        pytest.param(
            MACHINE
            + clock("A", "02:00", "job_load: 60", "priority: 2")
            + clock("B", "02:01", "job_load: 60", "priority: 5")
            + clock("D", "02:02", "job_load: 60", "priority: 1")
            + clock("E", "02:03", "job_load: 60"),
            [
                "02:00 02:30 A SUCCESS", "02:03 02:33 E SUCCESS",
                "02:33 03:03 D SUCCESS", "03:03 03:33 B SUCCESS",
            ],
            id="jobs with a load and a priority wait for room, the lowest number first",
        ),
        pytest.param(
            MACHINE
            + clock("A", "02:00", "job_load: 60", "priority: 2")
            + clock("D", "02:02", "job_load: 60", "priority: 3")
            + clock("S", "02:03", "job_load: 30", "priority: 5")
            + clock("T", "02:04", "job_load: 10", "priority: 1"),
            [
                "02:00 02:30 A SUCCESS", "02:04 02:34 T SUCCESS",
                "02:30 03:00 D SUCCESS", "02:30 03:00 S SUCCESS",
            ],
            id="a small job does not overtake one of a higher priority",
        ),
    ],
)  # fmt: skip
def test_the_runs_are_those_of_the_rehearsal(text: str, expected: list[str]) -> None:
    assert rows(play(text, warm=False)) == expected


def test_a_status_stays_whatever_day_it_was_set() -> None:
    weekly = clock("W", "01:00").replace("days_of_week: all", "days_of_week: su")
    text = weekly + clock("A", "02:00") + job("B", "condition: s(A) & s(W)")
    since, until = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 5, tzinfo=UTC)
    assert [row for row in rows(play(text, since, until)) if "B" in row] == ["02:30 03:00 B SUCCESS"] * 3


FAILING = {"B": (1,)}


@pytest.mark.parametrize(
    ("attributes", "outside", "expected"),
    [
        ((), "O: f(X)", "21:00 21:30 O SUCCESS"),
        (("box_failure: f(B)",), "O: f(X)", "20:10 20:40 O SUCCESS"),
        (("box_success: s(A) & s(B)",), "O: f(X)", "21:00 21:30 O SUCCESS"),
        (("box_success: s(A)",), "O: s(X)", "20:30 21:00 O SUCCESS"),
    ],
)
def test_a_box_with_a_member_that_fails(attributes: tuple[str, ...], outside: str, expected: str) -> None:
    name, condition = outside.split(": ")
    members = job("A", "box_name: X") + job("B", "box_name: X") + job("K", "box_name: X", "condition: s(A)")
    text = box("X", "20:00", *attributes) + members + job(name, f"condition: {condition}")
    assert expected in rows(play(text, minutes={"B": 10, "O": 30}, codes=FAILING))


def test_box_terminator_ends_the_box_and_job_terminator_the_member() -> None:
    text = (
        box("X", "20:00")
        + job("A", "box_name: X", "box_terminator: 1")
        + job("B", "box_name: X", "job_terminator: 1")
        + job("G", "box_name: X")
        + job("O", "condition: t(X)")
        + job("U", "condition: t(B)")
    )
    assert rows(play(text, minutes={"A": 10}, codes={"A": (1,)})) == [
        "20:00 20:10 A FAILURE", "20:00 20:10 B TERMINATED", "20:00 20:30 G SUCCESS", "20:00 20:10 X TERMINATED",
        "20:10 20:40 O SUCCESS", "20:10 20:40 U SUCCESS",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "status"),
    [
        ("max_exit_success: 4", "SUCCESS"), ("success_codes: 4", "SUCCESS"),
        ("fail_codes: 4", "FAILURE"), ("owner: x", "FAILURE"),
    ],
)  # fmt: skip
def test_an_exit_code_decides_the_status(attribute: str, status: str) -> None:
    assert rows(play(clock("A", "02:00", attribute), codes={"A": (4,)})) == [f"02:00 02:30 A {status}"]


def test_a_start_after_the_run_window_is_dropped() -> None:
    text = (
        clock("A", "02:00")
        + clock("B2", "03:10", "condition: s(A)", "run_window: 03:00-04:00")
        + clock("Z", "02:00", "condition: s(B2, 01.00)", "run_window: 02:00-03:00")
    )
    assert rows(play(text)) == ["02:00 02:30 A SUCCESS", "03:10 03:40 B2 SUCCESS"]
