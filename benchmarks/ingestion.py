"""Ingestion of completion files: from a full folder, one at a time, and with a process that is killed.

On a fresh server in a temporary folder with PostgreSQL's durable defaults. Run: python -m benchmarks.ingestion [--json]
"""

import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine

from benchmarks.killing import drop, history, ingest_and_be_killed
from headrace.database import connection as database
from headrace.database import embedded
from headrace.local.environment import environment
from headrace.orchestration.completions.folder import LocalFolder
from headrace.orchestration.completions.intake import take_in
from headrace.settings import settings
from tests.paths import REPOSITORY

TICK = timedelta(seconds=20)


def main(
    files: Annotated[int, typer.Option(help="Files that wait in the folder.")] = 100_000,
    singles: Annotated[int, typer.Option(help="Files that come one at a time.")] = 20,
    events: Annotated[
        int, typer.Option(help="Events that are ingested by processes that are killed.")
    ] = 10_000,
    kills: Annotated[int, typer.Option(help="Times that they are.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure, and print seconds, megabytes and whether the catalogs are equal."""
    report: dict[str, Any] = {"cpus": os.cpu_count()}
    if files:
        report["backlog"] = [_backlog(number) for number in (files // 10, files)]
    if singles:
        report["steady"] = _steady(singles)
    if kills:
        report["kills"] = _killed(events, kills)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


def _backlog(files: int) -> dict[str, float]:
    """Run in a separate process, whose memory is measured."""
    with _catalog() as (_, home):
        folder = home / "completions"
        folder.mkdir()
        finished = time.time() - 60
        for number in range(files):
            file = folder / f"JOB_{number % 10_000}.{number}.json"
            file.write_text(json.dumps(_document(number)))
            os.utime(file, (finished, finished))
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.ingestion", "--drain", str(folder)],
            check=True,
            capture_output=True,
            text=True,
            cwd=REPOSITORY,
        )
        return {"files": files, **json.loads(done.stdout)}


def _document(number: int) -> dict[str, Any]:
    """One in ten names a dataset that it has written."""
    job = number % 10_000
    document = {
        "process": f"JOB_{job}",
        "box": f"BOX_{job % 500}",
        "status": "SUCCESS",
        "run": str(number // 10_000 + 1),
        "exit_code": 0,
        "started_at": "2026-11-28T04:00:00Z",
        "at": f"2026-11-28T04:{number // 10_000:02d}:00Z",
        "machine": f"host{job % 20}",
        "log": f"/logs/JOB_{job}.{number}.log",
    }
    if job % 10 == 0:
        document["outputs"] = [{"dataset": f"ops/table_{job}", "row_count": number, "format": "csv"}]
    return document


def drain(folder: Path) -> None:
    """Ingest the files in the folder, tick by tick, and print time and memory."""
    engine, here = database.connect(), LocalFolder(folder)
    before = _peak()
    began = time.perf_counter()
    count, ticks, more = 0, 0, True
    while more:
        taken = take_in(engine, here, TICK)
        count, ticks, more = count + taken.files, ticks + 1, taken.more
    seconds = time.perf_counter() - began
    typer.echo(
        json.dumps(
            {
                "seconds": round(seconds, 1),
                "files_per_second": round(count / seconds),
                "ticks": ticks,
                "peak_mb": round(_peak()),
                "of_which_before_mb": round(before),
            }
        )
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _steady(singles: int) -> dict[str, float]:
    """Seconds from the moment at which a file is there to its materialization, with Dagster's own daemon.

    Half of the files are written in place, as the least careful of writers do, half are renamed to their names.
    """
    chance = random.Random(1)
    waits: dict[bool, list[float]] = {True: [], False: []}
    with _catalog() as (_, home), _up(home):
        folder = home / "completions"
        folder.mkdir(exist_ok=True)
        for number in range(singles):
            time.sleep(chance.uniform(0, 5))
            renamed = number % 2 == 0
            file = folder / f"load_{number}.json"
            hidden = file.with_name(f".{file.name}")
            written = hidden if renamed else file
            written.write_text(json.dumps({"process": "LOAD", "status": "SUCCESS", "run": str(number)}))
            if renamed:
                time.sleep(0.02)
                hidden.rename(file)
            began = time.perf_counter()
            while _newest_run() != str(number):
                time.sleep(0.05)
            waits[renamed].append(time.perf_counter() - began)
    return {
        "files": singles,
        **{
            f"{how}_{name}_s": round(value, 2)
            for renamed, how in ((True, "renamed"), (False, "written"))
            for name, value in (("median", statistics.median(waits[renamed])), ("worst", max(waits[renamed])))
        },
    }


def _newest_run() -> str | None:
    with dg.DagsterInstance.get() as instance:
        found = instance.get_latest_materialization_event(dg.AssetKey(["autosys", "LOAD"]))
    reported = found and found.asset_materialization
    return str(reported.metadata["run number"].value) if reported else None


@contextmanager
def _up(home: Path) -> Iterator[None]:
    """Headrace as `headrace up` runs it, with a look at the folder every second."""
    os.environ["HEADRACE_COMPLETIONS_INTERVAL"] = "1"
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "up"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as services:
        try:
            assert services.stdout is not None
            assert any("Headrace is up" in line for line in services.stdout)
            os.environ.update(environment())
            yield
        finally:
            services.send_signal(signal.SIGINT)
            services.wait()


def _killed(events: int, kills: int) -> dict[str, Any]:
    from tests.platform.events.run_events import contents, wipe

    reports = history(events)
    shuffled = [*reports, *reports]
    random.Random(2).shuffle(shuffled)
    with _catalog() as (engine, home):
        drop(home / "orderly", reports, 500)
        ingest_and_be_killed(home / "orderly", 0, 0)
        expected = contents(engine)
        wipe(engine)
        files = drop(home / "killed", shuffled, 5)
        killed = ingest_and_be_killed(home / "killed", kills, 0.4)
        left = [
            file for file in (home / "killed").rglob("*") if file.is_file() and "archive" not in file.parts
        ]
        found = contents(engine)
        return {
            "events": len(expected["raw"]),
            "files": files,
            "kills": killed,
            "equal": found == expected,
            "different": [name for name in expected if found[name] != expected[name]],
            "files_left": len(left),
            "runs": len(expected["runs"]),
            "versions": len(expected["versions"]),
        }


@contextmanager
def _catalog() -> Iterator[tuple[Engine, Path]]:
    """A separate catalog, configured for this process and its children."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["HEADRACE_HOME"] = str(home)
        os.environ["HEADRACE_DATABASE_URL"] = embedded.start(home)
        settings.cache_clear()
        database.disconnect()
        try:
            yield database.connect(), home
        finally:
            database.disconnect()
            embedded.stop(home)


def _show(report: dict[str, Any]) -> None:
    console = Console()
    if "backlog" in report:
        table = Table("files", "seconds", "files a second", "peak MB", title="Files that wait in a folder")
        for row in report["backlog"]:
            table.add_row(*(f"{row[key]:,}" for key in ("files", "seconds", "files_per_second", "peak_mb")))
        console.print(table)
    if "steady" in report:
        steady = report["steady"]
        console.print(
            "One file at a time, a look every second: in Dagster "
            f"{steady['renamed_median_s']} s (worst {steady['renamed_worst_s']} s) after it was renamed to its name, "
            f"{steady['written_median_s']} s (worst {steady['written_worst_s']} s) after it was written in place."
        )
    if "kills" in report:
        killed = report["kills"]
        console.print(
            f"{killed['events']:,} events, doubled and shuffled in {killed['files']:,} files, {killed['kills']} "
            f"processes killed: the catalog {'equals' if killed['equal'] else 'DIFFERS FROM'} that of an orderly run "
            f"({killed['runs']:,} runs, {killed['versions']:,} versions)."
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drain"]:
        drain(Path(sys.argv[2]))
    else:
        typer.run(main)
