"""Server time of the pages on a large catalog.

100,000 datasets, a million versions and edges, 50,000 SLAs, of which 1,000 are late, and 1,000 open alerts. On a fresh
server in a temporary folder, over HTTP, as a signed-in consumer; also with 200 concurrent readers.
Run: python -m benchmarks.pages [--json]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine, text

from benchmarks.graph import WORDS, fill, new_engine, served, timed, wrong
from headrace.access.callers import Role
from headrace.access.grants import grant
from headrace.access.sessions import open_session
from headrace.pages.sessions import COOKIE

READERS = 200
PAUSE_SECONDS = 10.0  # of a reader between two pages
_STATEMENTS = (
    """
    INSERT INTO catalog.dataset_version (
        dataset_version_id, organisation_id, dataset_id, partition_key, version_tag, path, format, row_count, byte_size,
        file_count, checksum, schema_hash, idempotency_key, outcome, quarantine_rows, statistics, metadata_json,
        produced_at
    )
    SELECT gen_random_uuid(), organisation_id, dataset_id, '', 'v' || number, 'file:///warehouse', 'parquet', 1000,
           100000, 1, 'checksum', 'schema', full_name || number, 'PUBLISHED', 0,
           '{"id": {"min": 1, "max": 1000, "null_count": 0}}', '{}', now() - number * interval '1 day' * (1 + random())
    FROM catalog.dataset, generate_series(0, :versions - 1) AS number
    """,
    """
    INSERT INTO catalog.published_pointer (
        dataset_id, partition_key, organisation_id, dataset_version_id, generation, moved_at
    )
    SELECT dataset_id, '', organisation_id, dataset_version_id, 1, produced_at
    FROM catalog.dataset_version WHERE version_tag = 'v0'
    """,
    """
    INSERT INTO catalog.sla (organisation_id, dataset_id, definition)
    SELECT organisation_id, dataset_id, '{}' FROM catalog.dataset ORDER BY dataset_id LIMIT :slas
    """,
    """
    INSERT INTO catalog.sla_objective (
        organisation_id, sla_id, kind, dataset_id, definition, state, since, reason, deadline, next_at, evaluated_at
    )
    SELECT organisation_id, sla_id, 'DELIVERY', dataset_id, '{"deadline": "0 6 * * *"}'::jsonb,
           CASE WHEN place <= :late THEN (ARRAY['LATE', 'AT_RISK', 'MISSED'])[1 + place % 3] ELSE 'ON_TRACK' END,
           now(), 'nothing has arrived', now() + place * interval '1 second', now(), now()
    FROM (SELECT sla.*, row_number() OVER (ORDER BY sla_id) AS place FROM catalog.sla) numbered
    """,
    """
    INSERT INTO catalog.alert (
        alert_id, organisation_id, subject_type, subject, dataset_id, owners, kind, severity, state, at, opened_at,
        facts, affected, round, event_count
    )
    SELECT gen_random_uuid(), organisation_id, 'DATASET', full_name, dataset_id, owners, 'LATE', 'ERROR', 'OPEN', now(),
           now() - random() * interval '12 hours', '{"reason": "nothing has arrived"}', '{}', 0, 1
    FROM catalog.dataset ORDER BY dataset_id LIMIT :alerts
    """,
    """
    INSERT INTO catalog.process (
        organisation_id, process_key, technology, trigger_mode, owners, steps, metadata_json, declaration_hash
    )
    SELECT organisation_id, full_name, 'SPARK', 'PROCESS', owners, '[]', '{}', ''
    FROM catalog.dataset ORDER BY dataset_id LIMIT 10000
    """,
    """
    INSERT INTO catalog.process_run (
        run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, partitions
    )
    SELECT gen_random_uuid(), now() - hour * interval '3 hours', organisation_id, process_id,
           CASE WHEN random() < 0.01 THEN 'FAILED' ELSE 'SUCCESS' END, now() - hour * interval '3 hours', 1, '{}'
    FROM catalog.process, generate_series(0, 19) AS hour
    """,
)


def main(
    datasets: Annotated[int, typer.Option(help="Datasets in the catalog.")] = 100_000,
    edges: Annotated[int, typer.Option(help="Edges between them.")] = 1_000_000,
    versions: Annotated[int, typer.Option(help="Versions of each dataset.")] = 10,
    slas: Annotated[int, typer.Option(help="SLAs.")] = 50_000,
    alerts: Annotated[int, typer.Option(help="Open alerts.")] = 1_000,
    questions: Annotated[int, typer.Option(help="Visits of each page.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure, and print milliseconds."""
    chance = random.Random(1)
    with new_engine() as engine:
        names = fill(engine, datasets, edges, chance)
        _add(engine, {"versions": versions, "slas": slas, "late": alerts, "alerts": alerts})
        grant(engine, "ann", Role.DATA_CONSUMER, by="benchmark")
        with served({"Cookie": f"{COOKIE}={open_session(engine, 'ann')}", "Accept": "text/html"}) as client:
            report = {
                "cpus": os.cpu_count(),
                "datasets": datasets,
                "milliseconds": _visits(client, names, questions, chance),
                "concurrent": [_concurrent(client, names, chance, pause) for pause in (0, PAUSE_SECONDS)],
                "first_visit_bytes": _first_visit(client),
            }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


