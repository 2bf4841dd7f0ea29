"""Descriptions of SLAs in words."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.slas.wording import describe_sla

LONDON = {"timezone": "Europe/London"}


@pytest.mark.parametrize(
    ("sla", "words"),
    [
        (
            {"deadline": "0 6 * * *", **LONDON, "calendar": "XLON", "warn_before_seconds": 3600.0},
            "by 06:00 Europe/London on business days of XLON, warned 1 h before",
        ),
        ({"deadline": "@daily"}, "by 00:00 UTC each day"),
        ({"deadline": "30 6,18 * * 1-5"}, "by 06:30 and 18:30 UTC on mon to fri"),
        ({"deadline": "0 6 * * 6,0"}, "by 06:00 UTC on sat, sun"),
        ({"deadline": "0 6 1,15 * *"}, "by 06:00 UTC on day 1 and 15 of each month"),
        (
            {"deadline": "0 6 1 * *", "calendar": "XLON"},
            "by 06:00 UTC on day 1 of each month, on business days of XLON",
        ),
        ({"deadline": "0 6 1 1 *"}, "by each time of the cron '0 6 1 1 *' UTC"),
        ({"deadline": "*/5 * * * *", **LONDON}, "by each time of the cron '*/5 * * * *' Europe/London"),
        (
            {
                "deadline": "0 6 * * *",
                "within_seconds": 14400,
                "partition": {"days_before": 1, "business": True},
            },
            "by 06:00 UTC each day, with the partition of the business day before, made 4 h before at most",
        ),
        (
            {
                "complete_by": [{"deadline": "0 6 * * *"}, {"deadline": "0 18 * * *"}],
                "start_by": [{"deadline": "0 1 * * *"}],
            },
            "by 06:00 UTC each day; by 18:00 UTC each day; started by 01:00 UTC each day",
        ),
        (
            {"max_age_seconds": 93600, "warn_after_seconds": 5400, "max_run_seconds": 90, "min_rows": 1000},
            "never older than 1 d 2 h, warned after 1 h 30 min; runs no longer than 1 min 30 s; at least 1,000 rows",
        ),
        ({"max_age_seconds": "soon"}, "age, in terms that cannot be read"),
        ({}, ""),
    ],
)
def test_an_sla_is_described_in_a_sentence(sla: dict[str, Any], words: str) -> None:
    assert describe_sla(sla) == words
