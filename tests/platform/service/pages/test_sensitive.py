"""The page on which suggestions of sensitive columns are decided."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Role
from headrace.catalog.sensitivity_suggestions import SuggestionStatus, store_suggestions, stored_suggestions
from headrace.personal_data.suggestions import Suggestion
from tests.platform.service.pages.conftest import Browse

PAGE = "/approvals/sensitive"
FOUND = [
    Suggestion("carrier", "name of a person", 0.65, "its name contains carrier"),
    Suggestion("delay", "phone number", 0.6, "9 of 9 values are valid phone numbers"),
]


@pytest.fixture
def suggested(catalog: Engine, run_id: UUID) -> Engine:
    store_suggestions(catalog, "mart/delays", FOUND, datetime.now(UTC))
    return catalog


def decided(engine: Engine) -> dict[str, str]:
    return {each.column: each.status for each in stored_suggestions(engine, None, None)}


def form(*chosen: int) -> dict[str, list[str]]:
    return {
        "dataset": ["mart/delays", "mart/delays"],
        "column": [each.column for each in FOUND],
        "chosen": [str(each) for each in chosen],
    }


def test_a_steward_accepts_the_chosen(browse: Browse, suggested: Engine) -> None:
    steward = browse(Role.DATA_STEWARD)
    page = steward.open(PAGE)
    assert "name of a person" in page
    assert "9 of 9 values are valid phone numbers" in page

    done = steward.submit(PAGE, PAGE, **form(1), decision="accept")

    assert "1 accepted" in done.text
    assert decided(suggested) == {"carrier": SuggestionStatus.PENDING, "delay": SuggestionStatus.ACCEPTED}
    assert "sensitive: accepted" in steward.open("/datasets/mart/delays/columns")
    assert "in effect: accepted as sensitive" in steward.open("/datasets/mart/delays")


def test_a_dismissal_needs_a_note(browse: Browse, suggested: Engine) -> None:
    steward = browse(Role.DATA_STEWARD)
    refused = steward.submit(PAGE, PAGE, **form(0), decision="dismiss")
    assert "mart/delays.carrier: note" in refused.text
    done = steward.submit(PAGE, PAGE, **form(0), decision="dismiss", note="a company")
    assert "1 dismissed" in done.text
    assert "a company" in steward.open(f"{PAGE}?status=DISMISSED")


def test_the_columns_of_a_dataset_lead_those_who_decide_to_the_page(
    browse: Browse, suggested: Engine
) -> None:
    owner = browse(Role.DATA_OWNER)
    assert "may be: phone number" in owner.open("/datasets/mart/delays/columns")
    page = owner.open(f"{PAGE}?dataset=mart/delays")
    assert "delay" in page
    assert 'href="/approvals"' not in page, "registrations are reviewed by stewards"
    consumer = browse(Role.DATA_CONSUMER, "bob").open("/datasets/mart/delays/columns")
    assert "may be: phone number" in consumer
    assert PAGE not in consumer
