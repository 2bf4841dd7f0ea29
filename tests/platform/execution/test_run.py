"""A materialization: what is published, what is not and why, and what is reported to Dagster and the catalog."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.catalog.sensitivity import hidden_columns
from headrace.database.connection import transaction
from headrace.declarations.loading.project import load
from headrace.execution import materialization as run
from headrace.publishing.pins import pin
from headrace.publishing.publication import generations
from headrace.queries.pointers import newest
from headrace.spark.progress import progress
from tests.platform.projects import checks, failure, load_project, project_of, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

NUMBERS = """
type: headrace.Dataset
attributes:
  key: shop/numbers
  sql: SELECT id, id % 7 AS day FROM range({rows})
---
type: headrace.Dataset
attributes:
  key: shop/days
  sql: SELECT day, count(*) AS n FROM shop.numbers GROUP BY day
"""


def rows(engine: Engine, text: str) -> list[dict[str, object]]:
    with transaction(engine) as cursor:
        return cursor.execute(text).fetchall()


def test_a_chain_is_published_with_the_exact_versions_it_read(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=700)), engine)

    (result,) = project.materialize()

    assert result.success
    numbers, days = newest(engine, "shop/numbers"), newest(engine, "shop/days")
    assert numbers is not None
    assert days is not None
    assert (numbers.row_count, days.row_count) == (700, 7)
    edges = rows(engine, "SELECT dataset_version_id, input_version_id FROM catalog.version_input")
    assert [tuple(edge.values()) for edge in edges] == [(days.version_id, numbers.version_id)]
    states = rows(engine, "SELECT state FROM catalog.run_attempt")
    assert [state["state"] for state in states] == [RunState.SUCCESS, RunState.SUCCESS]


def test_dagster_sees_version_rows_schema_location_and_preview(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=700)), engine)

    (result,) = project.materialize("shop/days", "shop/numbers")

    event = {e.asset_key.to_user_string(): e for e in result.get_asset_materialization_events()}["shop/days"]
    materialization = event.materialization
    published = newest(engine, "shop/days")
    assert published is not None
    assert materialization.tags["dagster/data_version"] == published.tag
    assert materialization.tags["dagster/code_version"] == published.code_version
    assert materialization.metadata["dagster/row_count"].value == 7
    assert materialization.metadata["dagster/uri"].value == published.location
    assert f"/datasets/{published.dataset})" in str(materialization.metadata["catalog"].value)
    columns = materialization.metadata["dagster/column_schema"].value.columns
    assert [(column.name, column.type) for column in columns] == [("day", "bigint"), ("n", "bigint")]
    assert "| day | n |" in str(materialization.metadata["preview"].value)


def test_the_log_of_a_run_shows_sparks_progress(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "progress", partial(progress, interval=0.02))
    long = "SELECT count(*) AS n FROM range(0, 50000000, 1, 4) WHERE hash(id, id * 7) % 3 = 0"
    one = f"type: headrace.Dataset\nattributes: {{key: shop/long, sql: {long!r}}}\n"
    project = load_project(write_project(tmp_path, "shop", one), engine)

    (result,) = project.materialize()

    message = [entry.user_message for entry in project.instance.all_logs(result.run_id)]
    assert any(text.startswith("Spark: 1 job; stage") and text.endswith("/4 tasks") for text in message)


def test_sensitive_values_are_masked_in_the_preview(tmp_path: Path, engine: Engine) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: shop/people
  sql: SELECT 'ada@example.com' AS email, 1 AS orders
  schema:
    columns:
      email: {type: string, tags: [pii]}
      orders: int
"""
    project = load_project(write_project(tmp_path, "shop", declaration), engine)

    (result,) = project.materialize()

    (event,) = result.get_asset_materialization_events()
    preview = str(event.materialization.metadata["preview"].value)
    assert "ada@example.com" not in preview
    assert "| *** | 1 |" in preview


