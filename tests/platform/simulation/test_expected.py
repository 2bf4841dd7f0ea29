"""Next expected starts and finishes through boxes, conditions and the clock, with reasons."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace.simulation.durations import UsualEfforts
from headrace.simulation.expected import ExpectedInstant, expected_run
from headrace.simulation.playing import Scene

from ..autosys.building import estate

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Forecast:
    """The next runs of the jobs in a text; minutes: how long they take."""

    def __init__(self, text: str, now: datetime, minutes: dict[str, float]) -> None:
        self.scene, self.now = Scene.of(estate(text)), now
        self.efforts = UsualEfforts(given={name: each * 60.0 for name, each in minutes.items()})

    def start(self, name: str) -> ExpectedInstant:
        return expected_run(self.scene, name, self.now, self.efforts).start

    def finish(self, name: str) -> ExpectedInstant:
        return expected_run(self.scene, name, self.now, self.efforts).finish


def forecast(text: str, now: datetime = NOW, **minutes: float) -> Forecast:
    return Forecast(text, now, minutes)


def clock(name: Any, at: Any, *rest: Any) -> Any:
    return f"insert_job: {name}\ndate_conditions: 1\ndays_of_week: all\nstart_times: {at}\n" + "".join(
        f"{each}\n" for each in rest
    )


def times(found: Any, *names: Any) -> Any:
    return [
        tuple(f"{each.at:%d %H:%M}" if each.at else None for each in (found.start(name), found.finish(name)))
        for name in names
    ]


BOX = clock("B", "13:00", "job_type: b") + (
    "insert_job: M1 box_name: B\ninsert_job: M2 box_name: B\ncondition: s(M1)\n"
    "insert_job: AFTER\ncondition: s(B) & n(X)\n"
)


def test_a_box_starts_its_members_and_ends_with_the_last() -> None:
    found = forecast(BOX, M1=10, M2=20, AFTER=5)
    assert times(found, "B", "M1", "M2", "AFTER") == [
        ("01 13:00", "01 13:30"), ("01 13:00", "01 13:10"), ("01 13:10", "01 13:30"), ("01 13:30", "01 13:35"),
    ]  # fmt: skip
    assert found.start("M2").why == (
        "box B starts 2026-12-01 13:00 UTC",
        "s(M1): M1 ends 2026-12-01 13:10 UTC",
    )
    assert found.finish("B").why == ("the last member, M2, is expected to end 2026-12-01 13:30 UTC",)


def test_and_needs_every_status_and_or_the_first() -> None:
    text = clock("A", "13:00") + clock("C", "14:00")
    both = forecast(text + "insert_job: X\ncondition: s(A, 2.00) & s(C, 2.00)\n", A=10, C=10)
    either = forecast(text + "insert_job: X\ncondition: s(A) | s(C)\n", A=10, C=10)
    assert times(both, "X")[0][0] == "01 14:10"
    assert times(either, "X")[0][0] == "01 13:10"


# "Atoms latch: they read the current status of each job, whatever day it was set"
def test_a_predecessor_that_is_not_due_keeps_its_status() -> None:
    text = (
        clock("WEEKLY", "09:00")
        + clock("LATE", "12:50")
        + clock("X", "13:00", "condition: s(WEEKLY) & s(LATE)")
    )
    found = forecast(text, WEEKLY=10, LATE=30)
    assert times(found, "X")[0][0] == "01 13:20"
    alone = forecast(clock("WEEKLY", "09:00") + clock("X", "13:00", "condition: s(WEEKLY)"))
    assert times(alone, "X")[0][0] == "01 13:00"
    assert alone.start("X").why[-1] == "s(WEEKLY): WEEKLY ends 2026-12-01 09:00 UTC"


def test_an_unknown_time_can_have_a_bound() -> None:
    text = (
        BOX
        + clock("C", "14:00")
        + "insert_job: E\ncondition: s(M1) & s(C)\ninsert_job: F\ncondition: s(M2) | s(C)\n"
    )
    found = forecast(
        text + "insert_job: G\ncondition: s(A^PRD)\n" + clock("LATE", "13:30", "condition: s(M1)")
    )
    starts = {name: found.start(name) for name in ("M2", "AFTER", "E", "F", "G", "LATE")}
    assert [start.at for start in starts.values()] == [None] * 6
    assert {name: start.not_before and f"{start.not_before:%H:%M}" for name, start in starts.items()} == {
        "M2": "13:00", "AFTER": "13:00", "E": "13:00", "F": "13:00", "G": None, "LATE": "13:30",
    }  # fmt: skip


def test_a_start_by_the_clock_brings_its_must_times() -> None:
    text = clock("A", "13:00", "must_start_times: +5", "must_complete_times: 14:30", "condition: v(G) = 1")
    start = forecast(text).start("A")
    assert start.clock is not None
    assert (start.at, start.clock.must_start, start.clock.must_complete) == (
        datetime(2026, 12, 1, 13, tzinfo=UTC),
        datetime(2026, 12, 1, 13, 5, tzinfo=UTC),
        datetime(2026, 12, 1, 14, 30, tzinfo=UTC),
    )
    assert forecast(BOX).start("M1").clock is None


@pytest.mark.parametrize(
    ("condition", "at"),
    [
        ("s(EARLY, 2.00)", "13:00"),
        ("s(EARLY, 0.30)", "12:20"),  # the next day: what is due stays due
        ("s(EARLY, 0)", "13:00"),
        ("s(EARLY, 9999)", "13:00"),
        ("s(LATER)", "13:00"),  # by an earlier run
        ("s(LATER, 9999)", "13:00"),
        ("s(LATER, 24.00)", "13:00"),  # it ended 22 h 50 min before
        ("s(LATER, 0)", "14:10"),  # yesterday it let X run
    ],
)
def test_a_lookback_is_held_against_the_start(condition: Any, at: Any) -> None:
    text = clock("EARLY", "12:10") + clock("LATER", "14:00") + clock("X", "13:00", f"condition: {condition}")
    start = forecast(text, EARLY=10, LATER=10, X=1).start("X")
    assert (start.at and f"{start.at:%H:%M}") == at


def test_two_lookbacks_have_to_hold_at_the_same_time() -> None:
    text = clock("A", "13:00") + clock("C", "15:00")
    near = forecast(text + "insert_job: X\ncondition: s(A, 2.00) & s(C, 2.00)\n", A=10, C=10)
    far = forecast(text + "insert_job: X\ncondition: s(A, 1.00) & s(C, 1.00)\n", A=10, C=10)
    assert times(near, "X")[0][0] == "01 15:10"
    assert far.start("X").at is None
    assert far.start("X").why == (
        "s(A, 01.00): A last ended 2026-12-02 13:10 UTC, too long before",
        "s(C, 01.00): C last ended 2026-12-02 15:10 UTC, too long before",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("insert_job: X\n", "by hand only"),
        ("insert_job: X\ncondition: f(A)\ninsert_job: A\n", "only if A fails"),
        ("insert_job: X\ncondition: s(A)\n", "no such job"),
        ("insert_job: X\ncondition: s(A^PRD)\n", "another scheduler"),
        ("insert_job: X\ncondition: !s(A)\n", "cannot be read"),
        ("insert_job: X\ncondition: s(A)\ninsert_job: A\ncondition: s(X)\n", "in a cycle"),
        ("insert_job: X box_name: B\n", "does not exist"),
        ("insert_job: X\ncondition: s(A)\n" + clock("A", "13:00"), "how long it takes is not known"),
        (clock("A", "13:00", "run_calendar: C") + "insert_job: X\ncondition: s(A)\n", "exclude each other"),
    ],
)
def test_an_unknown_time_has_a_reason(text: Any, reason: Any) -> None:
    start = forecast(text).start("X")
    assert start.at is None
    assert any(reason in line for line in start.why)


def test_a_member_whose_end_is_not_known_is_named_with_the_end_of_its_box() -> None:
    finish = forecast(BOX, M1=10).finish("B")
    assert (finish.at, finish.not_before) == (None, datetime(2026, 12, 1, 13, 10, tzinfo=UTC))
    assert finish.why[-1] == "M2 starts 2026-12-01 13:10 UTC; how long it takes is not known"


def test_a_chain_of_ten_thousand_jobs_is_followed() -> None:
    text = clock("J0", "13:00") + "".join(
        f"insert_job: J{n}\ncondition: s(J{n - 1})\n" for n in range(1, 10_000)
    )
    found = Forecast(text, NOW, {f"J{n}": 1 for n in range(10_000)})
    assert found.finish("J9999").at == datetime(2026, 11, 30, 13, tzinfo=UTC) + timedelta(minutes=10_000)


def test_a_job_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="NONE"):
        forecast(BOX).start("NONE")


def test_a_job_on_ice_does_not_start_and_holds_nothing_up() -> None:
    found = forecast(clock("A", "13:00", "status: on_ice") + clock("X", "14:00", "condition: s(A)"), A=90)
    assert times(found, "A", "X") == [(None, None), ("01 14:00", None)]
    assert "s(A) holds: A is on ice" in found.start("X").why
    assert "A has the status ON_ICE" in found.start("A").why[0]


@pytest.mark.parametrize("held", ["status: on_hold", "status: ON_HOLD"])
def test_a_job_on_hold_does_not_start(held: Any) -> None:
    start = forecast(clock("A", "13:00", held)).start("A")
    assert (start.at, "ON_HOLD" in start.why[0]) == (None, True)


def test_auto_hold_holds_the_member_of_a_box() -> None:
    found = forecast(clock("B", "13:00", "job_type: b") + "insert_job: M box_name: B\nauto_hold: 1\n")
    assert found.start("M").at is None
    assert "auto_hold" in found.start("M").why[0]


def test_a_job_on_noexec_ends_when_it_starts() -> None:
    found = forecast(clock("A", "13:00", "status: on_noexec") + "insert_job: X\ncondition: s(A)\n", A=90)
    assert times(found, "A", "X")[1][0] == "01 13:00"


def test_an_override_applies_to_the_next_run() -> None:
    found = forecast(clock("A", "13:00") + 'override_job: A\nstart_times: "15:00"\n')
    assert times(found, "A")[0][0] == "01 15:00"
    assert found.start("A").why[0] == "override_job changes its next run"


def test_not_running_is_false_while_the_job_runs() -> None:
    text = (
        clock("A", "13:00") + clock("X", "13:05", "condition: n(A)") + clock("Y", "15:00", "condition: n(A)")
    )
    found = forecast(text + clock("Z", "13:05", "condition: s(Y) & n(A)"), A=60)
    assert [row[0] for row in times(found, "X", "Y", "Z")] == ["01 14:00", "01 15:00", "01 14:00"]
    assert found.start("X").why[-1] == "n(A): A ends 2026-12-01 14:00 UTC"


@pytest.mark.parametrize(
    ("condition", "at"),
    [
        ("e(A) = 0", "13:10"), ("e(A) != 4", "13:10"), ("e(A) < 1", "13:10"),
        ("e(A) = 4", None), ("e(A) != 0", None), ("e(A) > 0", None), ("e(A) > 0 | s(A)", "13:10"),
    ],
)  # fmt: skip
def test_an_exit_code_is_that_of_a_success(condition: Any, at: Any) -> None:
    start = forecast(clock("A", "13:00") + f"insert_job: X\ncondition: {condition}\n", A=10).start("X")
    assert (start.at and f"{start.at:%H:%M}") == at
    assert at or "A ends with exit code 0" in start.why[-1]


def test_box_success_ends_the_box() -> None:
    text = clock("X", "20:00", "job_type: b", "box_success: s(A)") + (
        "insert_job: A box_name: X\ninsert_job: B box_name: X\ncondition: s(A)\n"
        "insert_job: O\ncondition: s(X)\n"
    )
    found = forecast(text, A=30, B=45)
    assert times(found, "X", "O") == [("01 20:00", "01 20:30"), ("01 20:30", None)]
    assert found.finish("X").why[0] == "box_success of X: s(A)"


def test_a_status_stays_until_it_changes() -> None:
    monday = datetime(2026, 3, 2, 12, tzinfo=UTC)
    weekly = clock("W", "01:00").replace("days_of_week: all", "days_of_week: su")
    text = clock("A", "02:00") + weekly + "insert_job: B\ncondition: s(A) & s(W)\n"
    found = forecast(text, monday, A=10, W=10)
    assert found.start("B").at == datetime(2026, 3, 3, 2, 10, tzinfo=UTC)
    assert found.start("B").why == ("s(W) by an earlier run", "s(A): A ends 2026-03-03 02:10 UTC")
    bound = forecast(text, monday).start("B")
    assert (bound.at, bound.not_before) == (None, datetime(2026, 3, 3, 2, tzinfo=UTC))


def test_the_next_end_of_any_predecessor_counts() -> None:
    text = clock("A", '"02:00, 14:00"') + clock("B", "03:00") + "insert_job: Z\ncondition: s(A) & s(B)\n"
    noon = datetime(2026, 3, 3, 12, tzinfo=UTC)
    assert forecast(text, noon, A=10, B=10).start("Z").at == datetime(2026, 3, 3, 14, 10, tzinfo=UTC)


def test_a_predecessor_that_is_running_holds_nothing() -> None:
    text = clock("A", "13:00") + clock("C", "13:05") + "insert_job: X\ncondition: s(A) & s(C)\n"
    assert times(forecast(text, A=10, C=20), "X")[0][0] == "01 13:25"
