"""Reporting OpenLineage events over HTTP, in batches and one by one, with a million runs already stored.

`headrace serve`, PostgreSQL with its durable defaults, and the clients that send, all on this machine. Then the same
while the database is restarted: no event may be lost, and none be there twice.
With --peer, the same events one by one to another server that takes OpenLineage at URL/api/v1/lineage without a token.
Run: python -m benchmarks.reporting [--peer http://127.0.0.1:5000] [--json]
"""

import concurrent.futures
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx
import psycopg
import typer
from rich.console import Console
from rich.table import Table

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token
from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import embedded
from headrace.local import ports as webserver
from headrace.local.servers import SERVICE
from headrace.settings import settings
from tests.paths import REPOSITORY

JOBS = 2000
SENDERS = 32  # that report one by one, each waiting for its answer
BATCH_SENDERS = 4
ONE_BY_ONE = ((1, 100), (1, 300), (1, 0))  # events of a body, and events a second offered; 0: as many as go
WARMING_SECONDS = 60  # of a peer, which may run on a virtual machine that compiles what it runs often
_RUNS = """
WITH made AS (
    INSERT INTO catalog.process (
        organisation_id, process_key, technology, trigger_mode, owners, steps, metadata_json, declaration_hash
    )
    VALUES (%(organisation)s, 'benchmark/before', 'EXTERNAL', 'PROCESS', '{}', '[]', '{}', '')
    RETURNING process_id
)
INSERT INTO catalog.process_run (run_id, start_ts, end_ts, organisation_id, process_id, status, attempt, partitions)
SELECT gen_random_uuid(), now() - number * interval '3 seconds', now() - number * interval '3 seconds',
       %(organisation)s, process_id, 'SUCCESS', 1, '{}'
FROM made, generate_series(1, %(runs)s) AS number
"""


