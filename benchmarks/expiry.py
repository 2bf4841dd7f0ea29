"""A dataset with many versions: whether publishing and resolving stay flat, and what it costs to let them expire.

The last versions are compared with the first ones of the same run, and the expiry with a bare insert of as many rows.
On a fresh server in a temporary folder. Run: python -m benchmarks.expiry [--json]
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Engine

from headrace.catalog.records import Column, DatasetRecord, InputRequest, VersionDraft
from headrace.database import connection as database
from headrace.database import embedded
from headrace.database.connection import transaction
from headrace.publishing.expiry import expire_versions, retained_versions
from headrace.publishing.pins import resolve
from headrace.publishing.publication import generations, publish
from headrace.registration.declarations import register

KEY = "mart/orders"
KEEP = {"versions": 10, "days": 30, "month_ends": 12}
# One an hour, the newest of them now.
_SPREAD = """
UPDATE catalog.dataset_version
SET produced_at = now() - interval '1 hour' * (%(count)s - right(version_tag, 8)::integer)
"""
_SPREAD_MOVES = (
    "UPDATE catalog.pointer_move SET moved_at = now() - interval '1 hour' * (%(count)s - generation)"
)


def main(
    versions: Annotated[int, typer.Option(min=1000, help="Versions of the dataset.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        engine = database.engine_for(embedded.start(Path(folder)))
        try:
            database.migrate(engine)
            report = _measured(engine, versions)
        finally:
            engine.dispose()
            embedded.stop(Path(folder))
    typer.echo(
        json.dumps(report, indent=2)
        if as_json
        else "\n".join(f"{name}: {value}" for name, value in report.items())
    )


def _measured(engine: Engine, count: int) -> dict[str, float]:
    register(engine, [DatasetRecord(KEY, "parquet", metadata={"keep": KEEP})])
    expected = generations(engine, [(KEY, None)])[KEY, None]
    published: list[float] = []
    resolved: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        [done] = publish(engine, None, [_draft(number, expected)])
        published.append(time.perf_counter() - began)
        expected = done.generation
        began = time.perf_counter()
        resolve(engine, [InputRequest(KEY, "benchmark")])
        resolved.append(time.perf_counter() - began)
    with transaction(engine) as cursor:
        for statement in (_SPREAD, _SPREAD_MOVES):
            cursor.execute(statement, {"count": count})
        cursor.execute("ANALYZE")
    began = time.perf_counter()
    kept = sum(each.kept is not None for each in retained_versions(engine))
    planned = time.perf_counter() - began
    began = time.perf_counter()
    expired = expire_versions(engine)
    took = time.perf_counter() - began
    tenth = count // 10
    return {
        "publish, median ms of the first tenth": _milliseconds(published[:tenth]),
        "publish, median ms of the last tenth": _milliseconds(published[-tenth:]),
        "resolve, median ms of the first tenth": _milliseconds(resolved[:tenth]),
        "resolve, median ms of the last tenth": _milliseconds(resolved[-tenth:]),
        "versions that stay": kept,
        "versions that expire": len(expired),
        "plan, ms": round(planned * 1000, 1),
        "expire, ms": round(took * 1000, 1),
        "bare insert of as many rows, ms": _bare_insert(engine, len(expired)),
    }


def _draft(number: int, expected: int) -> VersionDraft:
    return VersionDraft(
        dataset=KEY,
        partition=None,
        tag=f"20260101T000000Z-{number:08}",
        location=f"/warehouse/{number}",
        format="parquet",
        columns=(Column("id", "bigint"),),
        row_count=1,
        byte_size=1,
        file_count=1,
        checksum="",
        idempotency_key=f"run/{number}",
        expected_generation=expected,
    )


def _bare_insert(engine: Engine, count: int) -> float:
    with transaction(engine) as cursor:
        cursor.execute("CREATE TABLE catalog.bare (id uuid PRIMARY KEY, at timestamptz NOT NULL)")
    began = time.perf_counter()
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.bare SELECT gen_random_uuid(), now() FROM generate_series(1, %s)", [count]
        )
    return round((time.perf_counter() - began) * 1000, 1)


def _milliseconds(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


if __name__ == "__main__":
    typer.run(main)
