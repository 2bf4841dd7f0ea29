"""The application over a small catalog, and clients: one per role, and one of another organisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import ROLES, Permission, Role
from headrace.access.grants import add_organisation
from headrace.access.tokens import issue_service_token
from headrace.catalog.records import (
    Check,
    CheckResult,
    CheckStatus,
    Column,
    DatasetRecord,
    ProcessRecord,
    Publication,
    Technology,
    VersionDraft,
)
from headrace.publishing.publication import generations, publish
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from headrace.settings import settings
from tests.platform.service.dagster import StandIn, stand_in
from tests.platform.service.serving import application

OTHER = "elsewhere"
COLUMNS = (Column("id", "bigint", nullable=False), Column("delay", "double", description="minutes"))
WIDER = (*COLUMNS, Column("carrier", "string"))
DATASETS = (
    DatasetRecord("raw/flights", "parquet", columns=COLUMNS, partitions="daily", owners=("ops@example.com",)),
    DatasetRecord(
        "mart/delays",
        "parquet",
        description="How late flights were, by day",
        columns=COLUMNS,
        owners=("team:data",),
        checks=(Check("id_not_null", "not_null", "id"),),
        sla={"max_age_seconds": 3600.0},
        tags={"tier": "gold"},
    ),
    DatasetRecord("mart/report", "csv", owners=("team:board",)),
)
PROCESSES = (
    ProcessRecord("mart/delays", Technology.SPARK, inputs=("raw/flights",), outputs=("mart/delays",)),
    ProcessRecord("mart/report", Technology.SPARK, inputs=("mart/delays",), outputs=("mart/report",)),
)


@pytest.fixture
def catalog(engine: Engine) -> Engine:
    register(engine, DATASETS, PROCESSES)
    add_organisation(engine, OTHER, by="test")
    return engine


@pytest.fixture
def app(catalog: Engine) -> FastAPI:
    return application(catalog)


Ask = Callable[..., TestClient]


@pytest.fixture
def ask(app: FastAPI, catalog: Engine) -> Iterator[Ask]:
    """A client with a token for these permissions, in a domain (or all) of an organisation (or the settings' own)."""
    with TestClient(app, raise_server_exceptions=False) as open_client:
        clients: list[TestClient] = []

        def client(
            *permissions: Permission, domain: str = "*", organisation: str | None = None
        ) -> TestClient:
            token = issue_service_token(
                catalog, uuid4().hex, permissions, domain=domain, organisation=organisation, by="test"
            )
            made = TestClient(
                app, raise_server_exceptions=False, headers={"Authorization": f"Bearer {token}"}
            )
            # One portal for all, as the application's locks and tasks belong to one event loop.
            made.portal = open_client.portal
            clients.append(made)
            return made

        yield client


@pytest.fixture
def reader(ask: Ask) -> TestClient:
    """A caller who may also read sensitive fields."""
    return ask(Permission.READ, Permission.READ_SENSITIVE)


@pytest.fixture
def reporter(ask: Ask) -> TestClient:
    return ask(Permission.REPORT, Permission.READ)


@pytest.fixture
def admin(ask: Ask) -> TestClient:
    return ask(*ROLES[Role.PLATFORM_ADMIN])


@pytest.fixture
def run_id(catalog: Engine) -> UUID:
    """A run that made two versions of mart/delays, with one more column in the second, from one of raw/flights."""
    source = put(catalog, "raw/flights", "raw-1", partition="2026-01-01").version
    run = uuid4()
    with attempt(catalog, run_id=run, process_key="mart/delays", log_location="/logs/1"):
        put(catalog, "mart/delays", "first", inputs=(source.version_id,), run_id=run, key="1")
    again = uuid4()
    with attempt(catalog, run_id=again, process_key="mart/delays"):
        put(
            catalog,
            "mart/delays",
            "second",
            inputs=(source.version_id,),
            run_id=again,
            columns=WIDER,
            key="2",
        )
    return again


def put(
    engine: Engine,
    dataset: str,
    tag: str,
    *,
    partition: str | None = None,
    columns: tuple[Column, ...] = COLUMNS,
    status: CheckStatus = CheckStatus.PASS,
    key: str | None = None,
    location: str | None = None,
    byte_size: int = 100,
    format: str = "parquet",
    **given: Any,
) -> Publication:
    """Publish a version as a run would."""
    run_id = given.pop("run_id", None)
    draft = VersionDraft(
        dataset=dataset,
        partition=partition,
        tag=tag,
        location=location or f"file:/warehouse/{dataset}/{tag}",
        format=format,
        columns=columns,
        row_count=10,
        byte_size=byte_size,
        file_count=1,
        checksum="abc",
        idempotency_key=key or str(uuid4()),
        expected_generation=generations(engine, [(dataset, partition)])[dataset, partition],
        checks=(CheckResult("id_not_null", status, 0),) if dataset == "mart/delays" else (),
        **given,
    )
    return publish(engine, run_id, [draft])[0]


def run_event(
    kind: str = "COMPLETE",
    *,
    run: str | None = None,
    at: datetime | None = None,
    outputs: tuple[str, ...] = ("out",),
) -> dict[str, Any]:
    """An OpenLineage RunEvent of the job etl/load, which reads `in` and writes `outputs`."""
    return {
        "eventType": kind,
        "eventTime": (at or datetime.now(UTC)).isoformat(),
        "run": {"runId": run or str(uuid4())},
        "job": {"namespace": "etl", "name": "load"},
        "inputs": [{"namespace": "db", "name": "in"}],
        "outputs": [{"namespace": "db", "name": name} for name in outputs],
        "producer": "https://example.com/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


@pytest.fixture
def dagster(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A stand-in for Dagster, at the address of the settings."""
    with stand_in() as made:
        monkeypatch.setenv("HEADRACE_DAGSTER_URL", made.url)
        settings.cache_clear()
        yield made