def main(
    runs: Annotated[int, typer.Option(help="Runs that are stored before.")] = 1_000_000,
    seconds: Annotated[int, typer.Option(help="How long to report, each way.")] = 20,
    peer: Annotated[str, typer.Option(help="The http URL of another server to measure after.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure, and print events a second and milliseconds."""
    with _service(runs) as (client, home):
        report: dict[str, Any] = {"cpus": os.cpu_count(), "runs_before": runs}
        report["new_datasets_and_jobs"] = _first(client)
        _settle()
        for size, rate in ((50, 1000), (200, 0), *ONE_BY_ONE):
            report[_way(size, rate)] = _reported(client, seconds, size, rate)
        report["restart"] = _restart(client, home)
    if peer:
        report |= _peer(peer, seconds)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


def _peer(url: str, seconds: int) -> dict[str, dict[str, float]]:
    """The same events one by one, when the other server knows every job and is warm."""
    limits = httpx.Limits(max_connections=SENDERS)
    with httpx.Client(base_url=url, timeout=60, limits=limits) as client:

        def first(number: int) -> None:
            for event in _run(number):
                client.post("/api/v1/lineage", json=event).raise_for_status()

        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(first, range(JOBS)))
        _reported(client, WARMING_SECONDS, 1, 0)
        return {
            f"peer, {_way(size, rate)}": _reported(client, seconds, size, rate) for size, rate in ONE_BY_ONE
        }


def _way(size: int, rate: int) -> str:
    how = f"in batches of {size}" if size > 1 else "one by one"
    return f"{how}, {rate:,} a second offered" if rate else f"{how}, as many as go"


def _first(client: httpx.Client) -> dict[str, float]:
    """Every job once, so that what follows is of jobs and datasets that are known."""
    began = time.perf_counter()
    for begin in range(0, JOBS, 100):
        body = [event for number in range(begin, begin + 100) for event in _run(number)]
        answer = client.post("/api/v1/lineage/batch", json=body)
        assert answer.status_code == 200, answer.text
    return {"events_per_second": round(2 * JOBS / (time.perf_counter() - began))}


def _settle() -> None:
    """Do what PostgreSQL does by itself within minutes: the bulk load happened just now."""
    with psycopg.connect(os.environ["HEADRACE_DATABASE_URL"], autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


def _reported(client: httpx.Client, seconds: int, size: int, rate: int) -> dict[str, float]:
    """rate: events a second of all senders together; 0: as many as go. size: events of a body; 1: one by one."""
    senders = SENDERS if size == 1 else BATCH_SENDERS
    end = time.perf_counter() + seconds
    pause = senders * size / rate if rate else 0

    def send(number: int) -> list[float]:
        taken = []
        # httpx would take a third of the two CPUs that are needed for the measurement.
        sender = http.client.HTTPConnection(client.base_url.host, client.base_url.port or 80, timeout=60)
        headers = {"Content-Type": "application/json"}
        if "authorization" in client.headers:
            headers["Authorization"] = client.headers["authorization"]
        due = time.perf_counter() + pause * number / senders
        while time.perf_counter() < end:
            for path, body in _bodies(size):
                time.sleep(max(0.0, due - time.perf_counter()))
                # From when it was due, so that waiting for the one before counts.
                began = due if rate else time.perf_counter()
                due += pause
                sender.request("POST", path, body, headers)
                answer = sender.getresponse()
                message = answer.read()
                taken.append(time.perf_counter() - began)
                assert answer.status in (HTTPStatus.OK, HTTPStatus.CREATED), message
                # A peer may answer with nothing.
                assert not message or json.loads(message).get("status", "success") == "success", message
        sender.close()
        return taken

    with concurrent.futures.ThreadPoolExecutor(senders) as pool:
        began = time.perf_counter()
        taken = [
            each for future in [pool.submit(send, n) for n in range(senders)] for each in future.result()
        ]
        length = time.perf_counter() - began
    return {"events_per_second": round(len(taken) * size / length), **_cuts(taken)}


def _bodies(size: int) -> list[tuple[str, bytes]]:
    """The paths and bodies that report a run one by one, or some runs in a batch."""
    if size == 1:
        return [("/api/v1/lineage", json.dumps(event).encode()) for event in _run()]
    events = [event for _ in range(size // 2) for event in _run()]
    return [("/api/v1/lineage/batch", json.dumps(events).encode())]


def _restart(client: httpx.Client, home: Path) -> dict[str, int | bool]:
    """Clients that repeat what was answered with 503, while PostgreSQL stops and starts again."""
    runs = [_run() for _ in range(2000)]
    tries: list[int] = []

    def send(part: Sequence[list[dict[str, Any]]]) -> None:
        for run in part:
            for event in run:
                times = 1
                while (answer := client.post("/api/v1/lineage", json=event)).status_code != 200:
                    assert answer.status_code == 503, answer.text
                    assert "retry-after" in answer.headers
                    time.sleep(0.2)
                    times += 1
                tries.append(times)

    with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
        sending = [pool.submit(send, runs[n::SENDERS]) for n in range(SENDERS)]
        time.sleep(2)
        embedded.stop(home)
        time.sleep(2)
        embedded.start(home)
        for future in sending:
            future.result()
    ids = [run[0]["run"]["runId"] for run in runs]
    with database.transaction(database.connect()) as cursor:
        found = cursor.execute(
            "SELECT count(*) AS events, count(DISTINCT run_id) AS runs FROM catalog.run_event "
            "WHERE run_id = ANY (%s::uuid[])",
            [ids],
        ).fetchone()
    return {
        "sent": len(tries),
        "sent_again": sum(times > 1 for times in tries),
        "events": (found or {})["events"],
        "runs": (found or {})["runs"],
        "nothing_lost_or_doubled": found == {"events": len(tries), "runs": len(runs)},
    }


def _run(job: int | None = None) -> list[dict[str, Any]]:
    """A START and a COMPLETE of one of JOBS jobs (any, unless given), which reads two datasets and writes one."""
    run, number = str(uuid4()), uuid4().int % JOBS if job is None else job
    now = datetime.now(UTC)
    common = {
        "run": {"runId": run},
        "job": {"namespace": "benchmark", "name": f"job_{number}"},
        "inputs": [_dataset(f"input_{number}"), _dataset(f"output_{(number + 1) % JOBS}")],
        "producer": "https://example.com/benchmark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }
    return [
        {
            **common,
            "eventType": "START",
            "eventTime": (now - timedelta(seconds=1)).isoformat(),
            "outputs": [],
        },
        {
            **common,
            "eventType": "COMPLETE",
            "eventTime": now.isoformat(),
            "outputs": [_dataset(f"output_{number}")],
        },
    ]


def _dataset(name: str) -> dict[str, Any]:
    fields = [{"name": f"column_{number}", "type": "string"} for number in range(10)]
    schema = {
        "_producer": "https://example.com/benchmark",
        "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
        "fields": fields,
    }
    return {"namespace": "benchmark", "name": name, "facets": {"schema": schema}}


@contextmanager
def _service(runs: int) -> Iterator[tuple[httpx.Client, Path]]:
    """A service on a separate catalog, and a client that may report to it."""
    with tempfile.TemporaryDirectory(prefix="headrace-reporting-") as folder:
        home = Path(folder)
        os.environ["HEADRACE_HOME"] = str(home)
        os.environ["HEADRACE_DATABASE_URL"] = embedded.start(home)
        os.environ["HEADRACE_REQUESTS_PER_SECOND"] = "100000"
        settings.cache_clear()
        database.disconnect()
        engine = database.connect()
        token = issue_service_token(engine, "benchmark", [Permission.REPORT], by="benchmark")
        with database.transaction(engine) as cursor:
            cursor.execute("SELECT catalog.make_partitions(now() - interval '2 months', 4)")
            cursor.execute(_RUNS, {"organisation": current_context().organisation_id, "runs": runs})
        with webserver.reserved_port(None, SERVICE.first_port) as free:
            port = free or 0
        log = (home / "serve.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", *SERVICE.command(port)], cwd=REPOSITORY, stdout=log, stderr=log
        )
        try:
            while not SERVICE.is_up(port):
                assert process.poll() is None, (home / "serve.log").read_text()
                time.sleep(0.2)
            limits = httpx.Limits(max_connections=SENDERS * 2)
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={"Authorization": f"Bearer {token}"},
                timeout=60,
                limits=limits,
            ) as client:
                yield client, home
        finally:
            process.terminate()
            process.wait()
            log.close()
            database.disconnect()
            embedded.stop(home)


def _cuts(taken: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(taken, n=100)
    return {f"p{part}_ms": round(cuts[part - 1] * 1000, 1) for part in (50, 95, 99)}


def _show(report: dict[str, Any]) -> None:
    table = Table("how", "events a second", "p50 ms", "p95 ms", "p99 ms")
    for name, taken in report.items():
        if isinstance(taken, dict) and "p50_ms" in taken:
            table.add_row(
                name, *(str(taken[key]) for key in ("events_per_second", "p50_ms", "p95_ms", "p99_ms"))
            )
    console = Console(width=120)
    console.print(table)
    console.print(
        f"{report['cpus']} CPUs, {report['runs_before']:,} runs before; restart: {report['restart']}"
    )


if __name__ == "__main__":
    typer.run(main)
