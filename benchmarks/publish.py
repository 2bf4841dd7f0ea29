"""Publishing throughput, compared with a bare one-row insert (the floor) and one statement per row (the plain way).

The three take turns in the same run, on a fresh server in a temporary folder with PostgreSQL's durable defaults
(synchronous_commit and fsync on). Run: python -m benchmarks.publish [--json]
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine

from headrace.catalog.records import (
    Check,
    CheckResult,
    CheckStatus,
    Column,
    DatasetRecord,
    Outcome,
    ProcessRecord,
    Technology,
    VersionDraft,
)
from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import embedded
from headrace.database.jsonb import jsonb
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register

COLUMNS = tuple(Column(f"column_{number}", "bigint") for number in range(20))
CHECKS = tuple(CheckResult(f"check_{number}", CheckStatus.PASS, 0) for number in range(10))
STATISTICS = {column.name: {"null_count": 0, "min": 1, "max": 1_000_000} for column in COLUMNS}
BACKFILL = 365

Case = Callable[[Engine, str, str], None]


def main(
    rounds: Annotated[int, typer.Option(help="Turns of each case.")] = 5,
    seconds: Annotated[float, typer.Option(help="Length of a turn.")] = 3.0,
    threads: Annotated[int, typer.Option(help="Threads that share the pool.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print medians, p99 and ratios."""
    cases: dict[str, Case] = {"publish": _publish, "row by row": _row_by_row, "bare insert": _bare_insert}
    with _catalog(threads) as (engine, durability):
        samples: dict[str, list[tuple[float, list[float]]]] = {name: [] for name in cases}
        for _ in range(rounds):
            for name, case in cases.items():
                samples[name].append(_turn(engine, case, seconds, threads))
        report: dict[str, Any] = {
            "cpus": os.cpu_count(),
            "threads": threads,
            **durability,
            "cases": {name: _summary(turns) for name, turns in samples.items()},
            "backfill": _backfill(engine, rounds),
        }
    rates = {name: case["per_second"] for name, case in report["cases"].items()}
    report["publish_to_bare_insert"] = round(rates["publish"] / rates["bare insert"], 3)
    report["publish_to_row_by_row"] = round(rates["publish"] / rates["row by row"], 2)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


