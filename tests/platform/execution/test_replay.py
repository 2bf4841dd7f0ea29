"""A version is computed again from its exact inputs, and compared with what it holds."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.errors import VersionExpired
from headrace.execution.replay import Replay, ReplayRefused, Verdict, replay
from headrace.queries.pointers import newest
from headrace.queries.versions import tagged
from headrace.settings import settings
from tests.platform.execution.growing import Feed
from tests.platform.projects import Project, failure, load_project, write_project

NUMBERS = """
type: headrace.Dataset
attributes:
  key: shop/numbers
  sql: SELECT id FROM range(5)
---
type: headrace.Dataset
attributes:
  key: shop/doubled
  schema: {columns: {id: bigint, double: bigint}}
  checks: [{unique: [id]}, {references: {columns: [id], to: numbers}}]
  sql: SELECT id, id * 2 AS double FROM shop.numbers
"""
DAILY = """
type: headrace.Dataset
attributes:
  key: shop/daily
  partitions: {type: static, keys: [a, b], column: day}
  sql: SELECT :partition_key AS day, 1 AS n
"""


def again(engine: Engine, spark: SparkSession, project: Project, key: str, tag: str | None = None) -> Replay:
    [plan] = [each for each in project.plans if each.record.key == key]
    if tag is None:
        with transaction(engine) as cursor:
            row = cursor.execute(
                "SELECT version_tag FROM catalog.dataset_version JOIN catalog.dataset USING (dataset_id) "
                "WHERE full_name = %s ORDER BY produced_at DESC LIMIT 1",
                [key],
            ).fetchone()
        assert row is not None
        tag = row["version_tag"]
    return replay(
        engine,
        plan,
        plan.outputs[0],
        tagged(engine, key, tag),
        spark,
        Path.cwd(),
        project.definitions.resolve_asset_graph(),
    )


def materialized(root: Path, engine: Engine, declarations: str) -> Project:
    project = load_project(write_project(root, "shop", declarations), engine)
    project.materialize()
    return project


def test_a_version_is_computed_again_from_the_inputs_of_then(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    materialized(tmp_path / "1", engine, NUMBERS)
    project = materialized(tmp_path / "2", engine, NUMBERS.replace("range(5)", "range(6)"))
    with transaction(engine) as cursor:
        first, second = [
            row["version_tag"]
            for row in cursor.execute(
                "SELECT version_tag FROM catalog.dataset_version JOIN catalog.dataset USING (dataset_id) "
                "WHERE full_name = 'shop/doubled' ORDER BY produced_at"
            )
        ]

    found = again(engine, spark, project, "shop/doubled", first)

    assert (found.verdict, found.rows, found.functions) == (Verdict.IDENTICAL, 5, [])
    assert found.environment == {}
    assert again(engine, spark, project, "shop/doubled", second).rows == 6


def test_what_is_computed_again_is_deleted(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    project = materialized(tmp_path, engine, NUMBERS)

    again(engine, spark, project, "shop/doubled")

    warehouse = Path(settings().warehouse_uri.removeprefix("file://"))
    assert [each for each in (warehouse / "_replay").rglob("*") if each.is_file()] == []


def test_random_rows_differ_and_the_function_is_named(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    random = NUMBERS.replace("id * 2 AS double", "CAST(rand() * 1e15 AS bigint) AS double")
    project = materialized(tmp_path, engine, random)

    found = again(engine, spark, project, "shop/doubled")

    assert (found.verdict, found.functions) == (Verdict.DIFFERENT, ["rand"])
    assert found.comparison is not None
    assert (found.comparison.key, found.comparison.changed) == (("id",), 5)
    assert found.comparison.samples["changed"]


def test_equal_rows_in_other_files_are_equal(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    project = materialized(tmp_path, engine, NUMBERS)
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.dataset_version SET checksum = 'of another Parquet writer'")

    assert again(engine, spark, project, "shop/doubled").verdict is Verdict.EQUAL


def test_partitions_of_one_tag_are_computed_together(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    project = load_project(write_project(tmp_path, "shop", DAILY), engine)
    project.materialize("shop/daily", partitions=("b", "b"))

    found = again(engine, spark, project, "shop/daily")

    assert (found.verdict, found.rows) == (Verdict.IDENTICAL, 1)


def test_other_code_is_refused_and_the_commit_of_the_version_named(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    materialized(tmp_path / "1", engine, NUMBERS)
    project = load_project(write_project(tmp_path / "2", "shop", NUMBERS.replace("* 2", "* 3")), engine)

    with pytest.raises(
        ReplayRefused, match=r"the code of shop/doubled is not the one that wrote version .*commit"
    ):
        again(engine, spark, project, "shop/doubled")


def test_an_expired_input_is_refused(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    project = materialized(tmp_path, engine, NUMBERS)
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.expired_version SELECT dataset_version_id, version.organisation_id, now() "
            "FROM catalog.dataset_version version JOIN catalog.dataset USING (dataset_id) "
            "WHERE full_name = 'shop/numbers'"
        )

    with pytest.raises(VersionExpired, match="of shop/numbers expired"):
        again(engine, spark, project, "shop/doubled")


def test_two_readings_of_one_dataset_are_refused(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    twice = NUMBERS.replace(
        "  sql: SELECT id, id * 2 AS double FROM shop.numbers",
        "  inputs: [{dataset: shop/numbers, as: one}, {dataset: shop/numbers, as: other}]\n"
        "  sql: SELECT one.id, other.id * 2 AS double FROM one JOIN other USING (id)",
    ).replace("to: numbers", "to: one")
    project = materialized(tmp_path, engine, twice)

    with pytest.raises(ReplayRefused, match="reads shop/numbers in two ways"):
        again(engine, spark, project, "shop/doubled")


def test_a_dataset_that_reads_its_own_previous_version_is_computed_again_from_it(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    counted = NUMBERS.replace(
        "SELECT id, id * 2 AS double FROM shop.numbers",
        "|\n    SELECT id, double FROM self\n    UNION ALL SELECT id, id FROM shop.numbers",
    ).replace("  checks: [{unique: [id]}, {references: {columns: [id], to: numbers}}]\n", "")
    materialized(tmp_path / "1", engine, counted)
    project = materialized(tmp_path / "2", engine, counted.replace("range(5)", "range(5, 7)"))

    found = again(engine, spark, project, "shop/doubled")

    assert (found.verdict, found.rows) == (Verdict.IDENTICAL, 7)


GROWING = """
type: headrace.ExternalDataset
attributes:
  key: shop/feed
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-05"}
---
type: headrace.Dataset
attributes:
  key: shop/ledger
  sql: SELECT day, id, amount FROM feed
  incremental: {INCREMENTAL}
