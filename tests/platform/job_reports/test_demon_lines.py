"""Lines of the event demon's log: none about a job is ignored."""

from __future__ import annotations

from datetime import UTC

import pytest

from headrace.job_reports.logs.demon_lines import Clock, NumberLine, WrongLine, parse

AT = "[11/26/2026 21:55:01]      "


def test_a_connection_gives_the_run_number() -> None:
    found = parse(f"{AT}CAUAJM_I_10082 [m1 connected for LOAD 5.1620.1]", Clock(UTC))
    assert isinstance(found, NumberLine)
    assert (found.job, found.run, found.ntry) == ("LOAD", 1620, 1)


@pytest.mark.parametrize(
    "line",
    [
        f"{AT}CAUAJM_I_10082 [m1 connected for LOAD 5.1620]",
        f"{AT}CAUAJM_I_10082 [m1 connected for LOAD]",
        f"{AT}CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: SUCCESS",
        "2026-11-26 21:55:01 CAUAJM_I_40245 EVENT: CHANGE_STATUS    STATUS: SUCCESS   JOB: LOAD",
    ],
)
def test_a_line_about_a_job_that_cannot_be_read_is_an_error(line: str) -> None:
    with pytest.raises(WrongLine):
        parse(line, Clock(UTC))


@pytest.mark.parametrize(
    "line", [f"{AT}CAUAJM_I_10082 [m1 connected for KILLJOB LOAD 5.1620.1]", f"{AT}checking", ""]
)
def test_other_lines_are_ignored(line: str) -> None:
    assert parse(line, Clock(UTC)) is None
