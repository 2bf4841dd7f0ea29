"""Duration of `headrace status` on a large catalog: 2,000 datasets, 1,000,000 versions, 500,000 published partitions.

On a fresh server in a temporary folder; the command runs as a process, with and without a warm cache of the database.
Run: python -m benchmarks.status [--json]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Engine, text

from headrace import queries
from headrace.catalog.records import Column, DatasetRecord, ProcessRecord, Technology
from headrace.database import connection as database
from headrace.database import embedded
from headrace.registration.declarations import register

_VERSIONS = """
INSERT INTO catalog.dataset_version
SELECT gen_random_uuid(), organisation_id, dataset_id, to_char(date '2024-01-01' + day, 'YYYY-MM-DD'),
       attempt || '-' || day,
       'file:///warehouse', 'parquet', 1000, 100000, 1, 'checksum', 'schema', 'code', 'work', gen_random_uuid(),
       concat_ws('|', full_name, day, attempt), 'PUBLISHED', NULL, NULL, 0,
       '{"id": {"min": 1, "max": 1000, "null_count": 0}, "name": {"min": "aaaa", "max": "zzzz", "null_count": 3}}',
       '{}',
       now() - (:days - day) * interval '1 hour' + attempt * interval '1 minute', NULL
FROM catalog.dataset, generate_series(0, :days - 1) day, generate_series(1, 2) attempt
WHERE partitions IS NOT NULL
"""
_POINTERS = """
INSERT INTO catalog.published_pointer
SELECT dataset_id, partition_key, organisation_id, dataset_version_id, 2, produced_at
FROM catalog.dataset_version WHERE version_tag LIKE '2-%'
"""
_CHECKS = """
INSERT INTO catalog.quality_check_result
SELECT dataset_version_id, name, organisation_id, CASE WHEN random() < 0.01 THEN 'WARN' ELSE 'PASS' END, 0, '{}',
       produced_at
FROM catalog.dataset_version, unnest(ARRAY['one', 'two']) name
"""
_RUNS = """
INSERT INTO catalog.process_run
SELECT gen_random_uuid(), now() - hour * interval '1 hour', organisation_id, process_id, 'SUCCESS', now(), 1,
       NULL, NULL,
       '{}'
FROM catalog.process, generate_series(0, :days - 1) hour
"""


def main(
    datasets: Annotated[int, typer.Option(help="Datasets, half of them partitioned.")] = 2_000,
    days: Annotated[
        int, typer.Option(help="Partitions of a partitioned dataset, and runs of each process.")
    ] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the query and the whole command, and print seconds."""
    with tempfile.TemporaryDirectory(prefix="headrace-status-") as folder:
        home = Path(folder)
        url = embedded.start(home)
        try:
            engine = database.engine_for(url)
            database.migrate(engine)
            _fill(engine, datasets, days)
            query = [_timed(lambda: queries.status(engine)) for _ in range(3)]
            environment = {**os.environ, "HEADRACE_DATABASE_URL": url, "HEADRACE_HOME": folder}
            command = [sys.executable, "-c", "from headrace.cli import app; app()", "status"]
            whole = [
                _timed(lambda: subprocess.run(command, env=environment, check=True, capture_output=True))
                for _ in range(3)
            ]
            engine.dispose()
        finally:
            embedded.stop(home)
    report = {
        "datasets": datasets,
        "pointers": datasets // 2 * days,
        "query": min(query),
        "command": min(whole),
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        typer.echo(
            f"{report['pointers']:,} published partitions: query {min(query):.2f} s, command {min(whole):.2f} s"
        )


def _fill(engine: Engine, datasets: int, days: int) -> None:
    columns = (Column("id", "bigint"), Column("name", "string"))
    records = [
        DatasetRecord(
            f"d{number % 40}/t{number}",
            "parquet",
            columns=columns,
            partitions="daily" if number % 2 else None,
        )
        for number in range(datasets)
    ]
    processes = [ProcessRecord(each.key, Technology.SPARK, outputs=(each.key,)) for each in records]
    register(engine, records, processes)
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))  # no foreign keys
        connection.execute(text(_VERSIONS), {"days": days})
        connection.execute(text(_POINTERS))
        connection.execute(text(_CHECKS))
        connection.execute(text(_RUNS), {"days": days})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 2)


if __name__ == "__main__":
    typer.run(main)
