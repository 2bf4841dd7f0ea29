"""A small catalog: a raw dataset, one derived from it, and one that was never published."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

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
from headrace.cli import app
from headrace.publishing.publication import generations, publish
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from headrace.severity import Severity

COLUMNS = (
    Column("id", "bigint", nullable=False),
    Column("name", "string", description="Who.", tags=("pii",)),
)
UNIQUE = Check("id_unique", "unique", parameters={"columns": ["id"]})
SHORT = Check("name_short", "str_length", "name", {"max": 5}, Severity.WARNING)

RAW = DatasetRecord(
    "shop/raw",
    "parquet",
    description="What the shop delivers.",
    owners=("team:shop",),
    tags={"layer": "raw"},
    columns=COLUMNS,
    checks=(UNIQUE,),
)
CLEAN = DatasetRecord(
    "shop/clean",
    "parquet",
    owners=("team:data",),
    tags={"layer": "clean"},
    columns=COLUMNS,
    checks=(UNIQUE, SHORT),
    partitions="daily",
    sla={"max_age_seconds": 3600.0},
    declared_at="assets/shop/defs.yaml:3",
)
OTHER = DatasetRecord("lab/other", "csv", sla={"deadline": "0 6 * * *", "timezone": "UTC"})
MAKE = ProcessRecord("shop/clean", Technology.SPARK, inputs=("shop/raw",), outputs=("shop/clean",))

Invoke = Callable[..., Result]


@pytest.fixture(autouse=True)
def _definitions_of_this_project() -> Iterator[None]:
    """A command in another project imports that one's definitions.py under the same name."""
    before = sys.modules.get("definitions")
    yield
    if before is None:
        sys.modules.pop("definitions", None)
    else:
        sys.modules["definitions"] = before


@pytest.fixture
def invoke() -> Invoke:
    """Runs `headrace` with these words; `input` answers its questions."""

    def run(*words: str, input: str | None = None) -> Result:
        return CliRunner().invoke(app, words, input=input, env={"COLUMNS": "200"})

    return run


@pytest.fixture
def ask(invoke: Invoke) -> Callable[..., Any]:
    """The JSON that a command prints; it has to succeed."""

    def run(*words: str) -> Any:
        result = invoke(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """The catalog with the three datasets registered and nothing published."""
    register(engine, [RAW, CLEAN, OTHER], [MAKE])
    return engine


def put(
    engine: Engine,
    dataset: str,
    tag: str,
    *,
    partition: str | None = None,
    inputs: tuple[UUID, ...] = (),
    checks: tuple[CheckResult, ...] = (CheckResult("id_unique", CheckStatus.PASS),),
    location: Path = Path("/nowhere"),
    run_id: UUID | None = None,
    columns: tuple[Column, ...] = COLUMNS,
    rows: int = 3,
) -> Publication:
    """Publish a version as a run would."""
    sizes = [file.stat().st_size for file in location.glob("part-*")]
    draft = VersionDraft(
        dataset=dataset,
        partition=partition,
        tag=tag,
        location=location.as_uri(),
        format="parquet",
        columns=columns,
        row_count=rows,
        byte_size=sum(sizes) if sizes else 1234,
        file_count=len(sizes) or 1,
        checksum="00",
        idempotency_key=str(uuid4()),
        expected_generation=generations(engine, [(dataset, partition)])[dataset, partition],
        inputs=inputs,
        checks=checks,
    )
    return publish(engine, run_id, [draft])[0]


@pytest.fixture
def stocked(shop: Engine, tmp_path: Path) -> tuple[Engine, UUID]:
    """Two versions of the raw dataset; two days made from the second by a run, one with a warning; the run's id."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "part-0.parquet").write_bytes(bytes(1234))
    put(shop, "shop/raw", "raw-1", location=files)
    second = put(shop, "shop/raw", "raw-2", rows=4, location=files).version
    run_id = uuid4()
    warned = (CheckResult("id_unique", CheckStatus.PASS), CheckResult("name_short", CheckStatus.WARN, 2))
    with attempt(
        shop,
        run_id=run_id,
        process_key="shop/clean",
        root_dagster_run_id="dagster-run-1",
        dagster_run_id="dagster-run-1",
        partitions=["2026-01-01", "2026-01-02"],
        log_location="/logs/1",
    ):
        put(shop, "shop/clean", "clean-1", partition="2026-01-01", inputs=(second.version_id,), run_id=run_id)
        put(
            shop,
            "shop/clean",
            "clean-1",
            partition="2026-01-02",
            inputs=(second.version_id,),
            run_id=run_id,
            checks=warned,
        )
    return shop, run_id
