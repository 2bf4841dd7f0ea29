"""Descriptions in words of what starts a job, and of numbers."""

from typing import Any

import pytest

from headrace.autosys.census import census
from headrace.autosys.conditions import parse
from headrace.autosys.wording import condition_in_words, start_in_words

from .building import estate

CLOCK = "date_conditions: 1\n"


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ("", "by hand, or by an event"),
        ("start_times: 10:00\n", "by hand, or by an event"),
        ("box_name: B\n", "when its box starts"),
        ("condition: s(X)\n", "when its condition holds"),
        ("box_name: B\ncondition: s(X)\n", "when its box starts, if its condition holds then"),
        (f"{CLOCK}days_of_week: all\nstart_times: 10:00\n", "at 10:00 every day, in the server's zone"),
        (f"{CLOCK}start_mins: 30, 0\n", "at 00 and 30 past each hour every day, in the server's zone"),
        (
            f"{CLOCK}days_of_week: mo,tu,we\nstart_times: 10:00,11:00,12:00\ntimezone: Europe/London\n",
            "at 10:00, 11:00 and 12:00 Monday to Wednesday, Europe/London",
        ),
        (f"{CLOCK}days_of_week: mo,su\n", "at 00:00 on Monday and Sunday, in the server's zone"),
        (f"{CLOCK}days_of_week: sa,su\n", "at 00:00 on Saturday and Sunday, in the server's zone"),
        (
            f"{CLOCK}run_calendar: C\nexclude_calendar: H\n",
            "at the times of C, but not on those of H, in the server's zone",
        ),
        (
            f"{CLOCK}run_calendar: C\nstart_times: 10:00\nrun_window: 09:00-11:00\nmust_start_times: +5\n"
            "must_complete_times: 25:30\ncondition: s(X)\n",
            "at 10:00 on the days of C, within 09:00-11:00, in the server's zone, must start by +5 min, "
            "must complete by 25:30, if its condition holds then",
        ),
    ],
)
def test_what_starts_a_job(attributes: Any, words: Any) -> None:
    assert start_in_words(estate(f"insert_job: A\n{attributes}").jobs["A"]) == words


def test_everything_is_counted() -> None:
    counted = census(
        estate(
            "insert_job: B job_type: b owner: o\ninsert_job: C job_type: b box_name: B\n"
            "insert_job: A machine: m, n owner: p condition: s(B) & s(X^PRD) & v(G) = 1\n"
            "insert_machine: m\ntype: a\n"
        )
    )
    assert counted.jobs == {"BOX": 2, "CMD": 1}
    assert (counted.boxes, counted.nested, counted.machines, counted.owners) == (2, 1, 2, 2)
    assert (counted.edges, counted.elsewhere) == (2, 1)
    assert counted.others == {"machine": 1}


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("s(A)", "A has succeeded"),
        ("d(A^PRD, 24.30) & n(B)", "A of PRD has ended in the last 24 h 30 min and B is not running"),
        (
            "(f(A, 0) | t(A)) & s(B, 9999)",
            "(A has failed since the last run or A was terminated) and B has succeeded",
        ),
        ('e(A) <= 3 & v(DAY) = "MON"', "exit code of A <= 3 and variable DAY = MON"),
    ],
)
def test_conditions_in_words(condition: str, words: str) -> None:
    assert condition_in_words(parse(condition)) == words
