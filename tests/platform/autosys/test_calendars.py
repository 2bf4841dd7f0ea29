"""Exports of `autocal_asc` with their three kinds of records, and the resulting dates."""

from datetime import date, time
from pathlib import Path
from typing import Any

import pytest

from headrace.autosys.calendars import ExtendedCalendar, Standard, merged, read_calendars, separated
from headrace.autosys.estate import read_estate
from headrace.autosys.extended_calendars import UncertainError, dates_of
from headrace.autosys.rescan import read_changed
from headrace.settings import settings

EXPORT = """\
calendar: Holiday2007
description: Holiday calendar
01/01/2007 00:00
12/26/2007 00:00

cycle: Quarter2007
description: Quarterly
start_date: 01/01/2007
end_date: 03/31/2007
start_date:10/01/2007
end_date:12/31/2007

extended_calendar: LastWeekCycleCal
description:
workday: mo,tu,we,th,fr
non_workday: W
holiday:
holcal:
cyccal: Quarter2007
adjust: 0
condition: CWEEK#L
"""


def test_the_three_records_are_read() -> None:
    export = read_calendars(EXPORT, "cal.txt")
    assert export.findings == ()
    holidays = export.calendars["Holiday2007"]
    assert isinstance(holidays, Standard)
    assert holidays.days == {date(2007, 1, 1): (time(),), date(2007, 12, 26): (time(),)}
    assert (holidays.description, holidays.line) == ("Holiday calendar", 1)
    assert export.cycles["Quarter2007"].periods == (
        (date(2007, 1, 1), date(2007, 3, 31)),
        (date(2007, 10, 1), date(2007, 12, 31)),
    )
    extended = export.calendars["LastWeekCycleCal"]
    assert isinstance(extended, ExtendedCalendar)
    assert (extended.get("condition"), extended.get("holcal"), extended.get("cyccal")) == (
        "CWEEK#L",
        "",
        "Quarter2007",
    )


def test_the_last_week_of_each_period_moves_to_workdays() -> None:
    export = read_calendars(EXPORT, "cal.txt")
    calendar = export.calendars["LastWeekCycleCal"]
    # 2007: the first period has 90 days, so its last week is 26 to 31 March, and the 31st, a Saturday, moves on.
    assert sorted(dates_of(calendar, date(2007, 3, 1), date(2007, 4, 30), export.calendars, export.cycles)) == [  # type: ignore[arg-type]
        date(2007, 3, 26), date(2007, 3, 27), date(2007, 3, 28), date(2007, 3, 29), date(2007, 3, 30), date(2007, 4, 2),
    ]  # fmt: skip


def test_the_variant_spelling_and_times_with_seconds() -> None:
    export = read_calendars(
        "ext_calendar: E\ncondition: DAILY\ncalendar: C\n01/02/2026 07:30:00\n01/02/2026 19:00\n", "c"
    )
    assert isinstance(export.calendars["E"], ExtendedCalendar)
    assert export.calendars["C"].days == {date(2026, 1, 2): (time(7, 30), time(19))}


@pytest.mark.parametrize(
    ("lines", "day", "reported"),
    [
        ("02/03/2026\n12/25/2026", date(2026, 2, 3), None),
        ("02/03/2026\n31/12/2026", date(2026, 3, 2), "read as day/month/year"),
        ("02/03/2026", date(2026, 2, 3), "day/month/year would fit as well"),
        ("02/02/2026", date(2026, 2, 2), None),
        ("2026/03/02", date(2026, 3, 2), None),
    ],
)
def test_the_order_of_dates_is_found_out(lines: Any, day: Any, reported: Any) -> None:
    export = read_calendars(f"calendar: C\n{lines}\n", "c")
    assert day in export.calendars["C"].days
    assert len(export.findings) == (reported is not None)
    assert all(each.rule == "calendar/date-order" and reported in each.message for each in export.findings)


def test_what_is_no_date_is_a_finding_and_the_rest_stays() -> None:
    export = read_calendars("noise\ncalendar: C\n01/22/2026\n02/30/2026\nhello\n03/01/2026 25:00\n", "c")
    assert list(export.calendars["C"].days) == [date(2026, 1, 22)]
    assert [(each.rule, each.line) for each in export.findings] == [
        ("calendar/stray-line", 1), ("calendar/date", 4), ("calendar/date", 5), ("calendar/date", 6),
    ]  # fmt: skip


