"""Archiving throughput of old runs and events, and query times, compared with DELETE alone (the floor).

On a fresh server in a temporary folder with PostgreSQL's durable defaults. Run: python -m benchmarks.retention [--json]
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import psycopg
import typer
from psycopg import sql
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.database import connection as database
from headrace.database import embedded
from headrace.retention.archiving import archive
from headrace.retention.history import events, runs
from headrace.settings import settings

PROCESSES = 1_000
EVENTS_OF_A_RUN = 3
_FILL = """
INSERT INTO catalog.organisation (organisation_id, name) VALUES ({organisation}, 'default') ON CONFLICT DO NOTHING;
INSERT INTO catalog.process (
    process_id, organisation_id, process_key, technology, trigger_mode, owners, steps, metadata_json, declaration_hash
)
SELECT md5('p' || n)::uuid, {organisation}, 'shop/p' || n, 'EXTERNAL', 'PROCESS', '{{}}', '[]', '{{}}', ''
FROM generate_series(1, {processes}) AS n;
SELECT catalog.make_partitions(now() - interval '8 months', 8);
INSERT INTO catalog.process_run (
    run_id, start_ts, organisation_id, process_id, status, end_ts, attempt, partitions, facets_json
)
SELECT md5('r' || n)::uuid, at, {organisation}, md5('p' || 1 + n % {processes})::uuid,
       CASE n % 20 WHEN 0 THEN 'FAILED' ELSE 'SUCCESS' END, at + interval '90 s', 1, '{{}}', '{{"nominal": "2026"}}'
FROM generate_series(1, {runs}) AS n
CROSS JOIN LATERAL (SELECT now() - interval '95 days' - n * interval '100 days' / {runs} AS at) AS started;
INSERT INTO catalog.run_attempt (run_id, attempt, organisation_id, run_start_ts, state, start_ts, end_ts)
SELECT run_id, 1, organisation_id, start_ts, status, start_ts, end_ts FROM catalog.process_run;
INSERT INTO catalog.run_event (
    event_time, organisation_id, run_id, process_key, event_type, payload_json, content_hash, received_at
)
SELECT start_ts + part * interval '30 s', organisation_id, run_id, 'shop/p',
       (ARRAY['START', 'RUNNING', 'COMPLETE'])[part],
       jsonb_build_object(
           'eventType', 'START', 'eventTime', start_ts, 'producer', 'https://example.com/producer',
           'run', jsonb_build_object(
               'runId', run_id, 'facets', jsonb_build_object('text', repeat(md5(run_id::text), 20))),
           'job', jsonb_build_object('namespace', 'example', 'name', 'shop/p'), 'inputs', '[]', 'outputs', '[]'),
       md5(run_id::text || part), start_ts + part * interval '30 s'
FROM catalog.process_run
CROSS JOIN generate_series(1, {parts}) AS part;
ANALYZE
"""
_DELETE = "DELETE FROM catalog.run_event; DELETE FROM catalog.run_attempt; DELETE FROM catalog.process_run"


def main(
    count: Annotated[int, typer.Option("--runs", help="How many runs, each with three events.")] = 200_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print seconds and rates."""
    with _catalog() as (engine, url):
        _execute(url, _FILL, count)
        seconds = {"delete alone": _timed(lambda: _execute(url, _DELETE, count))}
        _execute(
            url, "TRUNCATE catalog.process CASCADE; TRUNCATE catalog.process_run, catalog.run_event", count
        )
        _execute(url, _FILL, count)
        before = _size(url)
        done = None

        def move() -> None:
            nonlocal done
            done = archive(engine)

        seconds["archive"] = _timed(move)
        assert done is not None
        oldest = runs(engine)[-1]
        questions: dict[str, Callable[[], object]] = {
            "a run by its id": lambda: runs(engine, run=str(oldest.run_id)),
            "the events of a run": lambda: events(engine, run=str(oldest.run_id)),
            "the newest 100 failures": lambda: runs(engine, state=RunState.FAILED),
            "a process in the oldest month": lambda: runs(engine, process="shop/p7", until=oldest.started_at),
        }
        report: dict[str, Any] = {
            "cpus": os.cpu_count(),
            "runs": count,
            "events": count * EVENTS_OF_A_RUN,
            "seconds": {name: round(value, 1) for name, value in seconds.items()},
            "rows a second": round(count * (1 + EVENTS_OF_A_RUN) / seconds["archive"]),
            "database MB": round(before / 1e6),
            "archive MB": round(done.byte_size / 1e6),
            "files": done.files,
            "questions ms": {
                name: round(1000 * median(_timed(ask) for _ in range(5))) for name, ask in questions.items()
            },
        }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


@contextmanager
def _catalog() -> Iterator[tuple[Engine, str]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADRACE_HOME"] = folder
        settings.cache_clear()
        url = embedded.start(Path(folder))
        engine = database.engine_for(url)
        try:
            database.migrate(engine)
            yield engine, url
        finally:
            engine.dispose()
            embedded.stop(Path(folder))


def _execute(url: str, statements: str, count: int) -> None:
    from headrace.context import current_context

    values = {
        "organisation": current_context().organisation_id,
        "processes": PROCESSES,
        "runs": count,
        "parts": EVENTS_OF_A_RUN,
    }
    with psycopg.connect(url) as connection:
        for each in statements.split(";"):
            connection.execute(
                sql.SQL(each).format(**{name: sql.Literal(value) for name, value in values.items()})
            )


def _size(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _show(report: dict[str, Any]) -> None:
    table = Table(
        "", "", title=f"{report['runs']:,} runs and {report['events']:,} events, {report['cpus']} CPUs"
    )
    for name, value in report["seconds"].items():
        table.add_row(name, f"{value} s")
    for name in ("rows a second", "database MB", "archive MB", "files"):
        table.add_row(name, f"{report[name]:,}")
    for name, value in report["questions ms"].items():
        table.add_row(name, f"{value} ms")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
