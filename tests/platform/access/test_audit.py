"""The audit trail: complete, attributed, and append-only."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

from headrace.access import grants, tokens
from headrace.access.audit import entries
from headrace.access.callers import Permission, Role
from headrace.catalog.records import DatasetRecord
from headrace.context import act_as, current_context, organisation_named
from headrace.database.connection import transaction
from headrace.errors import Forbidden
from headrace.openlineage.renames import alias
from headrace.publishing.pins import pin, unpin
from headrace.publishing.publication import publish
from headrace.publishing.rollback import rollback
from headrace.registration.declarations import register
from headrace.slas.outages import plan_outage
from tests.platform.access.conftest import principal_of


def test_grants_and_tokens_are_noted_with_who_gave_them(engine: Engine) -> None:
    grants.grant(engine, "alice", Role.DATA_OWNER, domain="mart", by="operator:root")
    grants.revoke(engine, "alice", Role.DATA_OWNER, domain="mart", by="operator:eve")
    tokens.issue_service_token(engine, "airflow", [Permission.REPORT], by="operator:root")
    tokens.revoke_service_token(engine, "airflow", by="operator:eve")
    found = [(entry.subject, entry.action, entry.object_type, entry.object) for entry in entries(engine)]
    assert found == [
        ("operator:eve", "CHANGED", "SERVICE_TOKEN", "airflow"),
        ("operator:root", "CHANGED", "SERVICE_TOKEN", "airflow"),
        ("operator:eve", "CHANGED", "ACCESS_GRANT", "user:alice"),
        ("operator:root", "CHANGED", "ACCESS_GRANT", "user:alice"),
    ]
    newest, _, revoked, granted = entries(engine)
    assert granted.detail["role"] == "DATA_OWNER"
    assert set(revoked.detail) == {"revoked_at", "revoked_by"}
    assert revoked.detail["revoked_by"] == [None, "operator:eve"]
    assert "secret_digest" not in str([entry.detail for entry in entries(engine)])
    assert newest.audit_id > granted.audit_id


def test_using_a_token_is_no_change(engine: Engine) -> None:
    from headrace.access.authentication import caller_of

    token = tokens.issue_service_token(engine, "airflow", [Permission.REPORT], by="test")
    caller_of(engine, None, token)
    assert len(entries(engine)) == 1


def test_every_change_of_owners_is_audited(catalog: Engine) -> None:
    register(catalog, [DatasetRecord("mart/report", "csv", owners=("ann",))], [])
    with act_as(principal_of("default", "user:eve", request_id="r-1")):
        register(catalog, [DatasetRecord("mart/report", "csv", owners=("eve",), description="x")], [])
    newest, older = entries(catalog, object_name="mart/report")
    assert (newest.subject, newest.request_id) == ("user:eve", "r-1")
    assert newest.detail["owners"] == [["ann"], ["eve"]]
    assert older.subject.startswith("database:")


def test_registering_the_same_again_is_no_change(catalog: Engine) -> None:
    for _ in range(2):
        register(catalog, [DatasetRecord("mart/report", "csv", owners=("ann",))], [])
    assert len(entries(catalog, object_name="mart/report")) == 1


def test_a_registration_and_its_review_are_noted(two: Any) -> None:
    with act_as(principal_of("default", "user:ann")), transaction(two) as cursor:
        cursor.execute(
            "INSERT INTO catalog.dataset_registration (organisation_id, dataset_id, submitted_by) "
            "SELECT organisation_id, dataset_id, 'user:ann' FROM catalog.dataset WHERE full_name = 'mart/report'"
        )
    with act_as(principal_of("default", "user:bob")), transaction(two) as cursor:
        cursor.execute("UPDATE catalog.dataset_registration SET status = 'APPROVED', reviewer = 'user:bob'")
        cursor.execute("UPDATE catalog.dataset_registration SET status = 'APPROVED'")  # which changes nothing
    found = [entry for entry in entries(two) if entry.object_type == "DATASET_REGISTRATION"]
    assert [entry.subject for entry in found] == ["user:bob", "user:ann"]
    assert found[0].detail["status"] == ["PENDING", "APPROVED"]


def test_what_people_decide_about_data_is_noted(two: Any, draft: Any) -> None:
    publish(two, None, [draft("mart/report", tag="one")])
    publish(two, None, [draft("mart/report", tag="two", generation=1)])
    at = datetime(2026, 12, 5, tzinfo=UTC)
    known = len(entries(two))
    with act_as(principal_of("default", "user:ann")):
        pin(two, "mart/report", "one", by="user:ann", reason="it is right")
        unpin(two, "mart/report", by="user:ann")
        rollback(two, "mart/report", None, "one", by="user:ann", reason="the other is wrong")
        plan_outage(two, "mart/*", at, at + timedelta(hours=1), "the cluster moves", "user:ann")
    alias(
        two,
        current_context().organisation_id,
        "mart/report",
        "db#report",
        by="user:ann",
        reason="so it is called",
    )
    found = list(reversed(entries(two)))[known:]
    assert [entry.object_type for entry in found] == [
        "DATASET_PIN",
        "DATASET_PIN",
        "POINTER_MOVE",
        "PLANNED_OUTAGE",
        "DATASET_NAME_CHANGE",
    ]
    assert {entry.subject for entry in found[:4]} == {"user:ann"}
    assert entries(two, object_name="mart/report")[:3] == list(reversed(found[:3]))
    assert found[1].detail["unpinned_by"] == [None, "user:ann"]
    assert found[4].detail["changed_by"] == "user:ann"


def test_who_is_at_an_alert_is_noted(two: Any) -> None:
    with act_as(principal_of("default", "user:ann")), transaction(two) as cursor:
        cursor.execute(
            "INSERT INTO catalog.alert (alert_id, organisation_id, subject_type, subject, dataset_id, owners, kind, "
            "severity, state, at, opened_at, facts, affected, round, event_count) "
            "SELECT gen_random_uuid(), organisation_id, 'DATASET', full_name, dataset_id, '{}', 'LATE', 'ERROR', "
            "'OPEN', now(), now(), '{}', '{}', 0, 1 FROM catalog.dataset WHERE full_name = 'mart/report'"
        )
        cursor.execute("UPDATE catalog.alert SET round = 1")
        cursor.execute("UPDATE catalog.alert SET state = 'ACKNOWLEDGED', acknowledged_by = 'user:ann'")
    [noted] = [entry for entry in entries(two) if entry.object_type == "ALERT"]
    assert (noted.subject, noted.object) == ("user:ann", "mart/report")
    assert noted.detail["acknowledged_by"] == [None, "user:ann"]


@pytest.mark.parametrize(
    "change", ["UPDATE catalog.audit_entry SET subject = 'x'", "DELETE FROM catalog.audit_entry"]
)
def test_the_audit_trail_cannot_be_changed(engine: Engine, change: Any) -> None:
    grants.grant(engine, "alice", Role.DATA_OWNER, by="test")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), transaction(engine) as cursor:
        cursor.execute(change)
    with act_as(principal_of("default")), pytest.raises(Forbidden), transaction(engine) as cursor:
        cursor.execute(change)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), transaction(engine) as cursor:
        cursor.execute("TRUNCATE catalog.audit_entry")


@pytest.mark.parametrize("column", ["subject", "at"])
def test_no_caller_signs_as_another_or_for_another_time(two: Any, column: Any) -> None:
    value = "now()" if column == "at" else "'user:bob'"
    with act_as(principal_of("default")), pytest.raises(Forbidden), transaction(two) as cursor:
        cursor.execute(
            f"INSERT INTO catalog.audit_entry (organisation_id, action, object_type, object, detail, {column}) "  # noqa: S608
            f"VALUES (%s, 'READ', 'x', 'x', '{{}}', {value})",
            [organisation_named("default")],
        )


def test_the_trail_is_read_by_organisation_subject_and_page(two: Any) -> None:
    for number in range(3):
        grants.grant(two, f"u{number}", Role.DATA_CONSUMER, organisation="acme", by=f"operator:{number}")
    found = entries(two, organisation="acme", limit=2)
    assert [entry.object for entry in found] == ["user:u2", "user:u1"]
    older = entries(two, organisation="acme", before=found[-1].audit_id)
    assert older[0].object == "user:u0"
    assert [entry.subject for entry in entries(two, organisation="acme", subject="operator:1")] == [
        "operator:1"
    ]
    assert all(entry.object != "user:u0" for entry in entries(two))