def _add(engine: Engine, sizes: dict[str, int]) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("SET LOCAL session_replication_role = replica")
        )  # no foreign keys, no triggers
        for statement in _STATEMENTS:
            connection.execute(text(statement), sizes)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")  # as autovacuum does in time


def _visits(
    client: httpx.Client, names: list[str], questions: int, chance: random.Random
) -> dict[str, dict[str, float]]:
    def visit(address: str) -> dict[str, float]:
        return timed(
            lambda: _open(
                client,
                address.format(
                    name=chance.choice(names),
                    word=chance.choice(WORDS),
                    typo=wrong(chance.choice(WORDS), chance),
                ),
            ),
            questions,
        )

    addresses = (
        "/",
        "/datasets",
        "/datasets?q={word}",
        "/datasets?q={typo}",
        "/datasets?q={word}&sla=LATE",
        "/datasets/counts",
        "/datasets/counts?q={word}",
        "/datasets/{name}",
        "/datasets/{name}/columns",
        "/datasets/{name}/versions",
        "/datasets/{name}/compare?before=v1&after=v0",
        "/datasets/{name}/checks",
        "/slas",
        "/slas?state=LATE",
        "/alerts",
        "/incidents",
        "/night",
        "/processes",
        "/processes?q={word}",
        "/lineage/{name}",
        "/lineage/{name}?depth=3",
        "/lineage/{name}?format=svg",
    )
    return {address: visit(address) for address in addresses}


def _concurrent(
    client: httpx.Client, names: list[str], chance: random.Random, pause: float
) -> dict[str, float]:
    """READERS readers at once, each of whom opens three pages, and reads `pause` seconds on average before each."""
    limits = httpx.Limits(max_connections=READERS)
    with httpx.Client(base_url=client.base_url, headers=client.headers, timeout=60, limits=limits) as shared:

        def read(name: str, pauses: list[float]) -> list[float]:
            taken = []
            for seconds, address in zip(pauses, ("/", f"/datasets/{name}", "/datasets?q=delay"), strict=True):
                time.sleep(seconds)
                taken.append(_open(shared, address))
            return taken

        pauses = [[chance.uniform(0, 2 * pause) for _ in range(3)] for _ in range(READERS)]
        began = time.perf_counter()
        with ThreadPoolExecutor(READERS) as readers:
            visits = readers.map(read, chance.choices(names, k=READERS), pauses)
            taken = [each for visit in visits for each in visit]
        seconds = time.perf_counter() - began
    return {
        "readers": READERS,
        "pause_seconds": pause,
        "pages_per_second": round(len(taken) / seconds, 1),
        "p95_ms": round(statistics.quantiles(taken, n=100)[94], 1),
    }


def _first_visit(client: httpx.Client) -> int:
    """Bytes of the home page with its styles and scripts, as sent."""
    page = client.get("/").text
    files = {part.split('"')[0] for part in page.split('="') if part.startswith("/static/")}
    return len(page.encode()) + sum(len(client.get(file).content) for file in sorted(files))


def _open(client: httpx.Client, address: str) -> float:
    began = time.perf_counter()
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.text[:500])
    return (time.perf_counter() - began) * 1000


def _show(report: dict[str, Any]) -> None:
    table = Table("page", "p50 ms", "p95 ms", "p99 ms")
    for name, taken in report["milliseconds"].items():
        table.add_row(name, *(str(taken[cut]) for cut in ("p50", "p95", "p99")))
    console = Console(width=120)
    console.print(table)
    console.print(
        f"{report['datasets']:,} datasets, {report['cpus']} CPUs; concurrent: {report['concurrent']}; first visit: "
        f"{report['first_visit_bytes']:,} bytes"
    )


if __name__ == "__main__":
    typer.run(main)
