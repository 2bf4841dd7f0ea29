"""Loading N declared datasets, compared with Dagster loading N plain assets: seconds, peak memory, what dominates.

Each size is loaded in fresh processes, ours and Dagster's in turns; the times count from the start of the process to
the resolved repository, imports included, as a code server would. Run as `python -m benchmarks.loading [N ...]`.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = (100, 1_000, 3_000, 10_000)
IN_A_DOMAIN = 50
TARGET_SIZE, TARGET_SECONDS, TARGET_MB = 1_000, 5.0, 500

DECLARATION = """\
type: headrace.Dataset
attributes:
  key: {key}
  description: Departures of group {index}, joined with its airlines.
  owner: team:group_{domain}
  tags: {{layer: joined}}
  sql: {name}.sql
  partitions: {{type: daily, start: "2013-01-01", column: flight_date}}
  sla: {{deadline: 0 6 * * *, timezone: America/New_York}}
  schema:
    columns:
      flight_date: {{type: date, nullable: false}}
      carrier: string
      flights: {{type: bigint, checks: [{{greater_than: 0}}]}}
      delay: double
"""
QUERY = """\
WITH flown AS (
  SELECT flight_date, carrier, dep_delay FROM {first} WHERE dep_delay IS NOT NULL
)
SELECT f.flight_date, f.carrier, count(*) AS flights, avg(f.dep_delay) AS delay -- minutes
FROM flown AS f JOIN {second} USING (carrier)
GROUP BY f.flight_date, f.carrier
"""
EXTERNAL = """\
type: headrace.ExternalDataset
attributes: {key: feed/flights, format: csv, partitions: {type: daily, start: "2013-01-01"}}
---
type: headrace.ExternalDataset
attributes: {key: feed/airlines, format: csv}
"""
PLAIN = """
@dg.asset(
    key=dg.AssetKey({parts}), deps=[dg.AssetKey({first}), dg.AssetKey({second})], group_name="{domain}",
    description="Departures of group {index}, joined with its airlines.", owners=["team:group_{domain}"],
    tags={{"layer": "joined"}}, kinds={{"spark", "parquet"}}, code_version="1", partitions_def=DAILY,
    freshness_policy=FRESH,
    check_specs=[dg.AssetCheckSpec(name, asset=dg.AssetKey({parts})) for name in CHECKS],
)
def asset_{index}(context):
    yield dg.MaterializeResult()
"""
PLAIN_HEAD = """
import datetime

import dagster as dg

DAILY = dg.DailyPartitionsDefinition("2013-01-01")
FRESH = dg.FreshnessPolicy.cron("0 6 * * *", datetime.timedelta(hours=24), "America/New_York")
CHECKS = ("flight_date_not_null", "flights_greater_than", "partition")
"""
OURS_CODE = """
import sys
from pathlib import Path
from benchmarks.loading import load_project
count = load_project(Path(sys.argv[1]))
"""
PLAIN_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import dagster as dg
import plain
assets = dg.load_assets_from_modules([plain])
dg.Definitions(assets=assets).get_repository_def()
count = len(assets)
"""
REPORT = """
import json, resource, time
used = resource.getrusage(resource.RUSAGE_SELF)
cpu, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
print(json.dumps({"count": count, "ready": time.time(), "cpu": cpu, "mb": mb}))
"""


