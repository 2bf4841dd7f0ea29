"""A catalog and a server with OpenMetadata's contract, and a function that synchronises one with the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Check, Column, DatasetRecord, ProcessRecord, Technology
from headrace.openmetadata.client import Client
from headrace.openmetadata.session import SynchronisationResult
from headrace.openmetadata.synchronisation import synchronise
from headrace.registration.declarations import register
from headrace.settings import OpenMetadataSettings
from headrace.severity import Severity
from tests.platform.openmetadata import real
from tests.platform.openmetadata.contract import VERSIONS
from tests.platform.openmetadata.server import TOKEN, Contract, transport

ORDERS = DatasetRecord(
    "shop/orders",
    "parquet",
    description="Orders of the shop",
    owners=("team:flight_data", "ops@example.com"),
    tags={"layer": "clean", "tier": "1"},
    columns=(
        Column("id", "bigint", nullable=False, description="Number of the order"),
        Column("email", "string", tags=("pii",)),
        Column("lines", "array<struct<sku:string,price:decimal(10,2)>>"),
    ),
    checks=(
        Check("id_unique", "unique", "id"),
        Check("email_ok", "str_matches", "email", {"pattern": "@"}, Severity.WARNING),
    ),
    partitions="daily",
)
SALES = DatasetRecord(
    "shop/sales",
    "parquet",
    columns=(Column("id", "bigint"), Column("total", "double", description="In euros")),
)
PROCESSES = (
    ProcessRecord("shop/sales", Technology.SPARK, inputs=("shop/orders",), outputs=("shop/sales",)),
    ProcessRecord(
        "AUTOSYS/box/load_orders", Technology.AUTOSYS, outputs=("shop/orders",), description="Loads orders"
    ),
)
SERVICE = "headrace.default.shop"
Sync = Callable[..., SynchronisationResult]


both_generations = pytest.mark.parametrize("server", VERSIONS, indirect=True)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Contract:
    """A server of the newest generation, unless the test asks for both; or a real one."""
    return real.real_server() if real.URL else Contract(version=getattr(request, "param", VERSIONS[-1]))


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """The catalog: shop/orders, loaded by a job of Autosys, and shop/sales made from it."""
    register(engine, [ORDERS, SALES], PROCESSES)
    return engine


@pytest.fixture
def sync(shop: Engine, server: Contract) -> Sync:
    """Synchronise once."""

    def run(**given: Any) -> SynchronisationResult:
        settings = OpenMetadataSettings.model_validate({"url": "http://om/api", **given.pop("settings", {})})
        token = server.token if isinstance(server, real.RealServer) else TOKEN
        client = Client("http://om/api", token, transport=transport(server), pause=lambda _: None)
        return synchronise(shop, client, settings, **given)

    return run
