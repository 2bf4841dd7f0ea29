"""Each lint rule: its findings and places, and what it ignores."""

from datetime import date
from typing import Any

import pytest

from headrace.autosys.calendars import read_calendars
from headrace.autosys.lint import lint

from .building import estate

WHOLE = "owner: o\nmachine: m\ncommand: x\n"


def findings_of(text: Any, **more: Any) -> Any:
    return [
        (each.rule.removeprefix("estate/"), each.line, each.subject) for each in lint(estate(text, **more))
    ]


CLEAN = (
    "insert_job: B job_type: b owner: o\ndate_conditions: 1\ndays_of_week: all\nstart_times: 10:00\n"
    f"insert_job: M box_name: B\n{WHOLE}insert_job: N box_name: B\n{WHOLE}condition: s(M)\n"
)


def test_an_estate_in_order_has_no_findings() -> None:
    assert findings_of(CLEAN) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"insert_job: A\n{WHOLE}condition: s(X) | s(A2)\ninsert_job: A2\n{WHOLE}condition: s(A)\n",
         [("dangling", 5, "A"), ("cycle", 5, "A")]),
        (f"insert_job: A\n{WHOLE}condition: s(X)\n", [("dangling", 5, "A"), ("dead", 5, "A")]),
        (f"insert_job: A\n{WHOLE}condition: n(X)\n", [("dangling", 5, "A")]),
        # Jobs that wait for a dead job, alone or in all branches of an OR, and the members of a box that waits for it
        (f"insert_job: A\n{WHOLE}condition: s(X)\ninsert_job: D\n{WHOLE}condition: s(A) | s(X)\n"
         f"insert_job: E\n{WHOLE}condition: s(A) | n(A)\n"
         f"insert_job: B job_type: b owner: o\ncondition: d(D)\ninsert_job: M box_name: B\n{WHOLE}",
         [("dangling", 5, "A"), ("dangling", 10, "D"), ("dead", 5, "A"), ("held-up", 10, "D"), ("held-up", 17, "B"),
          ("held-up", 18, "M")]),
        (f"insert_job: A\n{WHOLE}condition: s(X^PRD)\n", [("unknown-instance", 5, "A")]),
        (f"insert_xinst: PRD\nxtype: a\ninsert_job: A\n{WHOLE}condition: s(X^PRD)\n", []),
        (f"insert_job: A\n{WHOLE}box_name: NONE\n", [("no-box", 5, "A")]),
        ("insert_job: B job_type: b owner: o\ncondition: s(B2)\ninsert_job: B2 job_type: b owner: o box_name: B\n",
         [("empty-box", 3, "B2"), ("cycle", 2, "B")]),
        ("insert_job: A\nowner: o\nbox_name: B\ninsert_job: B job_type: b owner: o\ncondition: v(G) = 1\n",
         [("no-machine", 1, "A"), ("no-work", 1, "A"), ("unknown-global", 5, "B")]),
        ("insert_glob: G\nvalue: 1\ninsert_job: A\nmachine: m\ncommand: x\ncondition: v(G) = 1\n",
         [("no-owner", 3, "A")]),
        (f"insert_job: A\n{WHOLE}", [("orphan", 1, "A")]),
        (f"insert_job: A\n{WHOLE}insert_job: B\n{WHOLE}condition: s(A)\n", [("by-hand", 1, "A")]),
        (f"insert_job: B job_type: b owner: o\ninsert_job: A box_name: B\n{WHOLE}", [("by-hand", 1, "B")]),
        (f"{CLEAN}update_job: M\ndate_conditions: 1\nstart_times: 11:00\n", [("clock-in-box", 15, "M")]),
        (f"insert_job: A\n{WHOLE}date_conditions: 1\nrun_calendar: C\n", [("unknown-calendar", 6, "A")]),
        (f"insert_machine: other\ntype: a\n{CLEAN}", [("unknown-machine", 9, "M")]),
        ("insert_job: A\nowner: o\nmachine: m\ncommand: x; /opt/bin/sendevent -E STARTJOB -J B\ncondition: n(A)\n",
         [("hidden-call", 4, "A")]),
        (f"insert_job: A\n{WHOLE}condition: n(a)\ninsert_job: a\n{WHOLE}condition: n(A)\n", [("name-clash", 6, "a")]),
        (f"insert_job: A\n{WHOLE}condition: n(A)\nstatus: ON_ICE\noverride_job: A\npriority: 1\n",
         [("initial-state", 6, "A"), ("override", 1, "A")]),
    ],
)  # fmt: skip
def test_a_rule_says_what_and_where(text: Any, expected: Any) -> None:
    assert findings_of(text) == expected


def test_a_name_in_another_case_is_offered() -> None:
    [finding, *_] = lint(estate(f"insert_job: Load\n{WHOLE}\ninsert_job: B\n{WHOLE}condition: n(LOAD)\n"))
    assert finding.hint == "there is Load: names are case-sensitive"


def test_a_calendar_that_has_run_out() -> None:
    calendars = read_calendars("calendar: C\n01/01/2026\n", "c.txt")
    found = lint(estate(CLEAN, calendars=calendars), today=date(2026, 1, 2))
    assert [(each.rule, each.file, each.line) for each in found] == [("calendar/expired", "c.txt", 1)]
    assert lint(estate(CLEAN, calendars=calendars), today=date(2026, 1, 1)) == ()


def test_a_finding_reads_as_a_line_of_a_report() -> None:
    [finding, *_] = lint(estate(f"insert_job: A\n{WHOLE}condition: s(X)\n"))
    assert str(finding) == (
        "1.jil:5: warning: A.condition: s(X) names a job that does not exist; it never holds "
        "(was it deleted, or is it missing from the files?) [estate/dangling]"
    )


HANGING = f"insert_job: X job_type: b owner: o\n{{}}insert_job: M box_name: X\n{WHOLE}"


@pytest.mark.parametrize(
    ("success", "condition", "hangs"),
    [
        ("box_success: s(O)", "s(X)", True),
        ("box_success: s(O)", "s(BETWEEN)", True),
        ("box_success: s(M)", "s(X)", False),
        ("box_success: s(O)", "n(X)", False),
        ("box_success: s(O)", "s(M)", False),
    ],
)
def test_a_box_whose_success_waits_for_a_job_that_waits_for_it(
    success: Any, condition: Any, hangs: Any
) -> None:
    text = HANGING.format(f"{success}\n") + (
        f"insert_job: O\n{WHOLE}condition: {condition}\ninsert_job: BETWEEN\n{WHOLE}condition: d(X)\n"
    )
    assert [found for found in findings_of(text) if found[0] == "hanging-box"] == (
        [("hanging-box", 2, "X")] if hangs else []
    )


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("echo sendevent is a word", False),
        ("printf 'sendevent %s' x", False),
        ('ksh -c "echo sendevent x"', False),
        ("echo a; sendevent -E STARTJOB -J B", True),
        ("echo $(autostatus -J B)", True),
        ("/opt/autosys/bin/sendevent -E STARTJOB -J B", True),
        ("ksh -c 'sendevent -E STARTJOB -J B'", True),
    ],
)
def test_a_printed_word_is_no_call(command: Any, calls: Any) -> None:
    text = f"insert_job: A\nowner: o\nmachine: m\ncommand: {command}\n"
    assert ("hidden-call" in [found[0] for found in findings_of(text)]) == calls
