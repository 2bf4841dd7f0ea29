"""What stewards write in OpenMetadata: kept or overwritten by the rule, and shown as proposed changes."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from headrace.catalog.records import CheckResult, CheckStatus
from headrace.openmetadata.incoming import is_signed
from headrace.publishing.publication import publish
from headrace.queries.proposed_changes import ChangeState, ProposedChange, proposed_changes
from headrace.registration.declarations import register
from headrace.settings import settings
from tests.platform.conftest import Draft
from tests.platform.openmetadata.conftest import ORDERS, PROCESSES, SALES, SERVICE, Sync
from tests.platform.openmetadata.server import Contract, Entity, Refused, Request
from tests.platform.service.serving import application

TABLE = f"{SERVICE}.orders"
STEWARD_WINS = {"fields": dict.fromkeys(["description", "owners", "tags", "domains", "status"], "steward")}


def label(fqn: str, source: str = "Classification") -> Entity:
    return {"tagFQN": fqn, "source": source, "labelType": "Manual", "state": "Confirmed"}


def proposed(engine: Engine) -> dict[tuple[str, str], ProposedChange]:
    return {(each.field, each.column): each for each in proposed_changes(engine)}


def patches(server: Contract) -> list[str]:
    found = [each for each in server.requests if each.startswith(("PATCH", "PUT", "DELETE"))]
    server.requests.clear()
    return found


def test_a_description_of_a_steward_is_kept_where_nothing_is_declared(
    shop: Engine, sync: Sync, server: Contract
) -> None:
    sync()
    sales = server.find("table", f"{SERVICE}.sales")
    columns = [{**sales["columns"][0], "description": "Number"}, sales["columns"][1]]
    server.steward(sales, description="Sales by order", columns=columns)
    patches(server)
    assert sync().proposed == 2
    assert patches(server) == []
    found = proposed(shop)
    assert found["description", ""].value == "Sales by order"
    assert (found["description", "id"].value, found["description", "id"].by) == ("Number", "ada")
    assert found["description", ""].state is ChangeState.KEPT
    register(shop, [ORDERS, replace(SALES, description="Sales by order")], PROCESSES)  # adopted
    sync()
    assert proposed(shop).keys() == {("description", "id")}
    assert patches(server) == []


@pytest.mark.parametrize("steward_wins", [False, True])
def test_the_rule_decides_once_and_then_nothing_changes(
    shop: Engine, sync: Sync, server: Contract, steward_wins: bool
) -> None:
    given: dict[str, Any] = {"settings": STEWARD_WINS} if steward_wins else {}
    sync(**given)
    table = server.find("table", TABLE)
    owner = {"id": server.find("user", "grace")["id"], "type": "user", "name": "grace"}
    server.steward(table, description="What customers ordered", owners=[owner])
    patches(server)
    sync(**given)
    assert len(patches(server)) == (0 if steward_wins else 1)
    found = proposed(shop)
    assert found["description", ""].value == "What customers ordered"
    assert found["description", ""].declared == "Orders of the shop"
    expected = ChangeState.KEPT if steward_wins else ChangeState.OVERWRITTEN
    assert found["description", ""].state is expected
    assert server.find("table", TABLE)["description"] == (
        "What customers ordered" if steward_wins else "Orders of the shop"
    )
    if steward_wins:
        assert found["owners", ""].value == ["grace"]
    for whole in (False, True, False):
        sync(whole=whole, **given)
        assert patches(server) == []
    assert proposed(shop)["description", ""].value == "What customers ordered"


def test_tags_tiers_and_terms_come_in_and_stay(shop: Engine, sync: Sync, server: Contract) -> None:
    server.seed("glossaryTerms", name="Order", fullyQualifiedName="Business.Order")
    server.names["glossaryTerm", "Business.Order"] = server.all("glossaryTerm")[0]["id"]
    sync()
    table = server.find("table", TABLE)
    kept = [each for each in table["tags"] if each["tagFQN"] != "Tier.Tier1"]
    server.steward(table, tags=[*kept, label("Tier.Tier2"), label("Business.Order", "Glossary")])
    patches(server)
    sync()
    assert patches(server) == []
    assert {each["tagFQN"] for each in table["tags"]} == {
        "Headrace.layer=clean",
        "Tier.Tier2",
        "Business.Order",
    }
    assert proposed(shop)["tags", ""].value == {
        "layer": "clean",
        "tier": "Tier2",
        "glossary": "Business.Order",
    }
    tags = {"layer": "clean", "tier": "Tier2", "glossary": "Business.Order"}
    register(shop, [replace(ORDERS, tags=tags), SALES], PROCESSES)
    sync()
    assert proposed(shop) == {}
    assert {each["tagFQN"] for each in table["tags"]} == {
        "Headrace.layer=clean",
        "Tier.Tier2",
        "Business.Order",
    }


def test_deprecation_comes_in(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    server.steward(server.find("table", TABLE), entityStatus="Deprecated")
    sync()
    assert proposed(shop)["status", ""].value == "DEPRECATED"


def test_own_changes_do_not_come_back(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    register(shop, [replace(ORDERS, description="All orders"), SALES], PROCESSES)
    sync()
    server.requests.clear()
    assert sync().counts == {}
    assert patches(server) == []
    assert proposed(shop) == {}


def test_a_change_and_its_withdrawal_leave_nothing(shop: Engine, sync: Sync, server: Contract) -> None:
    sync()
    sales = server.find("table", f"{SERVICE}.sales")
    server.steward(sales, description="Draft")
    sync()
    assert ("description", "") in proposed(shop)
    server.steward(server.find("table", f"{SERVICE}.sales"), description="")
    sync()
    assert proposed(shop) == {}


def test_resolutions_of_incidents_come_in(shop: Engine, sync: Sync, server: Contract, draft: Draft) -> None:
    failed = CheckResult("email_ok", CheckStatus.WARN, 2)
    publish(shop, None, [draft("shop/orders", columns=ORDERS.columns, checks=(failed,), partition="p")])
    sync()
    server.resolve(f"{TABLE}.email.email_ok", "FalsePositive", "Known test accounts")
    assert sync().proposed == 1
    change = proposed(shop)["check:email_ok", ""]
    assert change.value == {
        "incident": "resolved",
        "reason": "FalsePositive",
        "comment": "Known test accounts",
    }
    assert change.by == "ada"
    assert sync().proposed == 0


def test_a_bot_that_may_not_read_events_still_sends(shop: Engine, sync: Sync, server: Contract) -> None:
    def refuse(request: Request) -> None:
        if request.path == "events":
            raise Refused(403, "Principal is not allowed")

    sync()
    server.before = refuse
    register(shop, [replace(ORDERS, description="All orders"), SALES], PROCESSES)
    (problem,) = sync().problems
    assert problem.startswith("what stewards changed cannot be read")
    assert server.find("table", TABLE)["description"] == "All orders"


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_only_the_right_secret_makes_the_signature() -> None:
    body = b'{"id": 1}'
    assert is_signed("secret", body, signature("secret", body))
    assert is_signed("secret", body, signature("secret", body).removeprefix("sha256="))
    for wrong in (signature("other", body), signature("secret", b"{}"), "sha256=", "", "ünicode", None):
        assert not is_signed("secret", body, wrong)


@pytest.fixture
def service(shop: Engine, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("HEADRACE_OPENMETADATA__WEBHOOK_SECRET", "a-secret")
    settings.cache_clear()
    return TestClient(application(shop))


def test_the_webhook_tells_what_to_read(
    shop: Engine, service: TestClient, sync: Sync, server: Contract
) -> None:
    sync()
    sales = server.find("table", f"{SERVICE}.sales")
    server.steward(sales, description="Sales by order")
    event = server.events.pop()  # polling would not find it
    body = json.dumps({**event, "entity": {"columns": ["x" * 100] * 5000}}).encode()
    headers = {"Content-Type": "application/json", "X-OM-Signature": signature("a-secret", body)}
    for _ in range(2):  # deliveries are repeated
        answer = service.post("/api/v1/openmetadata/events", content=body, headers=headers)
        assert (answer.status_code, answer.json()) == (200, {"stored": True})
    assert sync().proposed == 1
    assert proposed(shop)["description", ""].value == "Sales by order"


def test_the_webhook_refuses_a_wrong_signature(service: TestClient) -> None:
    body = json.dumps({"id": str(uuid4()), "entityType": "table", "timestamp": 1}).encode()
    for headers in ({}, {"X-OM-Signature": "sha256=00"}):
        answer = service.post(
            "/api/v1/openmetadata/events",
            content=body,
            headers={"Content-Type": "application/json", **headers},
        )
        assert answer.status_code == 401
    big = service.post(
        "/api/v1/openmetadata/events", content=b" " * 2**21, headers={"Content-Type": "application/json"}
    )
    assert big.status_code in (401, 413)


def test_a_signed_body_that_is_no_event_is_accepted_and_not_stored(service: TestClient) -> None:
    body = b'{"message": "Test Destination"}'
    headers = {"Content-Type": "application/json", "X-OM-Signature": signature("a-secret", body)}
    assert service.post("/api/v1/openmetadata/events", content=body, headers=headers).json() == {
        "stored": False
    }


def test_without_a_secret_there_is_no_webhook(shop: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_OPENMETADATA__WEBHOOK_SECRET", raising=False)
    settings.cache_clear()
    answer = TestClient(application(shop)).post("/api/v1/openmetadata/events", json={})
    assert answer.status_code == 404


def test_more_events_than_fit_into_an_answer_make_everything_be_read(
    shop: Engine, sync: Sync, server: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync()
    sales = server.find("table", f"{SERVICE}.sales")
    for number in range(100):
        server.steward(sales, description=f"Draft {number}")
    monkeypatch.setattr("headrace.openmetadata.client.MAX_BYTES", 20_000)
    result = sync()
    assert (result.whole, result.problems) == (True, [])
    assert proposed(shop)["description", ""].value == "Draft 99"
    monkeypatch.setattr("headrace.openmetadata.client.MAX_BYTES", 2**26)
    assert not sync().whole


@pytest.mark.parametrize(
    "odd", [{"timestamp": 2**52}, {"entityFullyQualifiedName": "x" * 4000}, {"id": "1"}, {"userName": 7}]
)
def test_an_odd_event_makes_everything_be_read(
    shop: Engine, sync: Sync, server: Contract, odd: dict[str, object]
) -> None:
    sync()
    server.steward(server.find("table", f"{SERVICE}.sales"), description="theirs")
    server.events[-1] |= odd
    result = sync()
    assert (result.whole, result.problems) == (True, [])
    assert [each.value for each in proposed_changes(shop)] == ["theirs"]
