"""Cost of a backfill of daily partitions: Spark's own write, what Dagster adds, what Headrace adds.

The same query over the same days three ways, in the same process, taking turns at each day: a bare PySpark write; a
plain Dagster asset around that write, with a resource and as many checks, launched by its key as Dagster's own command
does; the dataset declared in Headrace (pinned, checked, published). Day by day, and as one range. What a layer adds is
the median of its differences from the layer below, day for day, which other work on the machine disturbs least.
Dagster's instance is the product's own, on PostgreSQL.
Run: python -m benchmarks.backfill [--days N] [--json]
"""

import json
import logging
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import dagster as dg
import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = date(2024, 1, 1)
QUERY = """
SELECT date_add(:first, CAST(id DIV 1000 AS INT)) AS day, id, id % 97 AS shop, rand(7) * 100 AS amount
FROM range(:days * 1000)
"""
DECLARATION = """
type: headrace.Dataset
attributes:
  key: bench/sales
  sql: >-
    SELECT date_add(:partition_start, CAST(id DIV 1000 AS INT)) AS day, id, id % 97 AS shop,
    rand(7) * 100 AS amount
    FROM range(datediff(:partition_end, :partition_start) * 1000)
  partitions: {type: daily, start: "2024-01-01", end: "2024-12-31", column: day, ranges: true}
  schema:
    columns:
      day: {type: date, nullable: false}
      id: {type: bigint, nullable: false}
      shop: {type: bigint, checks: [{in_range: {min_value: 0, max_value: 96}}]}
      amount: {type: double, checks: [{greater_than_or_equal_to: 0}]}
"""
PYPROJECT = '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "assets"\n'

Case = Callable[[int, int], None]  # first day's number, how many days


def main(
    days: Annotated[int, typer.Option(help="Days run one by one; a range always covers 365.")] = 30,
    rounds: Annotated[int, typer.Option(help="Turns at all days, and at the range.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure and print seconds per partition and who they go to."""
    with _cases() as cases:
        for case in cases.values():
            case(0, 1)
        report = {
            "one by one": _measured(cases, [(day, 1) for day in range(days)], rounds),
            "one range": _measured(cases, [(0, 365)], rounds),
        }
    if as_json:
        typer.echo(json.dumps({"cpus": os.cpu_count(), **report}, indent=2))
        return
    table = Table("", "Spark", "Dagster adds", "Headrace adds", title="Milliseconds per partition (medians)")
    for name, figures in report.items():
        table.add_row(name, *(f"{figures[who]:.1f}" for who in ("spark", "dagster", "headrace")))
    Console().print(table)
    Console().print(
        f"{os.cpu_count()} CPUs, {rounds} rounds, {days} days one by one and 365 days as one range."
    )


def _measured(cases: dict[str, Case], pieces: list[tuple[int, int]], rounds: int) -> dict[str, float]:
    """Milliseconds per partition of each layer: the medians of what it takes more than the one below, side by side."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for first, count in pieces:
            for name, case in cases.items():
                began = time.perf_counter()
                case(first, count)
                taken[name].append((time.perf_counter() - began) / count * 1000)
    spark, dagster, headrace = (taken[name] for name in ("spark", "dagster", "headrace"))
    return {
        "spark": statistics.median(spark),
        "dagster": statistics.median(map(sub, dagster, spark)),
        "headrace": statistics.median(map(sub, headrace, dagster)),
        "total": statistics.median(headrace),
    }


@contextmanager
def _cases() -> Iterator[dict[str, Case]]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["HEADRACE_HOME"] = str(home / "state")
        from headrace.database import embedded
        from headrace.local.environment import environment

        os.environ.update(environment())
        logging.getLogger("dagster").setLevel(logging.CRITICAL)

        try:
            with dg.DagsterInstance.get() as instance:
                yield _three_ways(home, instance)
        finally:
            embedded.stop(home / "state")


def _three_ways(home: Path, instance: dg.DagsterInstance) -> dict[str, Case]:

    from headrace.database.connection import connect
    from headrace.declarations.loading.project import load, records
    from headrace.execution.plan import ProcessPlan
    from headrace.orchestration.materialization import PlannedRun, execute
    from headrace.registration.declarations import register
    from headrace.spark.session import SparkResource

    spark = SparkResource()
    keys = [(START + timedelta(days=day)).isoformat() for day in range(365)]
    project = home / "project"
    (project / "assets" / "bench").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PYPROJECT)
    (project / "assets" / "bench" / "defs.yaml").write_text(DECLARATION)
    loaded = load(project)
    register(connect(), *records(loaded.plans))
    plan = next(plan for plan in loaded.plans if isinstance(plan, ProcessPlan))
    declared = dg.Definitions.merge(loaded.definitions, dg.Definitions(resources={"spark": spark}))
    plain = dg.Definitions(
        assets=[_plain_asset(home, spark, [c.name for c in plan.outputs[0].record.checks])],
        resources={"spark": spark},
    )

    def by_headrace(first: int, count: int) -> None:
        assert execute(declared, PlannedRun((plan,), tuple(keys[first : first + count])), instance).success

    def by_dagster(first: int, count: int) -> None:
        selected = [dg.AssetKey(["plain", "sales"])]
        job = plain.get_repository_def().get_implicit_job_def_for_assets(selected)
        assert job is not None
        tags = PlannedRun((plan,), tuple(keys[first : first + count])).tags
        assert job.execute_in_process(instance=instance, asset_selection=selected, tags=dict(tags)).success

    def by_spark(first: int, count: int) -> None:
        _bare_write(spark.session, home / "bare", keys[first], count)

    return {"spark": by_spark, "dagster": by_dagster, "headrace": by_headrace}


def _plain_asset(home: Path, spark: Any, checks: list[str]) -> Any:  # noqa: ANN401 - Dagster's decorator
    """The bare write as an asset with as many checks, which all pass: the events that Dagster keeps are the same."""

    @dg.asset(
        key=["plain", "sales"],
        check_specs=[dg.AssetCheckSpec(name, asset=["plain", "sales"]) for name in checks],
        required_resource_keys={"spark"},
        partitions_def=dg.DailyPartitionsDefinition(start_date=START.isoformat(), end_date="2024-12-31"),
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def sales(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        _bare_write(spark.session, home / "plain", context.partition_keys[0], len(context.partition_keys))
        yield dg.MaterializeResult(
            check_results=[dg.AssetCheckResult(passed=True, check_name=name) for name in checks]
        )

    return sales


def _bare_write(session: "SparkSession", folder: Path, first: str, days: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    frame = session.sql(QUERY, args={"first": date.fromisoformat(first), "days": days})
    if days == 1:
        frame.write.parquet(str(folder))
    else:
        frame.hint("rebalance", "day").write.partitionBy("day").parquet(str(folder))


if __name__ == "__main__":
    typer.run(main)
