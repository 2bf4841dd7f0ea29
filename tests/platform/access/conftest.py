"""Two organisations in one catalog, and callers of each."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.access import grants
from headrace.access.callers import EVERY_DOMAIN, ROLES, Caller, CallerKind, Grant, Permission, Role
from headrace.catalog.column_lineage import ColumnLineage, LineageOfOutput
from headrace.catalog.records import Column, DatasetRecord, ProcessRecord, Technology, VersionDraft
from headrace.context import Principal, act_as, organisation_named
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from headrace.settings import settings
from headrace.slas.tick import evaluate

SECRETS = (
    Column("email", "string", tags=("PII",)),
    Column("amount", "double"),
)
SQL = "SELECT * FROM people WHERE email = 'ann@example.com'"
STATISTICS = {
    "email": {"null_count": 0, "min": "ann@example.com", "max": "zoe@example.com"},
    "amount": {"null_count": 1, "min": 0.5, "max": 9.5},
}


@pytest.fixture
def two(catalog: Engine, draft: Any) -> Engine:
    """Organisation `default` with raw/flights -> mart/delays -> mart/report, and crm/people (with PII and an SLA),
    with versions and runs; organisation `acme` with mart/delays and hr/people of its own."""
    register(
        catalog,
        [DatasetRecord("crm/people", "parquet", columns=SECRETS, sla={"max_age_seconds": 86_400})],
        [ProcessRecord("crm/people", Technology.SPARK, outputs=("crm/people",), source=SQL)],
    )
    [read] = publish(catalog, None, [draft("raw/flights", partition="2013-01-01")])
    _run(catalog, draft("mart/delays", inputs=(read.version.version_id,)))
    lineage = LineageOfOutput(tuple(ColumnLineage(column.name) for column in SECRETS))
    _run(catalog, draft("crm/people", columns=SECRETS, statistics=STATISTICS, lineage=lineage))
    evaluate(catalog)
    grants.add_organisation(catalog, "acme", by="test")
    with act_as(principal_of("acme")):
        register(
            catalog,
            [DatasetRecord("mart/delays", "parquet"), DatasetRecord("hr/people", "parquet", columns=SECRETS)],
            [ProcessRecord("mart/delays", Technology.SPARK, inputs=("hr/people",), outputs=("mart/delays",))],
        )
    return catalog


def _run(engine: Engine, draft: VersionDraft) -> None:
    run_id = uuid4()
    with attempt(engine, run_id=run_id, process_key=draft.dataset):
        publish(engine, run_id, [draft])


def principal_of(organisation: str, subject: str = "user:test", **given: Any) -> Principal:
    return Principal(organisation_named(organisation), organisation, subject, **given)


def caller(*roles: Role, domain: str = EVERY_DOMAIN, organisation: str = "default") -> Caller:
    """A user with these roles in the domain."""
    return Caller(
        "user:test",
        CallerKind.USER,
        organisation_named(organisation),
        organisation,
        tuple(Grant(domain, ROLES[role], role) for role in roles),
    )


def service(*permissions: Permission, domain: str = EVERY_DOMAIN) -> Caller:
    return replace(
        caller(),
        subject="service:test",
        kind=CallerKind.SERVICE,
        grants=(Grant(domain, frozenset(permissions)),),
    )


@pytest.fixture
def development(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Issues users' tokens; the machine is not in production."""
    from headrace.access.issuers import DevelopmentIssuer

    monkeypatch.setenv("HEADRACE_PRODUCTION", "false")
    settings.cache_clear()
    return DevelopmentIssuer(settings()).issue
