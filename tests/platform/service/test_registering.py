"""Registrations are requested, and approved or rejected; requests repeated with a key take effect once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.database.connection import transaction
from tests.platform.service.conftest import Ask

ASKED: dict[str, Any] = {
    "key": "crm/customers",
    "format": "table",
    "description": "Who buys",
    "owners": ["team:crm"],
    "columns": [{"name": "email", "type": "string", "tags": ["pii"]}],
}


def test_becomes_active_when_approved(admin: TestClient) -> None:
    asked = admin.post("/api/v1/dataset/register", json=ASKED)
    assert asked.status_code == 201, asked.text
    registration = asked.json()
    assert (registration["status"], registration["dataset"]) == ("PENDING", "crm/customers")
    assert registration["submitted_by"].startswith("service:")
    draft = admin.get("/api/v1/dataset/crm/customers").json()["dataset"]
    assert (draft["status"], draft["description"]) == ("DRAFT", "Who buys")
    [waiting] = admin.get("/api/v1/registration", params={"status": "PENDING"}).json()["items"]
    assert waiting["registration_id"] == registration["registration_id"]

    path = f"/api/v1/registration/{registration['registration_id']}"
    approved = admin.post(f"{path}/approve", json={"comment": "welcome"})
    assert approved.status_code == 200, approved.text
    assert approved.json()["status"] == "APPROVED"
    assert approved.json()["reviewed_at"] is not None
    assert admin.get(path).json() == approved.json()
    active = admin.get("/api/v1/dataset/crm/customers").json()["dataset"]
    assert (active["status"], active["columns"][0]["tags"]) == ("ACTIVE", ["pii"])
    assert admin.get("/api/v1/search", params={"q": "buys"}).json()["items"][0]["key"] == "crm/customers"
    for word, body in (("approve", {}), ("reject", {"comment": "no"})):
        assert admin.post(f"{path}/{word}", json=body).status_code == 409


def test_passwords_are_never_returned(admin: TestClient, catalog: Engine) -> None:
    asked = {**ASKED, "description": "see jdbc:db2://bob:hunter2@host"}
    answers = [admin.post("/api/v1/dataset/register", json=asked, headers={"Idempotency-Key": "a"})]
    path = f"/api/v1/registration/{answers[0].json()['registration_id']}"
    answers += [
        admin.post("/api/v1/dataset/register", json=asked, headers={"Idempotency-Key": "a"}),
        admin.get(path),
        admin.post(f"{path}/approve", json={}),
    ]
    for answer in answers:
        assert "bob:***@host" in answer.text
        assert "hunter2" not in answer.text
    with transaction(catalog) as cursor:
        kept = cursor.execute("SELECT answer FROM catalog.answered_request").fetchall()
    assert "hunter2" not in str(kept)


def test_stays_a_draft_when_rejected(admin: TestClient) -> None:
    registration = admin.post("/api/v1/dataset/register", json=ASKED).json()
    path = f"/api/v1/registration/{registration['registration_id']}/reject"
    assert admin.post(path, json={}).status_code == 422
    rejected = admin.post(path, json={"comment": "it is in the mart already"}).json()
    assert (rejected["status"], rejected["comment"]) == ("REJECTED", "it is in the mart already")
    assert admin.get("/api/v1/dataset/crm/customers").json()["dataset"]["status"] == "DRAFT"
    assert admin.post("/api/v1/dataset/register", json=ASKED).status_code == 201


def test_is_asked_for_once_at_a_time(admin: TestClient) -> None:
    assert admin.post("/api/v1/dataset/register", json=ASKED).status_code == 201
    assert admin.post("/api/v1/dataset/register", json=ASKED).status_code == 409


def test_leaves_what_is_declared_alone(admin: TestClient) -> None:
    answer = admin.post("/api/v1/dataset/register", json={**ASKED, "key": "mart/delays"})
    assert answer.status_code == 409
    assert "declared" in answer.json()["detail"]


def test_does_once_what_is_sent_twice(admin: TestClient, catalog: Engine) -> None:
    headers = {"Idempotency-Key": "one"}
    first = admin.post("/api/v1/dataset/register", json=ASKED, headers=headers)
    again = admin.post("/api/v1/dataset/register", json=ASKED, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    other = admin.post("/api/v1/dataset/register", json={**ASKED, "format": "csv"}, headers=headers)
    assert other.status_code == 422
    assert other.json()["errors"][0]["field"] == "header.idempotency-key"
    with transaction(catalog) as cursor:
        rows = cursor.execute("SELECT count(*) AS rows FROM catalog.dataset_registration").fetchone()
    assert rows == {"rows": 1}
    path = f"/api/v1/registration/{first.json()['registration_id']}/approve"
    assert admin.post(path, json={}, headers={"Idempotency-Key": "two"}).status_code == 200
    assert admin.post(path, json={}, headers={"Idempotency-Key": "two"}).status_code == 200
    assert admin.post(path, json={}, headers={"Idempotency-Key": "three"}).status_code == 409


def test_belongs_to_the_domain(ask: Ask) -> None:
    owner = ask(Permission.READ, Permission.REGISTER, domain="crm")
    asked = owner.post("/api/v1/dataset/register", json=ASKED, headers={"Idempotency-Key": "mine"})
    assert asked.status_code == 201, asked.text
    assert owner.post("/api/v1/dataset/register", json={**ASKED, "key": "mart/x"}).status_code == 403
    path = f"/api/v1/registration/{asked.json()['registration_id']}/approve"
    assert owner.post(path, json={}).status_code == 403
    assert ask(Permission.READ, Permission.REVIEW, domain="mart").post(path, json={}).status_code == 404
    assert ask(Permission.READ, Permission.REVIEW, domain="crm").post(path, json={}).status_code == 200


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"key": "customers"}, "body.key"),
        ({"key": "crm//customers"}, "body.key"),
        ({"key": "crm/a\x00b"}, "body.key"),
        ({"format": ""}, "body.format"),
        ({"format": None}, "body.format"),
        ({"owners": "team:crm"}, "body.owners"),
        ({"owners": ["a\x00b"]}, "body.owners.0"),
        ({"tags": {"a": "\x00"}}, "body.tags.a"),
        ({"columns": [{"name": "a"}]}, "body.columns.0.type"),
        ({"description": "x" * 30_000}, "body.description"),
        ({"surprise": 1}, "body.surprise"),
        ({"description": "\ud800"}, "body.description"),
    ],
)
def test_names_the_field_that_is_wrong(admin: TestClient, wrong: dict[str, Any], field: str) -> None:
    import json

    answer = admin.post(
        "/api/v1/dataset/register",
        content=json.dumps({**ASKED, **wrong}),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


def test_a_request_is_approved_by_another_steward(ask: Ask) -> None:
    steward, other = (ask(Permission.READ, Permission.REGISTER, Permission.REVIEW) for _ in range(2))
    asked = steward.post("/api/v1/dataset/register", json=ASKED)
    path = f"/api/v1/registration/{asked.json()['registration_id']}/approve"
    refused = steward.post(path, json={})
    assert refused.status_code == 403
    assert "another steward, or a PLATFORM_ADMIN, must review it" in refused.json()["detail"]
    assert other.post(path, json={}).status_code == 200


@pytest.mark.parametrize(
    "key", ["dom/..", "../x", "dom/x/../y", "dom/.", "dom/<script>", "file#/etc/../passwd", "a/b\tc"]
)
def test_a_key_that_is_no_name_is_refused(admin: TestClient, key: str) -> None:
    refused = admin.post("/api/v1/dataset/register", json={**ASKED, "key": key})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "body.key"
