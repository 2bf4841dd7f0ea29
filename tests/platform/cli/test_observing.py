"""`headrace observe`: new versions, missing files, unobserved datasets, and errors."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Column, DatasetRecord
from headrace.execution.plan import ExternalPlan
from headrace.settings import settings
from tests.platform.cli.conftest import Invoke

COLUMNS = (Column("id", "int"),)


def external(name: str, location: str | None, format: str = "json") -> ExternalPlan:
    record = DatasetRecord(key=f"shop/{name}", format=format, columns=COLUMNS)
    return ExternalPlan(record, location=location)


@pytest.fixture
def landed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file that is in order, and datasets of which there is nothing."""
    plans = [
        external("orders", "orders.json"),
        external("late", "late.json"),
        external("people", None),
        external("ledger", "PROD.LEDGER", "db2"),
    ]
    monkeypatch.setattr("definitions.loaded", SimpleNamespace(plans=plans))
    monkeypatch.setattr(
        "headrace.local.environment.dagster_instance", lambda: nullcontext(dg.DagsterInstance.ephemeral())
    )
    settings().home.mkdir(parents=True, exist_ok=True)
    (settings().home / "orders.json").write_text('{"id": 1}\n{"id": 2}\n')


@pytest.mark.usefixtures("landed")
def test_for_people(invoke: Invoke) -> None:
    done = invoke("observe")
    assert done.exit_code == 0, done.output
    assert "shop/orders: 1 new, 2 rows" in done.stdout
    assert f"shop/late: nothing at file://{settings().home.resolve()}/late.json yet" in done.stdout
    assert "shop/people (no location), shop/ledger (format db2)" in done.stdout
    assert invoke("observe", "shop/people").stdout.startswith("No new files.\nNot observed")
    assert "Not observed" not in invoke("observe", "shop/orders").stdout


@pytest.mark.usefixtures("landed")
def test_for_scripts(invoke: Invoke) -> None:
    (settings().home / "late.json").write_text("none\n")
    done = invoke("observe", "--json")
    assert done.exit_code == 1
    reported = json.loads(done.stdout)
    assert [(new["dataset"], new["rows"]) for new in reported["new"]] == [("shop/orders", 2)]
    assert "line 1 is not valid JSON" in reported["problems"][0]
    assert len(reported["waiting"]) == 1
    assert "late.json" in done.stderr