def test_a_column_without_a_schema_is_as_sensitive_as_the_one_it_comes_from(
    tmp_path: Path, engine: Engine
) -> None:
    declarations = """
type: headrace.Dataset
attributes:
  key: shop/people
  sql: SELECT 'ada@example.com' AS email, 1 AS orders
  schema: {columns: {email: {type: string, tags: [pii]}, orders: int}}
---
type: headrace.Dataset
attributes: {key: shop/copy, sql: "SELECT email AS address, orders AS email FROM shop.people"}
"""
    project = load_project(write_project(tmp_path, "shop", declarations), engine)

    (result,) = project.materialize()

    events = {e.asset_key.to_user_string(): e for e in result.get_asset_materialization_events()}
    assert "ada@example.com" not in str(events["shop/copy"].materialization.metadata)
    assert hidden_columns(engine, ["shop/copy"]) == {"shop/copy": frozenset({"address"})}
    (stored,) = rows(
        engine,
        "SELECT statistics::text FROM catalog.dataset_version WHERE path LIKE '%/shop/copy/%'",
    )
    assert "ada@example.com" not in stored["statistics"]


def test_what_stops_a_run_says_where_its_dataset_is_declared(tmp_path: Path, engine: Engine) -> None:
    declaration = """
type: headrace.Dataset
attributes: {key: shop/odd, sql: SELECT 1 AS a, spark: {spark.sql.shuffle.partitions: abc}}
"""
    project = load_project(write_project(tmp_path, "shop", declaration), engine)

    (result,) = project.materialize()

    assert "shop/odd is declared at assets/shop/defs.yaml:2" in failure(result)
    (attempt,) = rows(engine, "SELECT reason FROM catalog.run_attempt")
    assert "assets/shop/defs.yaml:2" in str(attempt["reason"])


def test_what_is_up_to_date_is_left_out_and_comes_back_when_the_code_changes(
    tmp_path: Path, engine: Engine
) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=700)), engine)
    project.materialize()

    assert project.materialize(stale_in=engine) == []

    changed = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=70)), engine)
    (result,) = changed.materialize(stale_in=engine)
    assert {key.to_user_string() for key in result.dagster_run.asset_selection or ()} == {
        "shop/numbers",
        "shop/days",
    }


CHECKED = """
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT id, amount FROM VALUES (1, {amount}), (2, 5) AS t(id, amount)
  schema:
    columns:
      id: {{type: int, nullable: false}}
      amount: {{type: int, checks: [{{greater_than_or_equal_to: 0}}]}}
"""


def test_a_failed_check_keeps_the_version_from_readers_and_the_pointer_where_it_was(
    tmp_path: Path, engine: Engine
) -> None:
    load_project(write_project(tmp_path, "shop", CHECKED.format(amount=3)), engine).materialize()
    before = newest(engine, "shop/orders")

    bad = load_project(write_project(tmp_path, "shop", CHECKED.format(amount=-3)), engine)
    (result,) = bad.materialize()

    assert "failed check" in failure(result)
    assert checks([result])["id_not_null"]
    assert not checks([result])["amount_greater_than_or_equal_to"]
    assert newest(engine, "shop/orders") == before
    stored = rows(engine, "SELECT outcome, path FROM catalog.dataset_version ORDER BY produced_at")
    assert [version["outcome"] for version in stored] == ["PUBLISHED", "BLOCKED"]
    assert Path(str(stored[1]["path"]).removeprefix("file:")).is_dir()
    (attempt,) = rows(engine, "SELECT reason FROM catalog.run_attempt WHERE state = 'BLOCKED'")
    assert "amount_greater_than_or_equal_to" in str(attempt["reason"])


