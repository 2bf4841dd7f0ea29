"""One night of an estate of N jobs: simulated, with its critical path, and the next run of single jobs.

Each round is timed in this process, reading apart. Run: python -m benchmarks.simulate [--jobs N] [--json]
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.estate import jil
from headrace.autosys import read_estate
from headrace.simulation.durations import UsualEfforts
from headrace.simulation.expected import expected_run
from headrace.simulation.nights import Night, Period, critical_path, simulate
from headrace.simulation.playing import Scene

NIGHT = datetime(2026, 12, 30, 12, tzinfo=UTC)
ASKED = 50  # jobs whose next run is asked for


def main(
    jobs: Annotated[int, typer.Option(help="Jobs of the estate, boxes included.")] = 100_000,
    rounds: Annotated[int, typer.Option(help="Nights.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print seconds and memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "estate.jil"
        path.write_text(jil(jobs), encoding="utf-8")
        estate = read_estate([path])
    scene: list[Scene] = []
    report: dict[str, Any] = {
        "jobs": jobs, "edges": len(estate.edges), "definitions_s": timed(lambda: scene.append(Scene.of(estate)))
    }  # fmt: skip
    chance = random.Random(1)
    times = {name: chance.uniform(60, 1800) for name in scene[0].definitions}
    efforts = UsualEfforts(given=times)
    period = Period(NIGHT, NIGHT + timedelta(days=1), efforts)
    nights: list[Night] = []
    report["night_s"] = statistics.median(
        timed(lambda: nights.append(simulate(scene[0], period))) for _ in range(rounds)
    )
    report["runs_of_the_night"] = sum(1 for _ in nights[0].outcome.of_period())
    report["runs_with_warm_up"] = len(nights[0].outcome.runs)
    report["critical_path_s"] = timed(lambda: critical_path(nights[0]))
    asked = chance.sample(sorted(scene[0].definitions), ASKED)
    report["next_run_s"] = {
        "median": statistics.median(
            took := [timed(partial(expected_run, scene[0], name, NIGHT, efforts)) for name in asked]
        ),
        "max": max(took),
    }
    report["mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    typer.echo(json.dumps(report, indent=2)) if as_json else show(report)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of the work."""
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 3)


def show(report: dict[str, Any]) -> None:
    """Print the figures as a table."""
    table = Table("", "")
    for name, value in report.items():
        table.add_row(name, str(value))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
