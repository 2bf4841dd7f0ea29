"""Cost of profiles: a write with `profile: full` against one with `basic`, and against the bare write of Spark.

Two shapes of 20 columns:
mixed  identifiers, whole numbers, doubles, decimals, dates, times, and texts of few and of many values
texts  16 texts of 40 to 300 characters that are all different, and 4 identifiers: the worst case of sketches
All ways take turns in the same run, after one warm-up of each: reading the same Parquet files and writing them again.
With --whylogs or --ydata, the interpreter of an environment that has it, that profiler profiles the first rows of
the same files (--peer-rows) in a process of its own, as both hold a pandas frame:
pip install whylogs "pyarrow<20" "pandas<3" "numpy<2"
pip install ydata-profiling pyarrow
Run: python -m benchmarks.profiles [--rows N] [--rounds N] [--shapes mixed,texts] [--whylogs PYTHON] [--ydata PYTHON]
"""

from __future__ import annotations

import subprocess
import time
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession

from benchmarks.workspace import Workspace, in_turns, removed, report, workspace
from headrace.catalog.records import DatasetRecord
from headrace.execution.plan import OutputPlan
from headrace.execution.profiling.measuring import observing, seen
from headrace.profiles.measures import measures
from headrace.stores.columns import conformed
from headrace.stores.tags import new_tag

_MIXED = (
    *(f"CAST(rand({n}) * {10 ** (n + 2)} AS BIGINT) AS whole_{n}" for n in range(4)),
    *(f"randn({n}) AS measure_{n}" for n in range(5)),
    *(f"concat('state ', CAST(rand({n + 20}) * {10 * (n + 1)} AS INT)) AS code_{n}" for n in range(5)),
    "md5(CAST(id AS STRING)) AS digest",
    "concat('user', id, '@example.com') AS address",
    "timestamp_seconds(1700000000 + id % 1000000) AS at",
    "date_add(DATE '2026-01-01', CAST(id % 365 AS INT)) AS day",
    "CAST(rand(9) * 1000 AS DECIMAL(12, 2)) AS price",
)
_TEXTS = (
    *(f"repeat(concat(md5(concat(id, '/{n}')), ' '), {1 + n % 9}) AS text_{n}" for n in range(16)),
    *(f"xxhash64(id, {n}) AS key_{n}" for n in range(3)),
)
SHAPES = {"mixed": _MIXED, "texts": _TEXTS}
_PEERS = {
    "whylogs": "import sys, pyarrow.parquet as p, whylogs\n"
    "frame = p.ParquetDataset(sys.argv[1]).read().slice(0, int(sys.argv[2])).to_pandas()\n"
    "import time; start = time.time(); whylogs.log(frame).view().to_pandas(); print(time.time() - start)",
    "ydata-profiling": "import sys, pyarrow.parquet as p\nfrom ydata_profiling import ProfileReport\n"
    "frame = p.ParquetDataset(sys.argv[1]).read().slice(0, int(sys.argv[2])).to_pandas()\n"
    "import time; start = time.time()\n"
    "ProfileReport(frame, minimal=True, progress_bar=False).get_description(); print(time.time() - start)",
}


def main(
    rows: Annotated[int, typer.Option(help="Rows of each shape.")] = 10_000_000,
    rounds: Annotated[int, typer.Option(help="Measured rounds.")] = 3,
    shapes: Annotated[str, typer.Option(help="Shapes, separated by commas.")] = ",".join(SHAPES),
    whylogs: Annotated[str | None, typer.Option(help="A Python with whylogs.")] = None,
    ydata: Annotated[str | None, typer.Option(help="A Python with ydata-profiling.")] = None,
    peer_rows: Annotated[int, typer.Option(help="Rows that these profile.")] = 1_000_000,
) -> None:
    """Measure and print seconds and ratios."""
    with workspace() as work:
        for shape in shapes.split(","):
            size = rows if shape == "mixed" else rows // 10
            raw = removed(work.home / "raw")
            work.spark.range(size).selectExpr("id", *SHAPES[shape]).write.parquet(raw)
            _measure(work, shape, size, rounds, raw)
            _compare(work.spark, raw, min(size, peer_rows), {"whylogs": whylogs, "ydata-profiling": ydata})


def _measure(work: Workspace, shape: str, rows: int, rounds: int, raw: str) -> None:
    def frame() -> DataFrame:
        return work.spark.read.parquet(raw)

    def bare(_: int) -> None:
        frame().write.mode("overwrite").parquet(str(work.home / "bare"))

    def written(profile: str) -> None:
        record = DatasetRecord(f"bench/{shape}", "parquet", metadata={"profile": profile})
        columns = conformed(frame(), (), record.key)
        observed, profiling = observing(frame(), OutputPlan(record), columns, 1)
        work.stores.named("files").write(observed, dataset=record.key, tag=new_tag())
        found = seen(profiling, rows)
        assert found is not None
        assert len(found) == (20 if profile == "full" else 0)
        assert all(measures(each)["distinct_count"] for each in found.values())
        removed(work.home / "warehouse")

    taken = in_turns(
        {
            "bare": bare,
            "basic": lambda _: written("basic"),
            "headrace": lambda _: written("full"),
        },
        rounds,
    )
    report(f"{shape}, {rows:,} rows, 20 columns, profile: full", taken)


def _compare(spark: SparkSession, raw: str, rows: int, pythons: dict[str, str | None]) -> None:
    """Profile the same rows with others, and by Spark's aggregates alone."""
    from headrace.checks.profiling import is_profiled
    from headrace.execution.profiling.measuring import read_back

    frame = spark.read.parquet(raw).limit(rows)
    columns = {name: type_ for name, type_ in frame.dtypes if is_profiled(type_)}
    frame.write.mode("overwrite").parquet(f"{raw}_part")
    start = time.perf_counter()
    read_back([spark.read.parquet(f"{raw}_part")], columns)
    typer.echo(f"  {rows:,} rows read and profiled alone: headrace {time.perf_counter() - start:.1f} s")
    for name, python in pythons.items():
        if python is None:
            typer.echo(f"  {name} is left out: no environment given")
            continue
        done = subprocess.run(
            [python, "-W", "ignore", "-c", _PEERS[name], f"{raw}_part", str(rows)],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = done.stdout.strip().splitlines()[-1:] if not done.returncode else []
        typer.echo(
            f"  {name}: {float(seconds[0]):.1f} s, without reading"
            if seconds
            else f"  {name} failed: {done.stderr.strip()[-200:]}"
        )


if __name__ == "__main__":
    typer.run(main)
