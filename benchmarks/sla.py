"""Duration of one tick: 50,000 objectives on 20,000 datasets and their processes, evaluated, forecast and stored.

On a fresh server in a temporary folder, with 60 days of history. Run: python -m benchmarks.sla [--json]
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from headrace import garbage_collection
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import embedded
from headrace.database.connection import transaction
from headrace.registration.declarations import register
from headrace.slas.tick import Tick, evaluate

NIGHT = datetime(2026, 11, 10, tzinfo=UTC)
_BATCH_SIZE = 1000  # processes
DEPTH = 10  # datasets of a chain
HOURS = (4, 5, 6, 7)  # deadlines, of which a tenth is every hour of the morning


def main(
    datasets: Annotated[int, typer.Option(help="Datasets, each made by a process.")] = 20_000,
    days: Annotated[int, typer.Option(help="Days of history.")] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure ticks of different kinds and print seconds."""
    with _catalog() as engine:
        objectives = _fill(engine, datasets, days)
        report: dict[str, Any] = {
            "cpus": os.cpu_count(),
            "datasets": datasets,
            "days": days,
            "objectives": objectives,
        }
        ticks: dict[str, Callable[[], Tick]] = {
            "first (all compiled)": lambda: evaluate(engine, NIGHT - timedelta(hours=8)),
            "learning and foreseeing": lambda: evaluate(engine, NIGHT + timedelta(hours=1)),
            "nothing new": lambda: evaluate(engine, NIGHT + timedelta(hours=1, minutes=1)),
            "half of all came": lambda: evaluate(engine, NIGHT + timedelta(hours=3)),
            "a deadline of a quarter": lambda: evaluate(engine, NIGHT + timedelta(hours=4, minutes=1)),
            "the daemon was down for six hours": lambda: evaluate(engine, NIGHT + timedelta(hours=10)),
            "all are judged, most were late": lambda: evaluate(engine, NIGHT + timedelta(days=1, hours=10)),
            "all are judged": lambda: evaluate(engine, NIGHT + timedelta(days=2, hours=10)),
        }
        report["ticks"] = {}
        for name, tick in ticks.items():
            if name.startswith("half"):
                _arrive(engine, datasets // 2, NIGHT + timedelta(hours=2))
            if name.startswith("all"):
                day = 2 if name == "all are judged" else 1
                _arrive(engine, datasets, NIGHT + timedelta(days=day, hours=3), with_runs=True)
            began = time.perf_counter()
            with garbage_collection.paused():  # as the sensor does
                found = tick()
            report["ticks"][name] = {
                "seconds": round(time.perf_counter() - began, 2),
                "evaluated": found.evaluated,
                "forecasted": found.predicted,
                "events": sum(found.events.values()),
            }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return
    typer.echo(f"{objectives:,} objectives over {datasets:,} datasets, {days} days of history")
    for name, row in report["ticks"].items():
        typer.echo(
            f"{name:36} {row['seconds']:6.2f} s "
            f"{row['evaluated']:6} evaluated {row['forecasted']:4} forecast {row['events']:6}"
        )


@contextmanager
def _catalog() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="headrace-benchmark-") as home:
        url = embedded.start(Path(home))
        engine = database.engine_for(url)
        try:
            database.migrate(engine)
            yield engine
        finally:
            engine.dispose()
            embedded.stop(Path(home))


def _fill(engine: Engine, count: int, days: int) -> int:
    """Create chains of datasets with two or three objectives each; versions and runs of some weeks."""
    miss_probability = random.Random(7)
    records, processes, objectives = [], [], 0
    for number in range(count):
        sla: dict[str, Any] = {
            "deadline": f"0 {miss_probability.choice(HOURS)} * * *",
            "timezone": "Europe/London",
            "min_rows": 5,
        }
        limits = {"max_run_seconds": 3600.0} if number % 2 == 0 else None
        objectives += 3 if limits else 2
        key = f"domain{number % 50}/set{number}"
        source = (f"domain{(number - 1) % 50}/set{number - 1}",) if number % DEPTH else ()
        records.append(DatasetRecord(key, "parquet", owners=(f"team:{number % 40}",), sla=sla))
        processes.append(ProcessRecord(key, Technology.SPARK, inputs=source, outputs=(key,), sla=limits))
    register(engine, records, ())
    for place in range(0, count, _BATCH_SIZE):  # a server without statistics takes minutes for all at once
        register(engine, (), processes[place : place + _BATCH_SIZE])
        if not place:
            _analyse(engine)
    with transaction(engine) as cursor:
        parameters = {
            "days": days,
            "night": NIGHT,
            "depth": DEPTH,
            "organisation": current_context().organisation_id,
        }
        cursor.execute(_VERSIONS, parameters)
        cursor.execute(_RUNS, {"since": NIGHT - timedelta(days=days + 1), "until": NIGHT})
    _analyse(engine)
    return objectives


def _analyse(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        session.exec_driver_sql("VACUUM ANALYZE")


_VERSIONS = """
INSERT INTO catalog.dataset_version (
    dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
    file_count, checksum, schema_hash, idempotency_key, outcome, quarantine_rows, statistics,
        metadata_json, produced_at)
SELECT gen_random_uuid(), organisation_id, dataset_id, '', 'v' || day, '', 'parquet', 1000, 1000, 1, '', 'h',
       dataset_id::text || day, 'PUBLISHED', 0, '{}', '{}',
       %(night)s::timestamptz - day * interval '1 day' + interval '100 minutes'
           + (substr(name, 4)::int %% %(depth)s) * interval '10 minutes' + random() * interval '5 minutes'
FROM catalog.dataset CROSS JOIN generate_series(1, %(days)s) AS day
"""
_RUNS = """
INSERT INTO catalog.process_run (run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, partitions)
SELECT gen_random_uuid(), version.produced_at - interval '8 minutes', version.organisation_id, process.process_id,
       'SUCCESS', version.produced_at, 1, '{}'
FROM catalog.dataset_version version
JOIN catalog.dataset USING (dataset_id)
JOIN catalog.process ON process.process_key = dataset.full_name
WHERE version.produced_at >= %(since)s AND version.produced_at <= %(until)s
"""
_ARRIVALS = """
WITH chosen AS (
    SELECT organisation_id, dataset_id, gen_random_uuid() AS id FROM catalog.dataset
    WHERE substr(name, 4)::int < %(count)s
), stored AS (
    INSERT INTO catalog.dataset_version (
        dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count,
        byte_size, file_count, checksum, schema_hash, idempotency_key, outcome, quarantine_rows, statistics,
        metadata_json, produced_at)
    SELECT id, organisation_id, dataset_id, '', id::text, '', 'parquet', 1000, 1000, 1, '', 'h', id::text,
           'PUBLISHED', 0, '{}', '{}', %(at)s
    FROM chosen
)
INSERT INTO catalog.outbox (organisation_id, topic, payload_json)
SELECT organisation_id, 'version.published', jsonb_build_object('version_id', id) FROM chosen
"""


def _arrive(engine: Engine, count: int, at: datetime, *, with_runs: bool = False) -> None:
    with transaction(engine) as cursor:
        cursor.execute(_ARRIVALS, {"count": count, "at": at})
        if with_runs:
            cursor.execute(_RUNS, {"since": at, "until": at})


if __name__ == "__main__":
    typer.run(main)
