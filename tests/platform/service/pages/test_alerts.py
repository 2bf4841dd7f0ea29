"""The list of alerts, and the page of one."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.alerts.queries import history
from headrace.alerts.records import AlertState
from headrace.catalog.records import DatasetRecord
from headrace.registration.declarations import register
from headrace.severity import Severity
from headrace.slas.events import Kind
from tests.platform.service.pages.conftest import Browse, raised


def test_alerts_are_listed_with_what_they_are_about(browse: Browse, catalog: Engine) -> None:
    alert = raised(catalog)

    page = browse().open("/alerts")

    assert f'<a href="/alerts/{alert}">Late: mart/delays</a>' in page
    assert "It was due." in page


def test_filters_of_alerts_are_in_the_address(browse: Browse, catalog: Engine) -> None:
    late = str(raised(catalog, "raw/flights", "mart/report"))
    risky = str(raised(catalog, kind=Kind.AT_RISK, severity=Severity.WARNING))
    browser = browse()

    assert late in (page := browser.open("/alerts?severity=ERROR&state=OPEN"))
    assert risky not in page
    assert late in (page := browser.open("/alerts?subject=mart/report"))
    assert risky not in page
    assert "No alert matches." in browser.open("/alerts?state=CLOSED")
    assert "query.severity" in browser.open("/alerts?severity=BAD", 422)


def test_no_alert_says_so(browse: Browse) -> None:
    assert "No alert is open." in browse().open("/alerts")


def test_an_alert_shows_what_to_do_what_it_affects_and_who_is_notified(
    browse: Browse, catalog: Engine
) -> None:
    register(
        catalog,
        [DatasetRecord("mart/delays", "parquet", metadata={"runbook": "https://wiki.example.com/delays"})],
    )
    alert = raised(catalog, "mart/delays", "mart/report")

    page = browse(Role.DATA_OWNER).open(f"/alerts/{alert}")

    assert "mart/delays is late, since " in page
    assert '<a href="https://wiki.example.com/delays" rel="noreferrer">' in page
    assert "Acknowledge</button>" in page
    assert "Next to be notified: data" in page
    assert 'href="/datasets/mart/report"' in page
    assert f'href="/incidents/{alert}"' in page


def test_a_runbook_that_is_no_address_is_no_link(browse: Browse, catalog: Engine) -> None:
    register(catalog, [DatasetRecord("mart/delays", "parquet", metadata={"runbook": "javascript:alert(1)"})])

    page = browse().open(f"/alerts/{raised(catalog)}")

    assert "javascript:alert(1)" in page
    assert 'href="javascript' not in page


def test_an_owner_acknowledges_for_a_time_and_hands_over(browse: Browse, catalog: Engine) -> None:
    alert = raised(catalog)
    browser = browse(Role.DATA_OWNER, domain="mart")
    path = f"/alerts/{alert}"

    taken = browser.submit(path, f"{path}/acknowledge", lasts="PT14400S", comment="looking at it")
    assert (taken.status_code, taken.url.path) == (200, path)
    assert "Acknowledge for longer" in taken.text
    assert "looking at it" in taken.text
    found = history(catalog, alert).alert
    assert (found.state, found.acknowledged_by) == (AlertState.ACKNOWLEDGED, "user:ann")
    assert found.acknowledged_until - found.acknowledged_at == timedelta(hours=4)

    handed = browser.submit(path, f"{path}/hand-over", to="bob@example.com", lasts="", comment="")
    assert "user:ann handed it over to bob@example.com" in handed.text
    assert "Acknowledge for longer" not in handed.text


def test_an_owner_snoozes_and_resolves(browse: Browse, catalog: Engine) -> None:
    path = f"/alerts/{raised(catalog)}"
    browser = browse(Role.DATA_OWNER)

    assert '<button name="lasts" value="PT3600S">1 hour</button>' in browser.open(path)
    snoozed = browser.submit(path, f"{path}/acknowledge", lasts="PT3600S").text
    assert "Snooze for" not in snoozed
    assert ", until <time" in snoozed

    resolved = browser.submit(path, f"{path}/resolve", comment="<b>nothing</b> to do").text
    assert "Resolved</span> by user:ann" in resolved
    assert "user:ann resolved it" in resolved
    assert "&lt;b&gt;nothing&lt;/b&gt; to do" in resolved
    assert f'action="{path}' not in resolved


def test_only_an_acknowledged_alert_is_handed_over(browse: Browse, catalog: Engine) -> None:
    path = f"/alerts/{raised(catalog)}"

    early = browse(Role.DATA_OWNER).submit(path, f"{path}/hand-over", to="bob")

    assert early.status_code == 409
    assert "only an acknowledged one" in early.text


@pytest.mark.parametrize("action", ["acknowledge", "hand-over", "resolve"])
def test_a_consumer_and_a_stranger_change_no_alert(browse: Browse, catalog: Engine, action: str) -> None:
    alert = raised(catalog)
    consumer = browse()
    path = f"/alerts/{alert}/{action}"

    assert "Acknowledge</button>" not in consumer.open(f"/alerts/{alert}")
    assert consumer.post(path, to="bob").status_code == 403
    assert browse(Role.DATA_OWNER, user="bob", domain="raw").post(path, to="bob").status_code == 404
    wrong = browse(Role.DATA_OWNER, user="eve").client.post(path, data={"to": "bob", "form_token": "x"})
    assert wrong.status_code == 403
    assert history(catalog, alert).alert.state is AlertState.OPEN


def test_a_consumer_does_not_see_the_message_of_a_failure(browse: Browse, catalog: Engine) -> None:
    alert = raised(catalog, kind=Kind.RUN_FAILED, reason="no space left on volume 7")
    consumer = browse()

    assert "volume 7" not in consumer.open("/alerts")
    assert "volume 7" not in consumer.open(f"/alerts/{alert}")
    assert "volume 7" in browse(Role.DATA_OWNER, user="bob").open(f"/alerts/{alert}")


def test_alerts_of_other_domains_do_not_exist(browse: Browse, catalog: Engine) -> None:
    hidden = raised(catalog, "mart/delays")
    seen = raised(catalog, "raw/flights", "mart/report")
    browser = browse(domain="raw")

    assert "mart/delays" not in browser.open("/alerts")
    browser.open(f"/alerts/{hidden}", 404)
    assert "mart/report" not in browser.open(f"/alerts/{seen}")
    browser.open(f"/alerts/{uuid4()}", 404)


def test_hostile_words_are_shown_as_text(browse: Browse, catalog: Engine) -> None:
    alert = raised(catalog, reason="<script>alert(1)</script>")

    page = browse().open(f"/alerts/{alert}")

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
