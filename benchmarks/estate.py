"""An estate of N jobs: read and resolved, scanned into the catalog, scanned again with ten changes, shown in Dagster.

Everything is timed as a user waits for it: a fresh process a measurement, its start and imports included, against a
fresh PostgreSQL with its durable defaults. Run: python -m benchmarks.estate [--jobs N] [--dsl41 COMMAND] [--json]
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
IN_A_BOX, IN_AN_APPLICATION = 20, 2_000
CHANGES = 10
LIMIT = 300  # seconds for another program on the same file

HEADRACE = "import sys; sys.argv[0] = 'headrace'; from headrace.cli import app; app()"
READ = """
import json, resource, sys
from pathlib import Path
from headrace.autosys import read_estate
estate = read_estate([Path(sys.argv[1])])
print(json.dumps({"jobs": len(estate.jobs), "edges": len(estate.edges), "findings": len(estate.findings),
    "mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}))
"""
SHOW = """
import json, resource, sys, time
import dagster as dg
from headrace.estate_assets.assets import estate_assets
from headrace.declarations.loading.known import known
began = time.perf_counter()
assets = estate_assets(known().estate, collapse_above=int(sys.argv[1]))
dg.Definitions(assets=assets.specs).get_repository_def()
print(json.dumps({"assets": len(assets.specs), "load_s": time.perf_counter() - began,
    "mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}))
"""


def main(
    jobs: Annotated[int, typer.Option(help="Jobs of the estate, boxes included.")] = 100_000,
    rounds: Annotated[int, typer.Option(help="Scans with ten changes.")] = 5,
    shown: Annotated[int, typer.Option(help="Jobs of the estate that is shown in Dagster.")] = 10_000,
    dsl41: Annotated[
        str | None, typer.Option(help="The command of an installed dsl41, to compare with.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print seconds, memory and ratios."""
    from headrace.database import embedded

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        large, small = Path(folder) / "large.jil", Path(folder) / "small.jil"
        large.write_text(jil(jobs), encoding="utf-8")
        small.write_text(jil(shown), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HEADRACE_HOME": str(home)}
        environment.pop("HEADRACE_DATABASE_URL", None)
        report: dict[str, Any] = {
            "jobs": jobs,
            "cpus": os.cpu_count(),
            "mb_of_jil": round(large.stat().st_size / 1e6, 1),
            "read": python(READ, environment, str(large)),
        }
        if dsl41 is not None:
            report["against dsl41"] = against(dsl41, large, environment)
        try:
            report |= scans(large, rounds, environment)
            report["shown"] = in_dagster(small, Path(folder) / "other", shown, environment)
        finally:
            embedded.stop(home)
    typer.echo(json.dumps(report, indent=2)) if as_json else show(report)


def jil(jobs: int) -> str:
    """A dump of an estate: boxes of twenty, chains within them, conditions across boxes, files handed over."""
    chance = random.Random(7)
    texts = []
    for number in range(jobs):
        application, box = f"APP{number // IN_AN_APPLICATION:03d}", f"BOX_{number // IN_A_BOX:05d}"
        if number % IN_A_BOX == 0:
            texts.append(
                f"/* ----------------- {box} ----------------- */ \n\ninsert_job: {box}   job_type: BOX \n"
                f"owner: {application.lower()}@unx{chance.randrange(50):02d}\npermission: \ndate_conditions: 1\n"
                f'days_of_week: mo,tu,we,th,fr\nstart_times: "{chance.randrange(24):02d}:00"\n'
                f'description: "batch {number} of the night"\nalarm_if_fail: 1\napplication: {application}\n\n'
            )
            continue
        name, before = f"{application}_JOB_{number:06d}", f"{application}_JOB_{number - 1:06d}"
        condition = f" condition: s({before})\n" if number % IN_A_BOX > 1 else ""
        if number % 10 == 5:
            far = chance.randrange(1, number, 1)
            across = f"APP{far // IN_AN_APPLICATION:03d}_JOB_{far:06d}"
            condition = (
                f" condition: s({before}) & s({across}, 12.00) & n({application}_JOB_{number - 2:06d})\n"
            )
        texts.append(
            f" /* ----------------- {name} ----------------- */ \n\n insert_job: {name}   job_type: CMD \n"
            f" box_name: {box}\n"
            f" command: /apps/bin/run.sh -d $$DATE -i /data/in/f{number}.csv > /data/out/f{number}.dat\n"
            f" machine: unx{chance.randrange(50):02d}\n owner: {application.lower()}@unx01\n permission: gx,ge\n"
            f' date_conditions: 0\n{condition} description: "step {number}"\n n_retrys: 2\n'
            f' std_out_file: "/logs/{name}.out"\n std_err_file: "/logs/{name}.err"\n alarm_if_fail: 1\n'
            f' profile: "/apps/profile"\n application: {application}\n\n'
        )
    return "".join(texts)


def scans(path: Path, rounds: int, environment: Mapping[str, str]) -> dict[str, Any]:
    """The first scan, scans after ten jobs have changed, and one after a line at the top has moved every job."""
    python(HEADRACE, environment, "legacy", "processes", "--json", "--like", "none")  # starts the server
    first = scan(path, environment)
    assert first["counts"]["added"] == first["counts"]["processes"]
    changed = []
    for number in range(rounds):
        change(path, number)
        result = scan(path, environment)
        assert result["counts"]["changed"] == CHANGES, result["counts"]
        changed.append(result)
    same = scan(path, environment)
    path.write_text(f"# moved\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    moved = scan(path, environment)
    assert moved["counts"]["changed"] == same["counts"]["changed"] == 0
    return {
        "first_scan_s": first["seconds"],
        "ten_changes_s": {
            "median": statistics.median(one["seconds"] for one in changed),
            "least": min(one["seconds"] for one in changed),
            "most": max(one["seconds"] for one in changed),
            "cpu": statistics.median(one["cpu_s"] for one in changed),
            "rounds": rounds,
        },
        "no_change_s": same["seconds"],
        "all_moved_s": moved["seconds"],
    }


def change(path: Path, number: int) -> None:
    """Another number of retries for ten jobs all over the file, and a line more for each, which moves those below."""
    parts = path.read_text(encoding="utf-8").split("n_retrys: ")
    for index in range(1, CHANGES + 1):
        place = index * (len(parts) - 1) // CHANGES - number
        parts[place] = f"{number + 3}\n max_run_alarm: 30{parts[place].lstrip('0123456789')}"
    path.write_text("n_retrys: ".join(parts), encoding="utf-8")


def scan(path: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    return python(HEADRACE, environment, "legacy", "scan", str(path), "--json")


def in_dagster(path: Path, home: Path, jobs: int, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the seconds to load the assets of an estate, with collapsed boxes, and with one asset per job."""
    from headrace.database import embedded

    own = {**environment, "HEADRACE_HOME": str(home)}
    try:
        scan(path, own)
        return {
            "jobs": jobs,
            "boxes": python(SHOW, own, "2000"),
            "one_a_job": python(SHOW, own, str(jobs)),
        }
    finally:
        embedded.stop(home)


def against(command: str, path: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Compare the linter of dsl41 with `headrace legacy report`, on the same file."""
    ours = python(HEADRACE, environment, "legacy", "report", str(path), "--json")["seconds"]
    began = time.perf_counter()
    try:
        subprocess.run([command, "lint", str(path)], capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"ours_s": ours, "dsl41_s": None, "ratio_at_least": round(LIMIT / ours, 1), "limit_s": LIMIT}
    theirs = round(time.perf_counter() - began, 2)
    return {"ours_s": ours, "dsl41_s": theirs, "ratio": round(theirs / ours, 1)}


def python(code: str, environment: Mapping[str, str], *words: str) -> dict[str, Any]:
    """Return the JSON output of a fresh process, with its elapsed and CPU seconds."""
    began, computed = time.perf_counter(), _computed()
    run = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=ROOT,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise RuntimeError(run.stderr)
    seconds = round(time.perf_counter() - began, 2)
    return {"seconds": seconds, "cpu_s": round(_computed() - computed, 2), **json.loads(run.stdout)}


def _computed() -> float:
    """Seconds of the processor that the processes waited for have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def show(report: Mapping[str, Any]) -> None:
    table = Table("what", "seconds", "of", title=f"An estate of {report['jobs']:,} jobs")
    read, ten, shown = report["read"], report["ten_changes_s"], report["shown"]
    table.add_row(
        "read and resolved", f"{read['seconds']}", f"{report['mb_of_jil']} MB of JIL, {read['mb']} MB at most"
    )
    table.add_row("first scan", f"{report['first_scan_s']}", "all of it into the catalog")
    spread = f"{ten['least']} to {ten['most']} in {ten['rounds']} rounds, {ten['cpu']:.2f} of them computing"
    table.add_row("scan with ten changes", f"{ten['median']:.2f}", spread)
    table.add_row("scan without a change", f"{report['no_change_s']}", "")
    table.add_row("scan after all moved a line", f"{report['all_moved_s']}", "")
    for name in ("boxes", "one_a_job"):
        one = shown[name]
        what = f"{one['assets']:,} assets for {shown['jobs']:,} jobs, {one['seconds']} s with imports"
        table.add_row(f"shown in Dagster, {name.replace('_', ' ')}", f"{one['load_s']:.2f}", what)
    if "against dsl41" in report:
        other = report["against dsl41"]
        ended = f"{other['dsl41_s']} s" if other["dsl41_s"] else f"not done in {other['limit_s']} s"
        ratio = other.get("ratio") or f"more than {other['ratio_at_least']}"
        table.add_row(
            "report with all findings", f"{other['ours_s']}", f"dsl41 lint: {ended}, {ratio} times as long"
        )
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