@contextmanager
def _catalog(threads: int) -> Iterator[tuple[Engine, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        engine = database.engine_for(embedded.start(home), pool_size=threads)
        try:
            database.migrate(engine)
            register(
                engine,
                [
                    DatasetRecord(
                        key,
                        "parquet",
                        columns=COLUMNS,
                        checks=tuple(Check(check.name, "not_null", "column_0") for check in CHECKS),
                    )
                    for key in ("bench/input", "bench/output")
                ],
                [
                    ProcessRecord(
                        "bench/output", Technology.SPARK, inputs=("bench/input",), outputs=("bench/output",)
                    )
                ],
            )
            with database.transaction(engine) as cursor:
                cursor.execute(
                    "CREATE TABLE public.floor (id uuid PRIMARY KEY, at timestamptz DEFAULT now())"
                )
                cursor.execute(
                    "SELECT current_setting('synchronous_commit') AS synchronous_commit, "
                    "current_setting('fsync') AS fsync, version() AS server"
                )
                durability = cursor.fetchone()
            yield engine, dict(durability or {})
        finally:
            engine.dispose()
            embedded.stop(home)


def _turn(engine: Engine, case: Case, seconds: float, threads: int) -> tuple[float, list[float]]:
    """Completions a second of all threads, and the seconds that each call took."""
    deadline = time.perf_counter() + seconds

    def work() -> list[float]:
        taken = []
        while (began := time.perf_counter()) < deadline:
            case(engine, uuid4().hex, "")
            taken.append(time.perf_counter() - began)
        return taken

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        taken = [each for future in [pool.submit(work) for _ in range(threads)] for each in future.result()]
    return len(taken) / (time.perf_counter() - began), taken


def _draft(partition: str, tag: str, **given: Any) -> VersionDraft:  # noqa: ANN401 - fields of the draft
    return VersionDraft(
        dataset="bench/output",
        partition=partition,
        tag=tag,
        location=f"file:/warehouse/bench/output/{tag}/partition={partition}",
        format="parquet",
        columns=COLUMNS,
        row_count=1_000_000,
        byte_size=64_000_000,
        file_count=4,
        checksum="0" * 64,
        idempotency_key=f"{tag}/bench/output/{partition}",
        expected_generation=0,
        checks=CHECKS,
        statistics=STATISTICS,
        code_version="1",
        fingerprint="0" * 64,
        **given,
    )


def _publish(engine: Engine, partition: str, tag: str) -> None:
    """One draft with 20 columns' statistics and ten check results."""
    (publication,) = publish(engine, None, [_draft(partition, "tag")])
    assert publication.outcome is Outcome.PUBLISHED


def _row_by_row(engine: Engine, partition: str, tag: str) -> None:
    """The same rows as `_publish`, one statement each."""
    draft = _draft(partition, "tag")
    version, organisation = uuid4(), current_context().organisation_id
    with database.transaction(engine) as cursor:
        run = cursor.execute
        dataset = run(
            "SELECT dataset_id FROM catalog.dataset WHERE full_name = %s", [draft.dataset]
        ).fetchone()
        assert dataset is not None
        place = [dataset["dataset_id"], partition]
        run("SELECT 1 FROM catalog.dataset_version WHERE idempotency_key = %s", [draft.idempotency_key])
        run(
            "INSERT INTO catalog.published_pointer (dataset_id, partition_key, organisation_id) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [*place, organisation],
        )
        run(
            "SELECT generation FROM catalog.published_pointer WHERE dataset_id = %s AND partition_key = %s FOR UPDATE",
            place,
        )
        run(
            "INSERT INTO catalog.dataset_version VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, NULL, "
            "%s, 'PUBLISHED', NULL, NULL, 0, %s, '{}', now())",
            [
                version,
                organisation,
                *place,
                draft.tag,
                draft.location,
                draft.format,
                draft.row_count,
                draft.byte_size,
                draft.file_count,
                draft.checksum,
                "hash",
                draft.code_version,
                draft.fingerprint,
                draft.idempotency_key,
                jsonb(draft.statistics),
            ],
        )
        for check in draft.checks:
            run(
                "INSERT INTO catalog.quality_check_result VALUES (%s, %s, %s, %s, %s, %s, now())",
                [version, check.name, organisation, check.status, check.failed_rows, jsonb(check.detail)],
            )
        run(
            "UPDATE catalog.published_pointer SET dataset_version_id = %s, generation = 1, moved_at = now() "
            "WHERE dataset_id = %s AND partition_key = %s AND generation = 0",
            [version, *place],
        )
        run(
            "INSERT INTO catalog.pointer_move (dataset_id, partition_key, generation, organisation_id, "
            "dataset_version_id, kind, moved_at) VALUES (%s, %s, 1, %s, %s, 'PUBLISH', now())",
            [*place, organisation, version],
        )
        event = jsonb({"outputs": [draft]})
        run(
            "INSERT INTO catalog.outbox (organisation_id, topic, payload_json) VALUES (%s, 'version.published', %s)",
            [organisation, jsonb({"version_id": version})],
        )
        run(
            "INSERT INTO catalog.run_event (event_time, organisation_id, event_type, payload_json, content_hash) "
            "VALUES (now(), %s, 'DATASET', %s, %s)",
            [organisation, event, uuid4().hex],
        )


def _bare_insert(engine: Engine, partition: str, tag: str) -> None:
    """One row and a commit: what any durable transaction costs here."""
    with database.transaction(engine) as cursor:
        cursor.execute("INSERT INTO public.floor (id) VALUES (%s)", [uuid4()])


def _summary(turns: list[tuple[float, list[float]]]) -> dict[str, float]:
    """Medians over the turns; p99 over all calls."""
    taken = sorted(each for _, calls in turns for each in calls)
    return {
        "per_second": round(statistics.median(rate for rate, _ in turns), 1),
        "median_ms": round(statistics.median(taken) * 1000, 2),
        "p99_ms": round(taken[int(len(taken) * 0.99)] * 1000, 2),
        "calls": len(taken),
    }


def _backfill(engine: Engine, rounds: int) -> dict[str, float]:
    """Seconds of one `publish` of 365 partitions, each with an input, and of the attempt around it."""
    days = [f"day-{number:03d}" for number in range(BACKFILL)]
    landed = publish(
        engine, None, [replace(_draft(day, "landed"), dataset="bench/input", checks=()) for day in days]
    )
    publishing, whole = [], []
    for _ in range(rounds):
        tag, run_id = uuid4().hex, uuid4()
        drafts = [
            _draft(f"{tag}-{day}", tag, inputs=(source.version.version_id,))
            for day, source in zip(days, landed, strict=True)
        ]
        began = time.perf_counter()
        with attempt(engine, run_id=run_id, process_key="bench/output"):
            inner = time.perf_counter()
            publications = publish(engine, run_id, drafts)
            publishing.append(time.perf_counter() - inner)
        whole.append(time.perf_counter() - began)
        assert all(publication.outcome is Outcome.PUBLISHED for publication in publications)
    return {
        "partitions": BACKFILL,
        "publish_s": round(statistics.median(publishing), 3),
        "attempt_and_publish_s": round(statistics.median(whole), 3),
        "ms_per_partition": round(statistics.median(whole) / BACKFILL * 1000, 2),
    }


def _show(report: dict[str, Any]) -> None:
    table = Table(
        "case", "per second", "median ms", "p99 ms", "calls", title="Publish transactions at the catalog"
    )
    for name, case in report["cases"].items():
        table.add_row(name, *(str(case[key]) for key in ("per_second", "median_ms", "p99_ms", "calls")))
    backfill = report["backfill"]
    console = Console()
    console.print(table)
    console.print(
        f"{report['threads']} threads on one pool, {report['cpus']} CPUs, synchronous_commit "
        f"{report['synchronous_commit']}, fsync {report['fsync']}. publish : bare insert = "
        f"{report['publish_to_bare_insert']}; publish : row by row = {report['publish_to_row_by_row']}.\n"
        f"{backfill['partitions']} partitions in one call: {backfill['publish_s']} s "
        f"({backfill['ms_per_partition']} ms a partition with its attempt)."
    )


if __name__ == "__main__":
    typer.run(main)
