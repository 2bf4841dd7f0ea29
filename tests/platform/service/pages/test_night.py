"""The page of a night."""

from __future__ import annotations

from uuid import UUID

from tests.platform.service.pages.conftest import Browse


def test_the_runs_of_the_night_are_bars_that_lead_to_them(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night")

    assert f'href="/runs/{run_id}"' in page
    assert ">mart/delays</a>" in page


def test_another_night_is_compared(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night?compare=2026-01-01T00:00Z")

    assert "ran only now" in page


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


def test_boxes_fold(browse: Browse, run_id: UUID) -> None:
    page = browse().open("/night?boxes=folded")

    assert ">Unfold boxes</a>" in page
    assert ">mart/delays</a>" in page
