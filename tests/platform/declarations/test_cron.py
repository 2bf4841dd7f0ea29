"""Cron expressions of declarations: cronsim evaluates them, and Dagster must read the same times."""

import pytest

from headrace.declarations.cron import valid_cron


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        (
            "0 6 * * sat-sun",
            "bad day-of-week; a range must end after it begins: write .*`sat,sun` for sat-sun",
        ),
        ("0 6 * * fri-mon", "bad day-of-week"),
        ("0 6 * * 6-0", "bad day-of-week"),
        ("0 6 * * L5", "bad day-of-week; write days of the month"),
        ("0 22-2 * * *", "bad hour; a range must end after it begins: write `22,23,0-2` for 22-2"),
        ("0 6 * nov-feb *", "bad month"),
        ("0 6 ? * 1", "bad day-of-month"),
        ("0 6 15W * *", "bad day-of-month; write days of the month"),
        ("0 6 LW * *", "Dagster cannot read; write days of the month"),
        ("0 6 * * 5L", "Dagster cannot read"),
        ("0 6 */2 * 1", "read differently by cron and by Dagster: write either the day of the month or"),
        ("0 6 31 2 *", "not a valid cron expression|Dagster cannot read|no date"),
        ("0 6 31 4,6 *", "not a valid cron expression|Dagster cannot read|no date"),
        ("0 0 6 * * *", "write minute hour day month weekday"),
        ("0 6 * *", "write minute hour day month weekday"),
        ("99 9 * * *", "bad minute"),
        ("", "write minute hour day month weekday"),
    ],
)
def test_a_cron_that_is_not_evaluated_as_written_is_refused(cron: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        valid_cron(cron)


@pytest.mark.parametrize(
    "cron",
    [
        "0 6 * * *", "*/20 * * * *", "30 5 * * 1-5", "0 9 * * mon-fri", "0 0 1 * *", "0 6 L * *", "0 6 29 2 *",
        "0 6 * * fri#2", "0 6 * * 7", "0,30 8-17 * * *", "5/15 6 * * *", "0 6 1 * 1", "@daily", "@hourly", "@weekly",
        "@monthly", "@yearly", "0 6 * 1-3 MON,FRI",
    ],
)  # fmt: skip
def test_usual_crons_are_accepted(cron: str) -> None:
    assert valid_cron(cron) == cron
