"""`headrace access`: roles, tokens, organisations, the audit trail."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.access.authentication import caller_of
from headrace.access.callers import ROLES, Permission, Role
from headrace.access.errors import Unauthenticated
from headrace.access.issuers import issuer
from headrace.catalog.records import RunState
from headrace.job_reports.ingestion import run_ids
from headrace.settings import settings
from tests.platform.events.run_events import job_event


def test_a_role_is_given_listed_and_taken(engine: Engine, invoke: Any, ask: Any) -> None:
    given = invoke("access", "grant", "alice", "data_owner", "--domain", "flights")
    assert given.exit_code == 0, given.output
    [row] = ask("access", "grants", "alice")
    assert (row["subject"], row["role"], row["domain"]) == ("user:alice", "DATA_OWNER", "flights")
    assert row["granted_by"].startswith("operator:")
    assert invoke("access", "revoke", "alice", "DATA_OWNER", "--domain", "flights").exit_code == 0
    assert ask("access", "grants") == []
    again = invoke("access", "revoke", "alice", "DATA_OWNER", "--domain", "flights")
    assert again.exit_code == 1
    assert "does not have DATA_OWNER" in again.output


@pytest.mark.parametrize(
    ("words", "job_event"),
    [
        (("grant", "alice", "KING"), "is not a role; use one of PLATFORM_ADMIN"),
        (("grant", "alice", "DATA_OWNER", "--organisation", "acme"), "there is no organisation 'acme'"),
        (("grant", "alice", "PLATFORM_ADMIN", "--domain", "x"), "omit the domain x"),
        (("token", "airflow", "--may", "fly"), "is not a permission; use one of read"),
        (("token", "airflow"), "Missing option '--may'"),
        (("revoke-token", "airflow"), "has no token"),
        (("dev-token", "alice"), "is not available in production"),
    ],
)
def test_refused_grants_explain_why(engine: Engine, invoke: Any, words: Any, job_event: Any) -> None:
    result = invoke("access", *words)
    assert result.exit_code in {1, 2}
    assert job_event in " ".join(result.output.replace("│", " ").split())


def test_a_token_is_printed_once_and_opens(engine: Engine, invoke: Any, ask: Any) -> None:
    result = invoke("access", "token", "airflow", "--may", "report", "--may", "read", "--days", "7")
    token = result.stdout.strip()
    assert caller_of(engine, None, token).may(Permission.REPORT)
    listed = ask("access", "tokens")
    assert [row["name"] for row in listed] == ["airflow"]
    assert token not in str(listed)
    assert token.split("_", 2)[2] not in str(ask("access", "audit"))
    assert invoke("access", "revoke-token", "airflow").exit_code == 0
    with pytest.raises(Unauthenticated):
        caller_of(engine, None, token)
    assert ask("access", "tokens") == []


def test_a_run_gets_a_token(engine: Engine, invoke: Any) -> None:
    run_id = uuid4()
    words = ("access", "task-token", str(run_id), "--output", "mart/delays", "--input", "raw/flights")
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    capability = caller_of(engine, None, result.stdout.strip()).capability
    assert (capability.run_id, capability.outputs, capability.inputs) == (
        run_id,
        {"mart/delays"},
        {"raw/flights"},
    )


def test_a_run_of_another_system_gets_a_token_by_its_number(engine: Engine, invoke: Any) -> None:
    words = ("access", "task-token", "4711", "--process", "LOAD_FLIGHTS", "--output", "ops/flights")
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    [run] = run_ids(engine, [job_event("LOAD_FLIGHTS", RunState.RUNNING, run="4711")])
    assert caller_of(engine, None, result.stdout.strip()).capability.run_id == run
    assert "is not a run id" in invoke("access", "task-token", "4711").output
    assert "is not a technology" in invoke(*words, "--technology", "COBOL").output


def test_a_user_of_this_machine_gets_a_token(
    engine: Engine, invoke: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_PRODUCTION", "false")
    settings.cache_clear()
    invoke("access", "grant", "alice", "DATA_STEWARD")
    token = invoke("access", "dev-token", "alice").stdout.strip()
    assert caller_of(engine, issuer(settings()), token).roles == (Role.DATA_STEWARD,)


def test_organisations_are_made_and_listed(engine: Engine, invoke: Any, ask: Any) -> None:
    assert "created" in invoke("access", "organisation", "acme").output
    assert "already exists" in invoke("access", "organisation", "acme").output
    assert "acme" in ask("access", "organisation")
    assert invoke("access", "grant", "bob", "DATA_CONSUMER", "-o", "acme").exit_code == 0
    assert [row["organisation"] for row in ask("access", "grants")] == ["acme"]
    assert [entry["object"] for entry in ask("access", "audit", "-o", "acme")] == ["user:bob"]
    assert ask("access", "audit") == []


def test_the_roles_are_listed_as_they_are(engine: Engine, invoke: Any, ask: Any) -> None:
    assert {role: set(may) for role, may in ask("access", "roles").items()} == {
        role: {permission.value for permission in ROLES[role]} for role in Role
    }
    assert "PLATFORM_ADMIN" in invoke("access", "roles").output


def test_the_trail_is_shown(engine: Engine, invoke: Any) -> None:
    invoke("access", "grant", "alice", "DATA_OWNER")
    shown = invoke("access", "audit", "--subject", "nobody").output
    assert "alice" not in shown
    shown = invoke("access", "audit", "--of", "user:alice").output
    assert "ACCESS_GRANT" in shown
    assert "CHANGED" in shown