@pytest.mark.parametrize("same_work", [True, False])
def test_an_overtaken_run_is_superseded_and_fails_unless_the_same_work_is_published(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, same_work: bool
) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=7)), engine)
    winner = (
        project
        if same_work
        else load_project(write_project(tmp_path / "other", "shop", NUMBERS.format(rows=8)), engine)
    )
    other: list[dg.ExecuteInProcessResult] = []

    def overtaken(*arguments: object) -> object:
        found = generations(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(run, "generations", generations)
        other.extend(winner.materialize("shop/numbers"))
        return found

    monkeypatch.setattr(run, "generations", overtaken)
    (result,) = project.materialize("shop/numbers")

    assert other[0].success
    assert other[0].run_id not in ("", result.run_id)
    published = newest(engine, "shop/numbers")
    assert published is not None
    states = rows(engine, "SELECT state, reason FROM catalog.run_attempt ORDER BY start_ts")
    assert [state["state"] for state in states] == [RunState.SUPERSEDED, RunState.SUCCESS]
    assert f"version {published.tag} was published by run {published.run_id}" in str(states[0]["reason"])
    assert result.success == same_work
    if same_work:
        (materialization,) = result.get_asset_materialization_events()
        assert (materialization.materialization.tags or {})["dagster/data_version"] == published.tag
    else:
        assert str(states[0]["reason"]) in failure(result)
    assert len(rows(engine, "SELECT 1 FROM catalog.pointer_move")) == 1


def test_a_breaking_schema_change_stops_unless_it_is_allowed(tmp_path: Path, engine: Engine) -> None:
    declaration = "type: headrace.Dataset\nattributes:\n  key: shop/people\n  sql: {sql}\n{more}"
    load_project(
        write_project(tmp_path, "shop", declaration.format(sql="SELECT 1 AS id, 'x' AS name", more="")),
        engine,
    ).materialize()
    before = newest(engine, "shop/people")

    without_name = declaration.format(sql="SELECT 1 AS id", more="")
    (refused,) = load_project(write_project(tmp_path, "shop", without_name), engine).materialize()
    assert "column name (string) was removed" in failure(refused)
    assert "assets/shop/defs.yaml:1" in failure(refused)
    assert newest(engine, "shop/people") == before

    allowed = declaration.format(sql="SELECT 1 AS id", more="  allow_breaking_schema_change: true\n")
    (result,) = load_project(write_project(tmp_path, "shop", allowed), engine).materialize()
    assert result.success


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nothing FROM shop.numbers", "nothing"),
        ("SELECT CAST('x' AS INT) AS id FROM range(1)", "x"),
    ],
)
def test_code_that_spark_refuses_fails_with_its_place_and_reason(
    tmp_path: Path, engine: Engine, sql: str, message: str
) -> None:
    declaration = (
        NUMBERS.format(rows=7)
        + f"---\ntype: headrace.Dataset\nattributes:\n  key: shop/wrong\n  sql: {sql}\n"
    )
    project = load_project(write_project(tmp_path, "shop", declaration), engine)
    project.materialize("shop/numbers")

    (result,) = project.materialize("shop/wrong")

    assert message in failure(result)
    (attempt,) = rows(engine, "SELECT reason FROM catalog.run_attempt WHERE state = 'FAILED'")
    assert message in str(attempt["reason"])
    assert newest(engine, "shop/wrong") is None


def test_a_missing_input_version_says_what_to_materialize(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=7)), engine)

    (result,) = project.materialize("shop/days")

    assert "headrace materialize shop/numbers" in failure(result)


def test_a_pin_for_a_consumer_decides_what_it_reads(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=7)), engine)
    project.materialize("shop/numbers")
    first = newest(engine, "shop/numbers")
    assert first is not None
    pin(engine, "shop/numbers", first.tag, consumer="shop/days", by="ada", reason="quarter end")
    project.materialize("shop/numbers")

    (result,) = project.materialize("shop/days")

    assert result.success
    (edge,) = rows(engine, "SELECT input_version_id FROM catalog.version_input")
    assert edge["input_version_id"] == first.version_id


DAILY = """
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT explode(sequence(:partition_start, date_sub(:partition_end, 1))) AS day
  partitions: {type: daily, start: "2024-01-01", end: "2024-02-01", column: day, ranges: true}
"""


