"""Ingest completion files by processes that are killed at random, until none is left: for a test and a benchmark."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.paths import REPOSITORY

_START = datetime(2026, 6, 1, 20, tzinfo=UTC)


def history(events: int, seed: int = 1) -> list[dict[str, Any]]:
    """About so many reports, in the order of time: nights of boxes with jobs, retries, forced ends and outputs."""
    chance = random.Random(seed)
    reports: list[dict[str, Any]] = []
    night = 0
    while len(reports) < events:
        night += 1
        for box in range(5):
            reports += _box(chance, box, night)
    return sorted(reports[:events], key=lambda report: report["at"])


def drop(folder: Path, reports: Sequence[dict[str, Any]], per_file: int) -> int:
    """Write the reports as JSON lines into files that were finished a minute ago; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    finished = time.time() - 60
    begins = range(0, len(reports), per_file)
    for begin in begins:
        file = folder / f"feed_{begin:07d}.json"
        file.write_text("\n".join(json.dumps(report) for report in reports[begin : begin + per_file]))
        os.utime(file, (finished, finished))
    return len(begins)


def ingest_and_be_killed(folder: Path, kills: int, seconds: float, seed: int = 1) -> int:
    """Ingest the folder by one process after another, each killed after a part of `seconds`, the last one left alone.

    How many were killed while they were at it: one that has nothing left to do ends by itself.
    """
    chance = random.Random(seed)
    killed = 0
    for _ in range(kills):
        with _worker(folder) as worker:
            assert worker.stdout is not None
            worker.stdout.readline()  # it is about to begin
            try:
                worker.wait(chance.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                worker.send_signal(signal.SIGKILL)
                killed += 1
    with _worker(folder) as last:
        assert last.wait() == 0
    return killed


def _worker(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchmarks.killing", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)


def _box(chance: random.Random, box: int, night: int) -> list[dict[str, Any]]:
    at = _START + timedelta(days=night, minutes=chance.randrange(60))
    named = {"run": str(night), "business_date": f"{_START + timedelta(days=night):%Y-%m-%d}"}
    reports = [{"process": f"BOX_{box}", "status": "RUNNING", "at": at.isoformat(), **named}]
    for job in range(8):
        at += timedelta(minutes=1)
        own = {"process": f"JOB_{box}_{job}", "box": f"BOX_{box}", "machine": f"host{job % 3}", **named}
        attempts = chance.choice([1, 1, 1, 2])
        for attempt in range(1, attempts + 1):
            reports.append({**own, "attempt": attempt, "status": "STARTING", "at": at.isoformat()})  # type: ignore[dict-item]
            reports.append({**own, "attempt": attempt, "status": "RUNNING", "at": at.isoformat()})  # type: ignore[dict-item]
            at += timedelta(minutes=chance.randrange(1, 9))
            failed = attempt < attempts or chance.random() < 0.1
            end = {
                **own,
                "attempt": attempt,
                "status": "FAILURE" if failed else "SUCCESS",
                "at": at.isoformat(),
            }
            if not failed and job % 2:
                end["outputs"] = [  # type: ignore[assignment]
                    {
                        "dataset": f"ops/table_{box}_{job}",
                        "row_count": night,
                        "partition": named["business_date"],
                    }
                ]
            reports.append({**end, "exit_code": int(failed)})  # type: ignore[dict-item]
            if failed and attempt == attempts:
                at += timedelta(minutes=1)
                reports.append({**own, "attempt": 0, "status": "SUCCESS", "at": at.isoformat()})  # type: ignore[dict-item]
    at += timedelta(minutes=1)
    return [*reports, {"process": f"BOX_{box}", "status": "SUCCESS", "at": at.isoformat(), **named}]


def _work(folder: Path) -> None:
    from headrace.database.connection import connect
    from headrace.orchestration.completions.folder import LocalFolder
    from headrace.orchestration.completions.intake import take_in

    engine, here = connect(), LocalFolder(folder)
    print("ready", flush=True)
    # Many small transactions, for many places to die between.
    while take_in(engine, here, timedelta(seconds=60), batch_files=20).busy:
        time.sleep(0.05)  # the server has not noticed yet that the one before is dead


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
