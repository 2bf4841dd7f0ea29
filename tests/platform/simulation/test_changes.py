"""What-ifs: the file, and the effect of each change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.estates.what_if import InvalidWhatIf, read_changes
from headrace.simulation.changes import Change, ChangedZone
from headrace.simulation.comparison import differences, spans
from headrace.simulation.durations import UsualEfforts
from headrace.simulation.nights import Period, simulate
from headrace.simulation.obstacles import why_not
from headrace.simulation.playing import Scene

from ..autosys.building import estate
from .playing import MONDAY, box, clock, job, rows

UNTIL = MONDAY + timedelta(days=1)
CHAIN = clock("A", "02:00") + job("B", "condition: s(A)") + job("C", "condition: s(B)")


def made(**fields: object) -> Change:
    return Change.model_validate(fields)


def night(text: str, *changes: Change, minutes: float = 30) -> list[str]:
    given = dict.fromkeys("ABC", minutes * 60)
    period = Period(MONDAY, UNTIL, UsualEfforts(given=given, otherwise=1800), changes=changes)
    return rows(simulate(Scene.of(estate(text)), period).outcome)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (made(change="slower", job="A", factor=2), ["02:00 03:00 A", "03:00 03:30 B", "03:30 04:00 C"]),
        (made(change="slower", job="A", by="15m"), ["02:00 02:45 A", "02:45 03:15 B", "03:15 03:45 C"]),
        (made(change="late", job="B", until="2026-03-02T05:00"), ["02:00 02:30 A", "02:30 05:00 B", "05:00 05:30 C"]),
        (made(change="failed", job="B"), ["02:00 02:30 A", "02:30 03:00 B"]),
        (made(change="noexec", job="B"), ["02:00 02:30 A", "02:30 02:30 B", "02:30 03:00 C"]),
        (made(change="on_hold", job="B"), ["02:00 02:30 A"]),
        (made(change="on_ice", job="B"), ["02:00 02:30 A"]),
        (made(change="spark", job="B", takes="5m"), ["02:00 02:30 A", "02:30 02:35 B", "02:35 03:05 C"]),
        (made(change="volume", factor=2), ["02:00 03:00 A", "03:00 04:00 B", "04:00 05:00 C"]),
        (made(change="volume", factor=2, job="[BC]"), ["02:00 02:30 A", "02:30 03:30 B", "03:30 04:30 C"]),
        (
            made(change="machine_lost", machine="m", at="2026-03-02T02:10", until="2026-03-02T04:00"),
            ["02:00 02:10 A"],
        ),
    ],
)  # fmt: skip
def test_a_change_moves_what_follows(change: Change, expected: list[str]) -> None:
    assert [row.rpartition(" ")[0] for row in night(CHAIN, change)] == expected


def test_a_failed_attempt_is_retried() -> None:
    text = clock("A", "02:00", "n_retrys: 1")
    assert night(text, made(change="failed", job="A", times=1)) == ["02:00 03:00 A SUCCESS"]


def test_a_variable_of_another_value_stops_a_job() -> None:
    text = clock("A", "02:00", "condition: v(OPEN) = 1")
    assert night(text, made(change="variable", variable="OPEN", value="0")) == []


def test_the_variable_that_stops_a_job_is_named() -> None:
    scene = Scene.of(estate(clock("A", "02:00", "condition: v(OPEN) = 1")))
    change = made(change="variable", variable="OPEN", value="0")
    played = simulate(scene, Period(MONDAY, UNTIL, UsualEfforts(), changes=(change,)))
    assert why_not(scene, played.outcome, "A") == ('v(OPEN) = "1": the variable has another value',)


def test_a_changed_calendar_moves_a_start(tmp_path: Path) -> None:
    from headrace.autosys import read_estate

    (tmp_path / "jobs.jil").write_text(
        'insert_job: A\ndate_conditions: 1\nrun_calendar: DAYS\nstart_times: "02:00"\n'
    )
    (tmp_path / "days.txt").write_text("calendar: DAYS\n03/03/2026 00:00\n")
    scene = Scene.of(read_estate([tmp_path / "jobs.jil", tmp_path / "days.txt"]))
    change = made(change="calendar", calendar="DAYS", add=("2026-03-02",))
    outcomes = [
        simulate(scene, Period(MONDAY, UNTIL, UsualEfforts(), changes=changes)).outcome
        for changes in ((), (change,))
    ]
    assert [rows(each) for each in outcomes] == [[], ["02:00 02:00 A SUCCESS"]]
    [found] = differences(*map(spans, outcomes))
    assert (found.before, found.after and found.after.status) == (None, "SUCCESS")


@pytest.mark.parametrize(
    ("by", "expected"), [("60m", "01:00 01:00 A SUCCESS"), ("-60m", "03:00 03:00 A SUCCESS")]
)
def test_a_clock_change_moves_later_starts(by: str, expected: str) -> None:
    change = made(change="clock_change", at="2026-03-02T00:30", by=by)
    assert night(clock("A", "02:00"), change, minutes=0) == [expected]


# A changed zone has to behave as the real zone does at its own clock changes.
@given(st.integers(0, 7 * 24 * 60), st.booleans())
def test_changed_clocks_are_those_of_a_zone_with_that_change(minute: int, autumn: bool) -> None:
    london = ZoneInfo("Europe/London")
    change = datetime(2026, 10, 25, 1, tzinfo=UTC) if autumn else datetime(2026, 3, 29, 1, tzinfo=UTC)
    before = ZoneInfo("Etc/GMT-1") if autumn else ZoneInfo("UTC")
    changed = ChangedZone(before, change, timedelta(hours=-1 if autumn else 1))
    instant = change - timedelta(days=3) + timedelta(minutes=minute)
    ours, real = instant.astimezone(changed), instant.astimezone(london)
    assert (ours.replace(tzinfo=None), ours.fold) == (real.replace(tzinfo=None), real.fold)
    for fold in (0, 1):
        local = real.replace(fold=fold)
        assert local.replace(tzinfo=changed).utcoffset() == local.utcoffset()


def test_jobs_in_a_box_on_hold_do_not_run() -> None:
    text = box("X", "02:00") + job("A", "box_name: X")
    assert night(text, made(change="on_hold", job="X")) == []


def read(tmp_path: Path, text: str) -> tuple[Change, ...]:
    file = tmp_path / "changes.yaml"
    file.write_text(text)
    return read_changes(file, Scene.of(estate(CHAIN)))


def test_a_file_lists_changes(tmp_path: Path) -> None:
    found = read(tmp_path, "- change: slower\n  job: A\n  factor: 1.5\n- change: volume\n  factor: 2\n")
    assert [each.change for each in found] == ["slower", "volume"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- change: slower\n  job: NONE\n  factor: 2\n", ":2: job: no job NONE is in the estate"),
        ("- change: slower\n  job: A\n  factor: 0\n", ":3: factor: input should be greater than 0"),
        ("- change: slower\n  job: A\n", "slower needs `factor` or `by`"),
        ("- change: failed\n", "failed needs `job`"),
        ("- change: noexec\n  job: A\n  factor: 2\n", "noexec has no field `factor`"),
        ("- change: sideways\n", ":1: change: input should be 'slower', 'late'"),
        ("- change: slower\n  jobs: A\n", ":2: jobs: is not a field"),
        ("- change: late\n  job: A\n  by: soon\n", ":3: by: 'soon' is not a valid duration"),
        ("- change: machine_lost\n  machine: x\n  at: 2026-03-02T01:00\n", ":2: machine: no job names machine x"),
        ("- change: calendar\n  calendar: C\n  add: [2026-03-02]\n", ":2: calendar: calendar C is in no export"),
        ("- change: [\n", "invalid YAML"),
        ("- change: slower\n  job:\n  factor: 2\n", "`job` has no value"),
        ("- change: slower\n  job: A\n  factor: .inf\n", ":3: factor: input should be a finite number"),
        ("- change: slower\n  job: A\n  by: 99999999999h\n", ":3: by: '99999999999h' is longer than a duration"),
        ("- change: late\n  job: A\n  until: 9999-12-31T23:00\n", ":3: until: the year is not within 1970 and"),
        ("- change: clock_change\n  at: 0001-01-01T00:00\n  by: 1h\n", ":2: at: the year is not within 1970 and"),
        ("- change: clock_change\n  at: 2026-03-02T01:00\n  by: 24h\n", "`by` is more than 9 hours"),
        (
            "- change: machine_lost\n  machine: m\n  at: 2026-03-02T01:00\n  until: 2026-03-02T00:00\n",
            "`until` is not after `at`",
        ),
        ("slower: A\n", "belongs to no entry"),
        ("", "it has no entries"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_and_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidWhatIf) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(str(tmp_path / "changes.yaml"))
    assert message in str(error.value)
