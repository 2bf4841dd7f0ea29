"""The page of a night."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.publishing.runs import attempt
from headrace.queries.night import night
from tests.platform.service.pages.conftest import Browse

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_runs_of_the_night_are_bars_that_lead_to_them(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night")

    assert f'href="/runs/{run_id}"' in page
    assert ">mart/delays</a>" in page


def test_another_night_is_compared(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night?compare=2026-01-01T00:00Z")

    assert "ran only now" in page


def test_a_run_before_its_time_in_the_other_night_is_earlier(browse: Browse, catalog: Engine) -> None:
    for run_id, begin, end in ((uuid4(), 3, 5), (uuid4(), 25, 26)):
        with attempt(catalog, run_id=run_id, process_key="mart/delays"):
            pass
        with transaction(catalog) as cursor:
            cursor.execute(
                "UPDATE catalog.process_run SET start_ts = %s, end_ts = %s WHERE run_id = %s",
                [MIDNIGHT + timedelta(hours=begin), MIDNIGHT + timedelta(hours=end), run_id],
            )

    page = browse().open("/night?since=2026-01-02T00:00&compare=2026-01-01T00:00")

    assert "2 h earlier, took 1 h less" in page
    assert "2026-01-02 01:00 to 2026-01-02 02:00 UTC" in page


def test_processes_are_found_by_name(browse: Browse, run_id: UUID) -> None:
    assert ">mart/delays</a>" in browse().open("/night?q=DELAYS")
    assert "of a process named other" in browse().open("/night?q=other")


def test_a_quiet_time_says_what_reports_runs(browse: Browse) -> None:
    assert "Nothing ran and nothing was due" in browse().open("/night?since=2020-01-01T00:00Z")


def test_runs_of_another_domain_are_not_shown(browse: Browse, run_id: UUID) -> None:
    assert "mart/delays" not in browse(domain="crm").open("/night")


def test_wrong_times_are_explained(browse: Browse) -> None:
    browser = browse()

    assert "query.since" in browser.open("/night?since=yesterday", 422)
    assert "query.hours" in browser.open("/night?hours=1000", 422)


def test_the_form_with_its_empty_fields_opens(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night?since=&hours=24&compare=&q=")

    assert ">mart/delays</a>" in page


def test_hours_are_in_utc_whatever_the_zone_of_the_address(browse: Browse, run_id: UUID) -> None:
    browser = browse()
    page = browser.open("/night?since=2026-01-01T00:30%2B02:00&hours=3")

    assert 'value="2025-12-31T22:30+00:00"' in page
    assert 'value="2026-01-01T22:30+00:00"' in browser.open("/night?since=2026-01-01T22:30")


@pytest.mark.parametrize("name", ["since", "compare"])
@pytest.mark.parametrize("time", ["0001-01-01T00:00Z", "9999-12-31T23:59Z", "0001-01-01T00:00%2B14:00"])
def test_times_at_the_ends_of_the_calendar_are_refused(browse: Browse, name: str, time: str) -> None:
    assert "years 1900 to 2999" in browse().open(f"/night?{name}={time}", 422)


def test_boxes_fold(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night?boxes=folded")

    assert ">Unfold boxes</a>" in page
    assert ">mart/delays</a>" in page


def test_the_plan_shows_slack_and_the_critical_path(browse: Browse, catalog: Engine) -> None:
    now = datetime.now(UTC)
    for key, begin, end in (("mart/delays", 4, 3), ("mart/report", 3, 2)):
        run_id = uuid4()
        with attempt(catalog, run_id=run_id, process_key=key):
            pass
        with transaction(catalog) as cursor:
            cursor.execute(
                "UPDATE catalog.process_run SET start_ts = %s, end_ts = %s WHERE run_id = %s",
                [now - timedelta(hours=begin), now - timedelta(hours=end), run_id],
            )
    browser = browse()

    assert "plan=1" in browser.open("/night")
    page = browser.open("/night?plan=1")
    assert "Critical path to" in page
    assert page.count('<span class="tag">critical</span>') == 2
    assert "; slack 0 s</title>" in page
    assert page.count('class="path"') == 2
    alone = browser.open("/night?plan=1&target=mart/delays")
    assert alone.count('<span class="tag">critical</span>') == 1
    narrow = browse(domain="raw", user="rob").open("/night?plan=1&target=mart/delays")
    assert "mart/report" not in narrow
    assert "No process unknown runs in this time" in browser.open("/night?plan=1&target=unknown")


def test_an_expected_run_is_drawn_apart(browse: Browse, catalog: Engine) -> None:
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        pass
    begin = datetime.now(UTC) - timedelta(days=7) + timedelta(hours=1)
    with transaction(catalog) as cursor:
        cursor.execute(
            "UPDATE catalog.process_run SET start_ts = %s, end_ts = %s WHERE run_id = %s",
            [begin, begin + timedelta(hours=1), run_id],
        )

    page = browse().open("/night?plan=1")
    assert page.count('<rect class="expected"') == 1
    assert ">Expected</span>" in page
    assert ">mart/delays</a>" not in browse().open("/night")


def test_a_night_as_it_was_at_a_time(browse: Browse, catalog: Engine) -> None:
    for key, begin, end in (("mart/delays", 1, 3), ("mart/report", 4, 5)):
        run_id = uuid4()
        with attempt(catalog, run_id=run_id, process_key=key):
            pass
        with transaction(catalog) as cursor:
            cursor.execute(
                "UPDATE catalog.process_run SET start_ts = %s, end_ts = %s WHERE run_id = %s",
                [MIDNIGHT + timedelta(hours=begin), MIDNIGHT + timedelta(hours=end), run_id],
            )
    browser = browse()

    page = browser.open("/night?since=2026-01-01T00:00&minute=120")
    assert "As it was at" in page
    assert ": 1 running, 1 not started." in page
    assert "plan=1" not in page
    assert ": 2 succeeded." in browser.open("/night?since=2026-01-01T00:00&minute=600")
    assert "Show it as it is now" not in browser.open("/night?since=2026-01-01T00:00&minute=")
    assert "query.minute" in browser.open("/night?minute=-1", 422)


def test_a_name_and_a_limit_choose_the_runs(catalog: Engine, run_id: UUID) -> None:
    with attempt(catalog, run_id=uuid4(), process_key="mart/report"):
        pass
    now = datetime.now(UTC)
    found = partial(night, catalog, now - timedelta(hours=1), now + timedelta(hours=1))

    assert [run.process_key for run in found("REPORT").runs] == ["mart/report"]
    assert not found("%").runs
    assert (len(found(limit=1).runs), found(limit=1).truncated) == (1, True)