def test_a_range_is_one_run_and_one_version_for_each_partition(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", DAILY), engine)

    (result,) = project.materialize("shop/sales", partitions=("2024-01-05", "2024-01-09"))

    assert result.success
    events = result.get_asset_materialization_events()
    assert [event.partition for event in events] == [f"2024-01-0{day}" for day in range(5, 10)]
    assert {e.materialization.metadata["dagster/partition_row_count"].value for e in events} == {1}
    stored = rows(engine, "SELECT DISTINCT version_tag FROM catalog.dataset_version")
    assert len(stored) == 1
    assert len(rows(engine, "SELECT 1 FROM catalog.published_pointer WHERE generation > 0")) == 5


CHECKED_DAYS = """
type: headrace.Dataset
attributes:
  key: shop/days
  sql: >-
    SELECT explode(sequence(:partition_start, date_sub(:partition_end, 1))) AS day
  partitions: {type: daily, start: "2024-01-01", end: "2024-02-01", column: day RANGES}
  schema: {columns: {day: date}}
  checks: [{name: early, sql: "dayofmonth(day) < 7", severity: warning}]
"""


def test_a_range_names_the_partitions_where_a_check_fails(tmp_path: Path, engine: Engine) -> None:
    ranges = CHECKED_DAYS.replace(" RANGES", ", ranges: true")
    project = load_project(write_project(tmp_path, "shop", ranges), engine)

    (result,) = project.materialize("shop/days", partitions=("2024-01-05", "2024-01-14"))

    found = {each.check_name: each for each in result.get_asset_check_evaluations()}
    failed = [f"2024-01-{day:02}" for day in range(7, 15)]
    early = found["early"]
    assert early.description == (f"8 rows failed in 8 of 10 partitions: {', '.join(failed[:5])} and 3 more.")
    assert early.metadata["failed_in"].value == failed
    assert early.metadata["partitions_failed"].value == 8
    assert found["partition"].passed
    assert found["partition"].metadata["partitions_checked"].value == 10


def test_a_check_has_a_result_for_each_partition_that_is_a_run_of_its_own(
    tmp_path: Path, engine: Engine
) -> None:
    project = load_project(write_project(tmp_path, "shop", CHECKED_DAYS.replace(" RANGES", "")), engine)

    project.materialize("shop/days", partitions=("2024-01-06", "2024-01-07"))
    project.materialize("shop/days", partitions=("2024-01-05", "2024-01-05"))

    infos = project.instance.event_log_storage.get_asset_check_partition_info(
        [dg.AssetCheckKey(dg.AssetKey(["shop", "days"]), "early")]
    )
    assert {info.partition_key: info.latest_execution_status.value for info in infos} == {
        "2024-01-05": "SUCCEEDED",
        "2024-01-06": "SUCCEEDED",
        "2024-01-07": "FAILED",
    }
    assert all(info.is_current for info in infos)


LABELLED = """
type: headrace.Dataset
attributes:
  key: shop/labelled
  sql: SELECT explode(sequence(:partition_start, date_sub(:partition_end, 1))) AS day, :partition_start AS label
  partitions: {type: daily, start: "2024-01-01", end: "2024-01-03", column: day}
"""


def test_partitions_are_computed_one_by_one_unless_the_author_says_otherwise(
    tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    project = load_project(write_project(tmp_path, "shop", LABELLED), engine)

    results = project.materialize("shop/labelled", partitions=("2024-01-01", "2024-01-02"))

    assert [result.success for result in results] == [True, True]
    places = [str(row["path"]) for row in rows(engine, "SELECT path FROM catalog.dataset_version")]
    assert {tuple(row) for row in spark.read.parquet(*places).collect()} == {
        (date(2024, 1, 1), date(2024, 1, 1)),
        (date(2024, 1, 2), date(2024, 1, 2)),
    }


ONE_KEY = """
type: headrace.Dataset
attributes:
  key: shop/one_key
  python: code.py:one_key
  partitions: {type: static, keys: [a, b], column: name, ranges: true}
"""


def test_python_that_uses_the_key_of_a_range_gets_an_error_with_the_parameters(
    tmp_path: Path, engine: Engine
) -> None:
    code = "def one_key(context):\n    return context.spark.range(1).where(context.parameters['partition_key'])\n"
    project = load_project(write_project(tmp_path, "shop", ONE_KEY, code_py=code), engine)

    (result,) = project.materialize("shop/one_key", partitions=("a", "a"))

    assert "code.py:2: the run has no parameter 'partition_key', as `ranges: true`" in failure(result)
    assert "it has: partition_keys" in failure(result)


HOURLY = """
type: headrace.Dataset
attributes:
  key: shop/hours
  sql: SELECT :partition_start + make_dt_interval(0, 0, 30) AS at
  partitions: {type: hourly, start: "2013-10-27-00:00", end: "2013-10-28-00:00", timezone: Europe/Berlin, column: at}
"""


def test_the_hour_that_comes_twice_is_two_partitions(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", HOURLY), engine)

    results = project.materialize("shop/hours", partitions=("2013-10-27-02:00", "2013-10-27-02:00+0100"))

    assert [result.success for result in results] == [True, True]
    published = rows(engine, "SELECT partition_key, row_count FROM catalog.dataset_version ORDER BY 1")
    assert [tuple(row.values()) for row in published] == [
        ("2013-10-27-02:00", 1),
        ("2013-10-27-02:00+0100", 1),
    ]


NEW_YORK = """
type: headrace.Dataset
attributes:
  key: shop/half_hours
  sql: |
    WITH times AS (
      SELECT explode(
        sequence(timestamp'2026-03-06 00:00:00Z', timestamp'2026-03-11 00:00:00Z', interval 30 minutes)
      ) AS at
    )
    SELECT at FROM times WHERE at >= :partition_start AND at < :partition_end
  partitions: {type: daily, start: 2026-03-07, end: 2026-03-10, timezone: America/New_York, column: at}
"""


def test_a_day_of_a_time_zone_starts_and_ends_there(tmp_path: Path, engine: Engine) -> None:
    """2026-03-08 has 23 hours in New York."""
    project = load_project(write_project(tmp_path, "shop", NEW_YORK), engine)

    results = project.materialize("shop/half_hours", partitions=("2026-03-07", "2026-03-08"))

    assert [result.success for result in results] == [True, True]
    published = rows(engine, "SELECT partition_key, row_count FROM catalog.dataset_version ORDER BY 1")
    assert [tuple(row.values()) for row in published] == [("2026-03-07", 48), ("2026-03-08", 46)]


READER = """
---
type: headrace.Dataset
attributes:
  key: shop/reader
  sql: SELECT day FROM sales
  partitions: {type: daily, start: "2024-01-01", end: "2024-02-01", column: day}
"""


def test_a_reader_of_a_broken_dataset_runs_on_what_was_published(tmp_path: Path, engine: Engine) -> None:
    load_project(write_project(tmp_path, "shop", DAILY + READER), engine).materialize(
        "shop/sales", partitions=("2024-01-05", "2024-01-06")
    )
    write_project(tmp_path, "shop", DAILY.replace("explode(", "explode((") + READER)
    loaded = load(tmp_path)
    assert [problem.field for problem in loaded.problems] == ["sql"]
    project = project_of(loaded, engine)

    (result,) = project.materialize("shop/reader", partitions=("2024-01-05", "2024-01-05"))
    (missing,) = project.materialize("shop/reader", partitions=("2024-01-07", "2024-01-07"))

    assert result.success
    published = newest(engine, "shop/reader")
    assert published is not None
    assert (published.partition, published.row_count) == ("2024-01-05", 1)
    assert "2024-01-07" in failure(missing)


def test_re_executing_a_finished_run_makes_a_new_version(tmp_path: Path, engine: Engine) -> None:
    project = load_project(write_project(tmp_path, "shop", NUMBERS.format(rows=7)), engine)
    (first,) = project.materialize("shop/numbers")
    job = project.definitions.resolve_implicit_global_asset_job_def()

    again = job.execute_in_process(
        instance=project.instance,
        asset_selection=[dg.AssetKey(["shop", "numbers"])],
        tags={"dagster/root_run_id": first.run_id, "dagster/parent_run_id": first.run_id},
    )

    assert again.success
    assert len(rows(engine, "SELECT 1 FROM catalog.dataset_version")) == 2


def test_a_dataset_can_pass_steps_and_write_several_outputs_in_one_publish(
    tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    declaration = """
type: headrace.Process
attributes:
  steps:
    - {name: halves, sql: "SELECT id, id % 2 AS half FROM range(10)"}
  outputs:
    - {key: shop/even, sql: SELECT id FROM halves WHERE half = 0}
    - {key: shop/odd, sql: SELECT id FROM halves WHERE half = 1}
"""
    project = load_project(write_project(tmp_path, "shop", declaration), engine)

    (result,) = project.materialize()

    assert result.success
    versions = [newest(engine, "shop/even"), newest(engine, "shop/odd")]
    assert [version.row_count if version else None for version in versions] == [5, 5]
    moved = rows(engine, "SELECT DISTINCT xmin FROM catalog.pointer_move")
    assert len(moved) == 1


def test_a_dataset_may_lie_somewhere_else(tmp_path: Path, engine: Engine) -> None:
    elsewhere = (tmp_path / "else where").as_uri()
    declaration = (
        "type: headrace.Dataset\nattributes:\n  key: shop/numbers\n  sql: SELECT 1 AS id\n"
        f"  output: {{location: {elsewhere}}}\n"
    )
    project = load_project(write_project(tmp_path / "project", "shop", declaration), engine)

    (result,) = project.materialize()

    assert result.success
    published = newest(engine, "shop/numbers")
    assert published is not None
    assert (tmp_path / "else where" / "shop" / "numbers" / published.tag).is_dir()
    assert (tmp_path / "else where" / "shop" / "numbers" / "_published" / "current.json").exists()
