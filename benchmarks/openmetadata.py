"""Synchronising with OpenMetadata: 10,000 datasets with 100,000 edges, and the demo, killed a hundred times.

The server is the one of the tests, in this process: it validates every body, and takes most of the time. With --url and
--token, a real server is measured instead, which gets the datasets; the demo is not killed then.
Run: python -m benchmarks.openmetadata [--datasets 10000] [--reads 10] [--kills 100] [--url ... --token ...] [--json]
"""

from __future__ import annotations

import json
import os
import random
import resource
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from benchmarks.graph import new_engine
from headrace.catalog.records import Check, Column, DatasetRecord, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.declarations.loading.project import load, records
from headrace.openmetadata.client import Client
from headrace.openmetadata.session import SynchronisationResult
from headrace.openmetadata.synchronisation import synchronise
from headrace.queries.proposed_changes import proposed_changes
from headrace.registration.declarations import register
from headrace.settings import OpenMetadataSettings
from tests.paths import REPOSITORY
from tests.platform.openmetadata.killing import Both, contents
from tests.platform.openmetadata.server import TOKEN, Contract, transport

_COLUMNS = tuple(Column(f"column_{number}", "string", description=f"Column {number}") for number in range(20))


def main(
    datasets: Annotated[int, typer.Option(help="Datasets, each written by a process of its own.")] = 10_000,
    reads: Annotated[int, typer.Option(help="Datasets that each process reads.")] = 10,
    kills: Annotated[int, typer.Option(help="How often the synchronisation of the demo is killed.")] = 100,
    url: Annotated[str | None, typer.Option(help="The API of a real server.")] = None,
    token: Annotated[str, typer.Option(help="The token of its bot.")] = TOKEN,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure, and print requests and seconds."""
    report: dict[str, Any] = {"cpus": os.cpu_count(), "datasets": datasets}
    if datasets:
        with new_engine() as engine:
            _fill(engine, datasets, reads)
            report["edges"] = _count(engine)
            server = Contract()
            settings = OpenMetadataSettings(url=url or "http://benchmark/api")

            def run(**given: Any) -> SynchronisationResult:  # noqa: ANN401
                client = Client(str(settings.url), token, transport=None if url else transport(server))
                return synchronise(engine, client, settings, **given)

            report["first"] = _measured(run)
            report["nothing changed"] = _measured(run)
            register(engine, [_dataset(0, "changed")], [])
            report["one dataset changed"] = _measured(run)
    if kills and url is None:
        with new_engine() as engine:
            report["demo"] = _kill(engine, kills)
    report["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    typer.echo(json.dumps(report, indent=None if as_json else 2))


def _measured(run: Callable[[], SynchronisationResult]) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.process_time()
    done = run()
    assert not done.problems, done.problems[:5]
    return {
        "requests": done.requests,
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "changes": {f"{kind} {action}": count for (kind, action), count in sorted(done.counts.items())},
    }


def _kill(engine: Engine, kills: int) -> dict[str, Any]:
    """Change the demo and its server round after round, until its synchronisation was killed so often."""
    declared, processes = records(load(REPOSITORY).plans)
    both = Both(engine, list(declared), processes, Contract(), Contract(), random.Random(1))
    rounds = 0
    while both.kills < kills:
        both.max_requests = 150 if not rounds else 40
        both.round()
        rounds += 1
        assert contents(both.killed) == contents(both.undisturbed), f"round {rounds} differs"
    return {
        "datasets": len(declared),
        "rounds": rounds,
        "kills": both.kills,
        "equal": True,
        "entities": len(both.killed.entities),
        "proposed changes": len(proposed_changes(engine)),
    }


def _fill(engine: Engine, datasets: int, reads: int) -> None:
    chance = random.Random(1)
    for begin in range(0, datasets, 1000):
        numbers = range(begin, min(begin + 1000, datasets))
        processes = [
            ProcessRecord(
                _key(number),
                Technology.SPARK,
                inputs=tuple(
                    sorted({_key(chance.randrange(number)) for _ in range(reads)} if number else ())
                ),
                outputs=(_key(number),),
            )
            for number in numbers
        ]
        register(engine, [_dataset(number) for number in numbers], processes)


def _dataset(number: int, description: str = "A dataset") -> DatasetRecord:
    check = Check("column_0_not_null", "not_null", "column_0")
    return DatasetRecord(
        _key(number),
        "parquet",
        f"{description} {number}",
        columns=_COLUMNS,
        checks=(check,) if number % 10 == 0 else (),
    )


def _key(number: int) -> str:
    return f"domain_{number % 40}/dataset_{number}"


def _count(engine: Engine) -> int:
    with transaction(engine) as cursor:
        row = cursor.execute(
            "SELECT count(*) AS edges FROM catalog.lineage_edge WHERE edge_role = 'DERIVES'"
        ).fetchone()
    assert row is not None
    return int(row["edges"])


if __name__ == "__main__":
    typer.run(main)