def test_a_period_that_does_not_close_is_a_finding() -> None:
    export = read_calendars(
        "cycle: Q\nstart_date: 01/25/2026\nend_date: 01/01/2026\nstart_date: 02/01/2026\n", "c"
    )
    assert export.cycles["Q"].periods == ()
    assert [each.line for each in export.findings] == [2, 4]


def test_of_two_calendars_of_one_name_the_later_counts() -> None:
    both = merged(
        [read_calendars("calendar: C\n01/01/2026\n", "a"), read_calendars("calendar: C\n01/22/2026\n", "b")]
    )
    assert list(both.calendars["C"].days) == [date(2026, 1, 22)]
    assert [(each.rule, each.file) for each in both.findings] == [("calendar/duplicate", "b")]
    cycle = "cycle: Q\nstart_date: 01/01/2026\nend_date: 03/31/2026\n"
    assert [each.line for each in read_calendars(cycle + cycle, "c").findings] == [4]


def test_calendar_exports_are_distinguished_from_jil() -> None:
    assert separated("\n# exported by hand\ncalendar: C\n") == (
        "\n# exported by hand\n\n",
        "\n\ncalendar: C\n",
    )
    assert separated("insert_job: calendar\n") == ("insert_job: calendar\n", "")


FIELDS = "workday", "non_workday", "holiday", "holcal", "cyccal", "adjust", "condition"
HOLIDAYS = Standard("HOL", {date(2026, 12, 25): (), date(2026, 12, 28): ()})


def days(first: Any = date(2026, 12, 1), last: Any = date(2026, 12, 31), **fields: Any) -> Any:
    calendar = ExtendedCalendar("E", {name: (value,) for name, value in fields.items()})
    return [day.day for day in sorted(dates_of(calendar, first, last, {"HOL": HOLIDAYS}, {}))]


# December 2026 begins on a Tuesday. Meanings as the vendor's list of date condition keywords gives them.
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("MON", [7, 14, 21, 28]),
        ("mon#1", [7]),
        ("MONM1", [28]),
        ("FOM", [1]),
        ("EOM", [31]),
        ("MNTHD#15", [15]),
        ("MNTHDM02", [30]),
        ("dec#24", [24]),
        ("nov", []),
        ("WORKD#1", [1]),
        ("WORKDM01", [31]),
        ("EOMWORK", [31]),
        ("fri | mon", [4, 7, 11, 14, 18, 21, 25, 28]),
        ("fri AND mnthd#11", [11]),
        ("{dec#24} | {mon & mnthd#7}", [7, 24]),
        ("(workdays) & NOT fri & mnthd#10", [10]),
    ],
)
def test_a_keyword_selects_these_days(condition: Any, expected: Any) -> None:
    assert days(condition=condition) == expected


def test_an_excluding_keyword_selects_all_other_days() -> None:
    assert days(condition="XFOM") == list(range(2, 32))
    assert days(condition="MNTHDX31") == list(range(1, 31))


def test_no_condition_is_every_day() -> None:
    assert days() == list(range(1, 32))


# The vendor's examples: N goes to the next day of any kind, W to the next workday that is not a holiday, P back.
@pytest.mark.parametrize(
    ("action", "expected"), [("N", [26]), ("W", [29]), ("P", [24]), ("S", [25]), ("O", [25])]
)
def test_an_action_moves_a_holiday(action: Any, expected: Any) -> None:
    assert days(condition="dec#25", holiday=action, holcal="HOL") == expected


@pytest.mark.parametrize(
    ("action", "expected"), [("", [26]), ("S", [26]), ("O", [26]), ("W", [28]), ("P", [25])]
)
def test_an_action_moves_a_day_that_is_no_workday(action: Any, expected: Any) -> None:
    assert days(condition="dec#26", non_workday=action) == expected


def test_only_days_off_are_left_by_o() -> None:
    assert days(condition="daily", non_workday="O", last=date(2026, 12, 7)) == [5, 6]


