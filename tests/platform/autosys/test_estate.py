"""Statements applied in order, and the resulting graph."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.autosys.calendars import read_calendars
from headrace.autosys.conditions import AllOf, parse
from headrace.autosys.diff import Change, compare
from headrace.autosys.estate import read_estate

from .building import estate, rules

BOX = (
    "insert_job: B job_type: b\ninsert_job: M1 box_name: B\ncommand: x\n"
    "insert_job: C job_type: b box_name: B\ninsert_job: M2 box_name: C\n"
)


def test_updates_change_clear_and_add_in_place() -> None:
    found = estate(
        "insert_job: A job_type: c\nmachine: m\ncommand: a\nenvvars: X=1\nenvvars: Y=2\n",
        "update_job: A\nmachine: n\nenvvars: Z=3\ncommand: NULL\npriority: 5\n",
    )
    job = found.jobs["A"]
    assert [(each.name, each.value, each.file) for each in job.attributes] == [
        ("job_type", "c", ""), ("machine", "n", "2.jil"), ("envvars", "Z=3", "2.jil"), ("priority", "5", "2.jil"),
    ]  # fmt: skip
    assert job.place("machine") == ("2.jil", 2)
    assert [step.affected for step in found.steps] == [("A",)]


def test_an_override_is_kept_with_the_job_until_it_is_deleted() -> None:
    text = "insert_job: A\ncommand: a\noverride_job: A\ncommand: b\n"
    job = estate(text).jobs["A"]
    assert (job.command, [each.value for each in job.overrides]) == ("a", ["b"])
    gone = estate(text + "override_job: A delete\noverride_job: A delete\n")
    assert gone.jobs["A"].overrides == ()
    assert [step.affected for step in gone.steps] == [("A",), ("A",), ()]


def test_delete_box_takes_the_members_and_delete_job_lets_them_go() -> None:
    gone = estate(BOX, "delete_box: B\n")
    assert list(gone.jobs) == []
    assert sorted(gone.steps[0].affected) == ["B", "C", "M1", "M2"]
    loose = estate(BOX, "delete_job: B\n")
    assert {name: job.box for name, job in loose.jobs.items()} == {"M1": None, "C": None, "M2": "C"}


def test_a_job_inserted_after_a_delete_is_in_the_box_that_is_deleted_next() -> None:
    found = estate(
        BOX, "delete_box: C\ninsert_job: M3 box_name: B\ndelete_box: B\ninsert_job: B job_type: b\n"
    )
    assert list(found.jobs) == ["B"]


def test_a_second_insert_is_a_finding() -> None:
    same = estate("insert_job: A\ncommand: a\n", "insert_job: A\ncommand: a\n")
    other = estate("insert_job: A\ncommand: a\n", "insert_job: A\ncommand: b\n")
    assert other.jobs["A"].command == "a"
    assert [(each.rule, each.severity, each.file, each.line) for each in same.findings + other.findings] == [
        ("estate/duplicate", "INFO", "2.jil", 1), ("estate/duplicate", "ERROR", "2.jil", 1),
    ]  # fmt: skip


def test_blobs_of_a_job_add_up() -> None:
    blobs = estate("insert_blob: A\nblob_file: /x\n", "insert_blob: A\nblob_file: /y\n")
    assert blobs.findings == ()
    assert [each.value for each in blobs.things["blob"]["A"].attributes] == ["/x", "/y"]


def test_a_change_before_its_insert_says_which_file_to_give_first() -> None:
    [finding] = estate("update_job: A\ncommand: b\n", "insert_job: A\n").findings
    assert (finding.rule, finding.file) == ("estate/nothing-to-change", "1.jil")
    assert "2.jil:1" in str(finding.hint)


def test_a_rename_keeps_the_definition() -> None:
    assert estate("insert_job: A\ncommand: a\nrename_job: A\nnew_name: Z\n").jobs["Z"].command == "a"


@pytest.mark.parametrize(("new", "reported"), [("new_name: B\n", "B already exists"), ("", "no new name")])
def test_an_impossible_rename_is_a_finding(new: Any, reported: Any) -> None:
    found = estate(f"insert_job: A\ninsert_job: B\nrename_job: A\n{new}")
    assert list(found.jobs) == ["A", "B"]
    [finding] = found.findings
    assert (finding.rule, finding.line) == ("estate/rename", 3)
    assert reported in finding.message


def test_edges_carry_the_atom_that_makes_them_and_its_place() -> None:
    found = estate(
        "insert_job: A\ninsert_job: B job_type: b\ncondition: s(A, 12.00) & n(X^PRD)\nbox_success: e(A) < 4\n"
    )
    assert [
        (e.upstream, e.downstream, e.text, e.attribute, e.file, e.line, e.orders) for e in found.edges
    ] == [
        ("A", "B", "s(A, 12.00)", "condition", "1.jil", 3, True),
        ("X^PRD", "B", "n(X^PRD)", "condition", "1.jil", 3, False),
        ("A", "B", "e(A) < 4", "box_success", "1.jil", 4, False),
    ]
    assert found.waits_for["B"] == found.edges
    assert found.waited_for["A"] == (found.edges[0], found.edges[2])


def test_repeated_conditions_are_combined_and_reported() -> None:
    found = estate("insert_job: A\ncondition: s(X) & s(Y)\ncondition: s(Z)\n")
    assert found.jobs["A"].condition == parse("s(X) & s(Y) & s(Z)")
    assert isinstance(found.jobs["A"].condition, AllOf)
    assert rules(found.findings) == ["job/repeated-condition"]


def test_a_repeated_attribute_is_a_finding_unless_allowed() -> None:
    found = estate("insert_job: A\nmachine: a\nmachine: b\npriority: 1\npriority: 1\nowner: o\nowner: p\n")
    assert [(each.rule, each.line, each.attribute) for each in found.findings] == [
        ("job/repeated", 7, "owner")
    ]
    assert found.jobs["A"].owner == "p"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [("c", "CMD"), ("cmd", "CMD"), ("command", "CMD"), (None, "CMD"), ("b", "BOX"), ("box", "BOX"),
     ("f", "FW"), ("FILEWATCHER", "FW"),
     ("ft", "FT"), ("SQL", "SQL"), ("OMTF", "OMTF"), ("MY_TYPE", "MY_TYPE")],
)  # fmt: skip
def test_every_job_type_is_taken(written: Any, canonical: Any) -> None:
    assert estate(f"insert_job: A\n{f'job_type: {written}' if written else ''}\n").jobs["A"].type == canonical


@pytest.mark.parametrize(
    ("text", "triggers"),
    [
        ("insert_job: A\n", ["hand"]),
        ("insert_job: A\nstart_times: 10:00\n", ["hand"]),
        ("insert_job: A job_type: f box_name: B\n", ["box", "file"]),
        ("insert_job: A\ndate_conditions: 1\nstart_mins: 5\ncondition: !s(B)\n", ["clock", "condition"]),
    ],
)
def test_what_makes_a_job_start(text: Any, triggers: Any) -> None:
    assert list(estate(text).jobs["A"].triggers) == triggers


def test_boxes_from_the_inside_out() -> None:
    found = estate(BOX)
    assert found.members == {"B": ("M1", "C"), "C": ("M2",)}
    assert found.boxes_of("M2") == ("C", "B")
    assert estate("insert_job: A job_type: b box_name: A\n").boxes_of("A") == ("A",)


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        (
            "insert_job: A\ncondition: s(B)\ninsert_job: B\ncondition: s(A)\ninsert_job: C\ncondition: s(A)\n",
            [("A", "B")],
        ),
        ("insert_job: A\ncondition: s(A)\n", [("A",)]),
        ("insert_job: A\ncondition: n(B)\ninsert_job: B\ncondition: n(A)\n", []),
        ("insert_job: B job_type: b\nbox_success: s(M)\ninsert_job: M box_name: B\n", []),
        # A member that waits for its own box, and one that waits for a job that waits for the box
        ("insert_job: B job_type: b\ninsert_job: M box_name: B\ncondition: s(B)\n", [("B", "M")]),
        (
            "insert_job: B job_type: b\ninsert_job: M box_name: B\ncondition: s(X)\ninsert_job: X\ncondition: s(B)\n",
            [("B", "M", "X")],
        ),
        ("insert_job: B job_type: b\ninsert_job: M box_name: B\ninsert_job: X\ncondition: s(M)\n", []),
    ],
)
def test_cycles(text: Any, cycles: Any) -> None:
    assert list(estate(text).cycles) == cycles


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16))
def test_cycles_are_the_sets_that_reach_each_other(pairs: Any) -> None:
    waits = {number: {up for down, up in pairs if down == number} for number in range(8)}
    text = "".join(
        f"insert_job: J{number}\n"
        + (f"condition: {' & '.join(f's(J{up})' for up in sorted(ups))}\n" if ups else "")
        for number, ups in waits.items()
    )
    reach = {number: set(ups) for number, ups in waits.items()}
    for _ in range(8):
        reach = {number: ups.union(*(reach[up] for up in ups)) for number, ups in reach.items()}
    circles = {
        tuple(f"J{other}" for other in range(8) if other in reach[number] and number in reach[other])
        for number in range(8)
        if number in reach[number]
    }
    assert sorted(estate(text).cycles) == sorted(circles)


def test_files_are_recognised_by_content(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("calendar: C\n01/01/2026\n")
    (tmp_path / "b.txt").write_bytes("insert_job: A\nrun_calendar: C\n".encode("utf-16"))
    found = read_estate([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert list(found.calendars.calendars) == ["C"]
    assert found.jobs["A"].schedule.run_calendar == "C"


def test_a_file_of_another_kind_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 20 + b'\n"open\n')
    (tmp_path / "b.jil").write_text("insert_job:\nmachine: m\n")
    found = read_estate([tmp_path / "a.bin", tmp_path / "b.jil"]).findings
    assert [each.rule for each in found] == ["jil/nothing", "jil/no-name", "jil/nothing"]


def test_a_rescan_shows_what_changed_and_nothing_else() -> None:
    before = estate(
        "insert_job: A job_type: c\ncommand: a\nenvvars: X=1\ninsert_job: B\ninsert_job: C\n",
        "insert_machine: m\ntype: a\n",
    )
    after = estate(
        "\n\ninsert_job: C\ninsert_job: A\nenvvars: X=1\nenvvars: Y=2\ncommand: b\ninsert_job: D\n"
    )
    difference = compare(before, after)
    assert (difference.added, difference.removed) == (("D",), ("B", "machine m"))
    assert difference.changed == {
        "A": (Change("command", ("a",), ("b",)), Change("envvars", ("X=1",), ("X=1", "Y=2"))),
    }
    assert not compare(before, before)
    assert not compare(
        estate("insert_job: A job_type: c\ncondition: success(X) and d(Y, 1:30)\n"),
        estate("insert_job: A\njob_type: CMD\ncondition: (s(X)) & done(Y, 01.30)\n"),
    )


def test_calendars_are_compared_by_their_dates() -> None:
    calendars = [
        read_calendars(f"calendar: C\ndescription: {text}\n{day}/2026\n12/25/2026\ncalendar: D\n", "c")
        for text, day in (("one", "12/01"), ("two", "12/02"))
    ]
    before, after = (estate(calendars=each) for each in calendars)
    assert compare(before, after).changed == {
        "calendar C": (
            Change(
                "date",
                ("2026-12-01 00:00", "2026-12-25 00:00"),
                ("2026-12-02 00:00", "2026-12-25 00:00"),
            ),
        )
    }
    assert compare(estate(), after).added == ("calendar C", "calendar D")


def test_one_unreadable_atom_leaves_the_edges_of_the_others() -> None:
    found = estate(
        "insert_job: A\ninsert_job: B\ninsert_job: C\ncondition: s(A) & s(B, 2.5)\nbox_success: s(A) & s(B\n"
    )
    assert [(edge.upstream, edge.attribute) for edge in found.waits_for["C"]] == [
        ("A", "condition"), ("A", "box_success"),
    ]  # fmt: skip
    assert found.jobs["C"].condition is None
    assert rules(found.findings) == ["job/condition", "job/condition"]
