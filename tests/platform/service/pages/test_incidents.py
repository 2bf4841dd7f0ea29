"""The list of incidents, and the page of one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.slas.tick import evaluate
from tests.platform.service.conftest import put
from tests.platform.service.pages.conftest import Browse, raised


def failed(engine: Engine, process: str, reason: str = "no space left on volume 7") -> UUID:
    """An incident whose cause is a run that failed."""
    found = uuid4()
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.incident (incident_id, organisation_id, cause_type, cause_key, process_id, reason, "
            "severity, run_id, opened_at) SELECT %s, organisation_id, 'PROCESS', process_key, process_id, %s, 'ERROR', "
            "%s, now() FROM catalog.process WHERE organisation_id = %s AND process_key = %s",
            [found, reason, uuid4(), current_context().organisation_id, process],
        )
    return found


def close(engine: Engine, incident_id: UUID, part_of: UUID | None = None) -> None:
    with transaction(engine) as cursor:
        cursor.execute(
            "UPDATE catalog.incident SET closed_at = now(), part_of = %s WHERE incident_id = %s",
            [part_of, incident_id],
        )


def test_an_incident_shows_its_cause_and_everything_it_affects(browse: Browse, catalog: Engine) -> None:
    incident = raised(catalog, "raw/flights", "mart/delays")
    browser = browse()

    listed = browser.open("/incidents")
    assert f'href="/incidents/{incident}">raw/flights</a>' in listed

    page = browser.open(f"/incidents/{incident}")
    assert "It was due." in page
    assert 'href="/datasets/mart/delays"' in page
    assert 'href="/datasets/mart/report"' in page
    assert f'href="/alerts/{incident}">not acknowledged</a>' in page


def test_a_merged_incident_leads_to_the_one_it_continues_as(browse: Browse, catalog: Engine) -> None:
    whole, part = raised(catalog, "raw/flights"), raised(catalog, "mart/delays")
    close(catalog, part, whole)
    browser = browse()

    assert f"/incidents/{part}" not in browser.open("/incidents")
    assert f"/incidents/{part}" in browser.open("/incidents?closed=true")
    assert f'href="/incidents/{whole}"' in browser.open(f"/incidents/{part}")
    assert f'href="/incidents/{part}">mart/delays</a>' in browser.open(f"/incidents/{whole}")


def test_incidents_of_one_dataset(browse: Browse, catalog: Engine) -> None:
    incident = raised(catalog, "raw/flights", "mart/delays")
    browser = browse()

    assert str(incident) in browser.open("/incidents?key=mart/delays")
    assert "No incident matches." in browser.open("/incidents?key=mart/report")


def test_no_incident_says_so(browse: Browse) -> None:
    assert "No incident is open." in browse().open("/incidents")


def test_a_consumer_does_not_see_the_message_of_a_failure(browse: Browse, catalog: Engine) -> None:
    incident = failed(catalog, "mart/delays")

    assert "volume 7" not in browse().open(f"/incidents/{incident}")
    assert "volume 7" in browse(Role.DATA_OWNER, user="bob").open(f"/incidents/{incident}")


def test_incidents_of_other_domains_do_not_exist(browse: Browse, catalog: Engine) -> None:
    failure, late = failed(catalog, "mart/report"), raised(catalog, "mart/delays")
    owner, stranger = browse(domain="mart"), browse(user="bob", domain="raw")

    assert str(failure) in owner.open("/incidents")
    owner.open(f"/incidents/{failure}")
    assert "mart/" not in stranger.open("/incidents")
    for hidden in (failure, late, uuid4()):
        stranger.open(f"/incidents/{hidden}", 404)


def test_hostile_reasons_are_shown_as_text(browse: Browse, catalog: Engine) -> None:
    incident = raised(catalog, reason="<script>alert(1)</script>")

    page = browse().open(f"/incidents/{incident}")

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_what_is_downstream_has_the_worst_status_of_its_objectives(browse: Browse, catalog: Engine) -> None:
    put(catalog, "mart/delays", "old")
    evaluate(catalog, datetime.now(UTC) + timedelta(hours=2))
    incident = raised(catalog, "raw/flights")

    downstream = browse().open(f"/incidents/{incident}").partition("Downstream")[2]

    assert re.search('mart/delays</a></td><td><span class="status bad">Late', downstream)