def test_an_adjustment_moves_every_date() -> None:
    # The vendor's example: one day after each holiday.
    assert days(holiday="O", holcal="HOL", adjust="+1") == [26, 29]
    assert days(condition="FOM", adjust="-1", first=date(2026, 11, 1)) == [30, 31]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"condition": "WORKDX02"}, "two ways"),
        ({"condition": "CWEK#1"}, "not a supported keyword"),
        ({"condition": "WEEK#05"}, "not a supported keyword"),
        ({"condition": "mon & fri | tue"}, "which binds first"),
        ({"condition": "mon, fri"}, "several rules"),
        ({"condition": "(mon"}, "not closed"),
        ({"condition": "CYCLE"}, "without a cyccal"),
        ({"condition": "CYCLE", "cyccal": "Q"}, "no cycle Q"),
        ({"holiday": "W", "holcal": "X"}, "no standard calendar X"),
        ({"holcal": "HOL"}, "holiday: empty"),
        ({"non_workday": "N"}, "not certain"),
        ({"non_workday": "W", "adjust": "1"}, "order is not documented"),
        ({"condition": "WORKD#1", "holcal": "HOL", "holiday": "S"}, "count as workdays"),
        ({"workday": "monday"}, "not a list of"),
    ],
)
def test_what_is_not_certain_is_refused_with_the_reason(fields: Any, reason: Any) -> None:
    with pytest.raises(UncertainError, match=reason):
        days(**fields)


@pytest.mark.parametrize(
    "before",
    [
        "/* Holidays, kept by the batch team.\n   Ask before changing. */\n",
        "$ autocal_asc -E standard.txt -s ALL\n",
        "# one\n/* two */\n\n[ops@unx] $ autocal_asc -E x -s ALL\n",
    ],
)
def test_a_comment_or_the_echoed_command_before_the_first_record(tmp_path: Path, before: Any) -> None:
    file = tmp_path / "cal.txt"
    file.write_text(f"{before}calendar: HOL\n/* New\n   Year */\n01/01/2026 00:00\n$ exit\n")
    found = read_estate([file])
    assert list(found.calendars.calendars["HOL"].days) == [date(2026, 1, 1)]
    assert {finding.rule for finding in found.findings} <= {"jil/stray-line"}
    assert read_changed([file], {}).estate.calendars == found.calendars


def test_jobs_and_calendars_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "mixed.txt"
    file.write_text(
        "extended_calendar: FIRST\nworkday: mo\n\n"
        "insert_job: A job_type: c\ncommand: x\n\n"
        "calendar: HOL\n01/01/2026 00:00\n\n"
        "insert_job: B job_type: c\ncommand: run /tmp/*\ncalendar: is text\n/* calendar: OLD\n */\n"
    )
    found = read_estate([file])
    assert {name: job.line for name, job in found.jobs.items()} == {"A": 4, "B": 10}
    assert {name: each.line for name, each in found.calendars.calendars.items()} == {"FIRST": 1, "HOL": 7}
    assert "calendar" not in found.jobs["A"].values
    reading = read_changed([file], {})
    assert reading.estate.calendars == found.calendars
    assert reading.calendars[str(file), 7].strip() == "calendar: HOL\n01/01/2026 00:00"
    assert read_changed(
        [file],
        {piece.digest: name for name, piece in reading.pieces.items()},  # type: ignore[misc]
    ).known.keys() == {piece.digest for piece in reading.pieces.values()}


@pytest.mark.parametrize(("counts", "day"), [(True, date(2026, 1, 1)), (False, date(2026, 1, 2))])
def test_a_site_states_whether_holidays_are_workdays(
    monkeypatch: pytest.MonkeyPatch, counts: Any, day: Any
) -> None:
    monkeypatch.setenv("HEADRACE_AUTOSYS_HOLIDAYS_ARE_WORKDAYS", str(counts))
    settings.cache_clear()
    first = ExtendedCalendar("FIRST", {"condition": ("WORKD#01",), "holcal": ("HOL",), "holiday": ("S",)})
    holidays = Standard("HOL", {date(2026, 1, 1): (time(),)})
    found = dates_of(first, date(2026, 1, 1), date(2026, 1, 31), {"HOL": holidays}, {})
    assert found == {day}