def main(sizes: tuple[int, ...] = SIZES, rounds: int = 3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        floor = measured("import dagster, sys\ncount = 0\n", Path(folder), rounds=rounds)
        print(
            f"importing Dagster alone: {floor['seconds']:.2f} s ({floor['cpu']:.2f} s CPU), {floor['mb']:.0f} MB"
        )
        print(f"{'':>9} | {'declared in Headrace':^22} | {'plain @dg.asset':^22} | {'CPU':>5} | ms CPU each")
        one = f"{'s':>6} {'s CPU':>7} {'MB':>7}"
        print(f"{'datasets':>9} | {one} | {one} | {'ratio':>5} | {'Headrace':>13} {'plain':>13}")
        for size in sizes:
            project = Path(folder, str(size))
            generate(project, size)
            ours, plain = alternated(project, 1 if size > TARGET_SIZE else rounds)
            each = [(one["cpu"] - floor["cpu"]) / size * 1000 for one in (ours, plain)]
            columns = " | ".join(
                f"{one['seconds']:>6.2f} {one['cpu']:>7.2f} {one['mb']:>7.0f}" for one in (ours, plain)
            )
            print(
                f"{size:>9,} | {columns} | {ours['cpu'] / plain['cpu']:>5.2f} | {each[0]:>13.2f} {each[1]:>13.2f}"
            )
            if size == TARGET_SIZE:
                met = ours["seconds"] < TARGET_SECONDS and ours["mb"] < TARGET_MB
                print(
                    f"          target {TARGET_SECONDS:g} s and {TARGET_MB} MB: {'met' if met else 'MISSED'}"
                )
                profile(project)


def load_project(project: Path) -> int:
    """Load a project as `definitions.py` does, up to the repository; how many plans it has."""
    import dagster as dg

    from headrace.declarations.loading.project import load

    loaded = load(project)
    if loaded.problems:
        raise loaded.problems[0]
    resources = dg.Definitions(resources={"spark": dg.ResourceDefinition.none_resource()})
    dg.Definitions.merge(loaded.definitions, resources).get_repository_def()
    return len(loaded.plans)


def generate(project: Path, size: int) -> None:
    """A project with `size` datasets, each joining the one before it with airlines, and its twin in plain Dagster."""
    plain = [PLAIN_HEAD]
    documents: dict[str, list[str]] = {}
    for index in range(size):
        domain, name = f"domain_{index // IN_A_DOMAIN}", f"departures_{index}"
        first = (
            ("feed", "flights")
            if index % 10 == 0
            else (f"domain_{(index - 1) // IN_A_DOMAIN}", f"departures_{index - 1}")
        )
        folder = project / "assets" / domain
        folder.mkdir(parents=True, exist_ok=True)
        query = QUERY.format(first=".".join(first), second="feed.airlines")
        # The chain is about loading, so that its columns need not fit.
        (folder / f"{name}.sql").write_text(query)
        documents.setdefault(domain, []).append(
            DECLARATION.format(key=f"{domain}/{name}", index=index, domain=domain, name=name)
        )
        plain.append(
            PLAIN.format(
                parts=[domain, name],
                first=list(first),
                second=["feed", "airlines"],
                domain=domain,
                index=index,
            )
        )
    for domain, texts in documents.items():
        (project / "assets" / domain / "defs.yaml").write_text("---\n".join(texts))
    (project / "assets" / "feed").mkdir()
    (project / "assets" / "feed" / "defs.yaml").write_text(EXTERNAL)
    (project / "plain.py").write_text("".join(plain))


def alternated(project: Path, rounds: int) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Medians of both, measured in turns so that a busy machine slows both alike."""
    ours, plain = [], []
    for _ in range(rounds):
        ours.append(once(OURS_CODE, project))
        plain.append(once(PLAIN_CODE, project))
    return median(ours), median(plain)


def measured(code: str, project: Path, rounds: int) -> Mapping[str, float]:
    return median([once(code, project) for _ in range(rounds)])


def median(results: list[Mapping[str, float]]) -> Mapping[str, float]:
    return {name: statistics.median(result[name] for result in results) for name in results[0]}


def once(code: str, project: Path) -> Mapping[str, float]:
    started = time.time()
    run = subprocess.run(
        [sys.executable, "-c", code + REPORT, str(project)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if run.returncode:
        raise RuntimeError(run.stderr)
    report: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    # Not the end of the process: a code server serves then, and freeing objects is not part of loading.
    return {"seconds": report.pop("ready") - started, **report}


PARTS: Mapping[str, tuple[str, str]] = {
    "reading YAML": ("documents.py", "_document"),
    "validating the attributes": ("dataset.py", "declared"),
    "parsing the SQL": ("sql.py", "parse"),
    "planning (SQL apart)": ("planning.py", "dataset_plan"),
    "comparing the plans": ("graph.py", "consistent"),
    "Dagster's multi_asset": ("definition.py", "process_assets"),
    "Dagster's repository": ("definitions_class.py", "get_repository_def"),
}


def profile(project: Path) -> None:
    """The shares of one load, as cProfile sees them; the profiler itself makes small functions look dearer."""

    profiler = cProfile.Profile()
    profiler.enable()
    load_project(project)
    profiler.disable()
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = max(cumulative for _, _, _, cumulative, _ in stats.values())
    found: dict[str, float] = {}
    for (file, _, function), (_, _, _, cumulative, _) in stats.items():
        for part, (name, wanted) in PARTS.items():
            if function == wanted and file.endswith(f"/{name}"):
                found[part] = found.get(part, 0.0) + cumulative
    found["planning (SQL apart)"] -= found["parsing the SQL"]
    print("          what it is spent on, imports apart:")
    for part, seconds in sorted(found.items(), key=lambda item: -item[1]):
        print(f"          {part:<28} {seconds / total:>5.0%}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sizes", nargs="*", type=int, default=SIZES, help="how many datasets to load")
    main(tuple(arguments.parse_args().sizes))