"""


@pytest.mark.parametrize(
    "incremental",
    ["mode: append, partition: day", "mode: merge, keys: [id], order_by: day", "mode: scd2, keys: [id]"],
)
def test_each_version_of_a_dataset_that_grows_is_computed_again_from_the_one_before(
    incremental: str, engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    columns = {"day": "date", "id": "bigint", "amount": "bigint"}
    project = load_project(
        write_project(tmp_path, "shop", GROWING.replace("INCREMENTAL", incremental)), engine
    )
    feed, tags = Feed(engine, tmp_path, "shop/feed", columns), []
    for day, amount in (1, 10), (2, 20), (1, 11):  # the last corrects the first
        rows = [{"day": date(2026, 1, day), "id": id, "amount": amount} for id in range(3)]
        feed.publish(rows, f"2026-01-0{day}")
        [result] = project.materialize("shop/ledger")
        assert result.success, failure(result)
        published = newest(engine, "shop/ledger")
        assert published is not None
        tags.append((published.tag, published.row_count))

    for tag, row_count in tags:
        found = again(engine, spark, project, "shop/ledger", tag)
        assert found.verdict in (Verdict.IDENTICAL, Verdict.EQUAL)
        assert found.rows == row_count


def test_other_columns_are_different_even_if_the_common_ones_are_equal(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    project = materialized(tmp_path, engine, NUMBERS)
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.dataset_schema SET column_name = 'twice' WHERE column_name = 'double'")

    found = again(engine, spark, project, "shop/doubled")

    assert found.verdict is Verdict.DIFFERENT
    assert found.schema.breaking


def test_rows_with_repeated_keys_are_compared_as_a_whole(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    repeated = NUMBERS.replace("{unique: [id]}", "{unique: [id], severity: warning}").replace(
        "SELECT id, id * 2", "SELECT id % 2 AS id, id * 2"
    )
    project = materialized(tmp_path, engine, repeated)
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.dataset_version SET checksum = 'of another Parquet writer'")

    assert again(engine, spark, project, "shop/doubled").verdict is Verdict.EQUAL
