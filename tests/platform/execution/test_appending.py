"""Datasets to which the new rows of an input are appended."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.execution import materialization
from headrace.execution.incremental.taken import TakenIn
from headrace.execution.writing import write
from headrace.publishing.rollback import rollback
from headrace.queries.pointers import newest
from headrace.queries.versions import version, versions
from headrace.stores.store import OpenStores
from tests.platform.execution.growing import Feed, stored
from tests.platform.projects import Project, checks, failure, load_project, write_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

BY_PARTITION = """
type: headrace.ExternalDataset
attributes:
  key: shop/feed
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-05"}
---
type: headrace.Dataset
attributes:
  key: shop/ledger
  sql: SELECT day, id, amount * FACTOR AS amount FROM feed
  incremental: {mode: append, partition: day}
  checks: [{unique: [day, id]}]
"""
COLUMNS = {"day": "date", "id": "bigint", "amount": "bigint"}


def row(day: int, id: int, amount: int) -> dict[str, object]:
    return {"day": date(2026, 1, day), "id": id, "amount": amount}


def project(tmp_path: Path, engine: Engine, text: str = BY_PARTITION, factor: int = 1) -> Project:
    return load_project(
        write_project(tmp_path / "project", "shop", text.replace("FACTOR", str(factor))), engine
    )


def run(project: Project, dataset: str = "shop/ledger", *, full_refresh: bool = False) -> None:
    (result,) = project.materialize(dataset, full_refresh=full_refresh)
    assert result.success, failure(result)


def tags(engine: Engine, dataset: str = "shop/ledger") -> list[str]:
    return [each.version.tag for each in versions(engine, dataset)]


def test_each_run_adds_the_partitions_that_are_new(tmp_path: Path, engine: Engine) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    first = feed.publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    one = newest(engine, "shop/ledger")
    second = feed.publish([row(2, 1, 20), row(2, 2, 21)], "2026-01-02")
    run(shop)

    assert stored(engine, "shop/ledger") == [row(1, 1, 10), row(2, 1, 20), row(2, 2, 21)]
    two = newest(engine, "shop/ledger")
    assert one is not None
    assert two is not None
    taken = TakenIn.of(two)
    assert taken is not None
    assert taken.versions == {
        "2026-01-01": first.version.version_id,
        "2026-01-02": second.version.version_id,
    }


def test_the_version_before_and_the_new_partitions_are_its_exact_inputs(
    tmp_path: Path, engine: Engine
) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    (first,) = tags(engine)
    feed.publish([row(2, 1, 20)], "2026-01-02")
    run(shop)

    inputs = version(engine, "shop/ledger").inputs

    assert {(each.dataset, each.partition, each.tag) for each in inputs} == {
        ("shop/ledger", None, first),
        ("shop/feed", "2026-01-02", "f2"),
    }
    with transaction(engine) as cursor:
        edges = cursor.execute(
            "SELECT DISTINCT source_id = target_id AS own FROM catalog.lineage_edge WHERE edge_role = 'DERIVES'"
        ).fetchall()
    assert edges == [{"own": False}]


def test_a_run_without_anything_new_makes_no_version_and_says_so(
    tmp_path: Path, engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    shop = project(tmp_path, engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    before = tags(engine)

    (result,) = shop.materialize("shop/ledger")

    assert result.success
    assert tags(engine) == before
    assert f"nothing new; version {before[0]} has taken in everything" in capfd.readouterr().err
    (event,) = result.get_asset_materialization_events()
    assert event.materialization.tags["dagster/data_version"] == before[0]
    assert checks([result]) == {"unique_day_id": True}
    assert shop.materialize("shop/ledger", stale_in=engine) == []


def test_a_check_that_the_published_version_was_not_asked_has_not_passed(
    tmp_path: Path, engine: Engine
) -> None:
    shop = project(tmp_path, engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    more = project(tmp_path, engine, BY_PARTITION.replace("[{unique", "[{row_count: {min: 1}}, {unique"))

    results = more.materialize("shop/ledger")

    assert checks(results) == {"row_count": False, "unique_day_id": True}
    run(more, full_refresh=True)


def test_a_corrected_partition_replaces_its_rows_and_no_others(tmp_path: Path, engine: Engine) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10), row(1, 2, 11)], "2026-01-01")
    feed.publish([row(2, 1, 20)], "2026-01-02")
    run(shop)
    feed.publish([row(1, 1, 12)], "2026-01-01")
    assert len(shop.materialize("shop/ledger", stale_in=engine)) == 1

    assert stored(engine, "shop/ledger") == [row(1, 1, 12), row(2, 1, 20)]
    read = {each.tag for each in version(engine, "shop/ledger").inputs if each.dataset == "shop/feed"}
    assert read == {"f3"}


def test_a_rolled_back_dataset_continues_from_the_version_that_is_published(
    tmp_path: Path, engine: Engine
) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    (first,) = tags(engine)
    feed.publish([row(2, 1, 20)], "2026-01-02")
    run(shop)
    rollback(engine, "shop/ledger", None, first, by="test", reason="test")
    feed.publish([row(3, 1, 30)], "2026-01-03")
    run(shop)

    assert stored(engine, "shop/ledger") == [row(1, 1, 10), row(2, 1, 20), row(3, 1, 30)]


def test_an_input_partition_that_is_rolled_back_is_taken_in_again(tmp_path: Path, engine: Engine) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    feed.publish([row(1, 1, 11)], "2026-01-01")
    run(shop)
    feed.roll_back("f1", "2026-01-01")
    run(shop)

    assert stored(engine, "shop/ledger") == [row(1, 1, 10)]


def test_changed_code_leaves_the_history_and_a_full_refresh_computes_it_again(
    tmp_path: Path, engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    shop = project(tmp_path, engine)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    changed = project(tmp_path, engine, factor=2)
    feed.publish([row(2, 1, 20)], "2026-01-02")

    run(changed)

    assert stored(engine, "shop/ledger") == [row(1, 1, 10), row(2, 1, 40)]
    assert (
        "were built from other code; `headrace materialize shop/ledger --full-refresh`"
        in capfd.readouterr().err
    )
    assert len(changed.materialize("shop/ledger", stale_in=engine)) == 1  # still not by this code alone
    run(changed, full_refresh=True)
    assert stored(engine, "shop/ledger") == [row(1, 1, 20), row(2, 1, 40)]
    assert changed.materialize("shop/ledger", stale_in=engine) == []


def test_another_way_to_grow_is_refused_until_a_full_refresh(tmp_path: Path, engine: Engine) -> None:
    Feed(engine, tmp_path, "shop/feed", COLUMNS)
    shop = project(tmp_path, engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    merging = BY_PARTITION.replace("append, partition: day", "merge, keys: [day, id], order_by: amount")
    changed = project(tmp_path, engine, merging)

    (refused,) = changed.materialize("shop/ledger")

    assert "`incremental` has changed since version" in failure(refused)
    assert "`headrace materialize shop/ledger --full-refresh`" in failure(refused)
    run(changed, full_refresh=True)


def test_a_dataset_that_becomes_incremental_starts_from_nothing(tmp_path: Path, engine: Engine) -> None:
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    whole = "\n".join(line for line in BY_PARTITION.splitlines() if "incremental" not in line)
    before = project(tmp_path, engine, whole)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    run(before)

    run(project(tmp_path, engine))

    assert stored(engine, "shop/ledger") == [row(1, 1, 10)]
    assert len(tags(engine)) == 2


def test_a_row_of_a_partition_that_was_not_read_stops_the_run(tmp_path: Path, engine: Engine) -> None:
    shop = project(tmp_path, engine)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([row(2, 1, 10)], "2026-01-01")

    (refused,) = shop.materialize("shop/ledger")

    assert "`incremental.partition` gives a row a partition that the run did not read" in failure(refused)
    assert tags(engine) == []


@pytest.mark.parametrize("store", ["iceberg", "delta"])
def test_versions_in_tables_are_continued_as_those_in_files(
    store: str, tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    checked = f"output: {{store: {store}}}\n  checks: [{{reconcile: {{with: feed, sum: amount}}}}, {{unique"
    shop = project(tmp_path, engine, BY_PARTITION.replace("checks: [{unique", checked))
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    feed.publish([row(1, 1, 11)], "2026-01-01")
    feed.publish([row(2, 1, 20)], "2026-01-02")
    run(shop)

    stores = OpenStores(spark, current_context().settings.warehouse_uri)
    rows = stores.read([version(engine, "shop/ledger").version]).orderBy("day").collect()
    assert [each.asDict() for each in rows] == [row(1, 1, 11), row(2, 1, 20)]


def test_of_two_runs_at_once_the_second_says_so_and_the_next_takes_in_the_rest(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10)], "2026-01-01")

    def overtaken(*arguments: Any) -> Any:
        written = write(*arguments)
        monkeypatch.setattr(materialization, "write", write)
        feed.publish([row(2, 1, 20)], "2026-01-02")
        run(shop)
        return written

    monkeypatch.setattr(materialization, "write", overtaken)
    (second,) = shop.materialize("shop/ledger")

    assert "while this run was under way (generation 1, expected 0)" in failure(second)
    run(shop)
    assert stored(engine, "shop/ledger") == [row(1, 1, 10), row(2, 1, 20)]


BY_WATERMARK = """
type: headrace.ExternalDataset
attributes: {key: shop/feed}
---
type: headrace.Dataset
attributes:
  key: shop/ledger
  sql: SELECT day, id, amount FROM feed
  incremental: {mode: append, watermark: id}
"""


def test_rows_beyond_the_watermark_are_appended_and_a_replayed_version_adds_none(
    tmp_path: Path, engine: Engine
) -> None:
    shop = project(tmp_path, engine, BY_WATERMARK)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10), row(1, 2, 11)])
    run(shop)
    feed.publish([row(1, 2, 99), row(1, 3, 12)])
    run(shop)
    expected = [row(1, 1, 10), row(1, 2, 11), row(1, 3, 12)]
    assert stored(engine, "shop/ledger") == expected

    feed.roll_back("f1")
    run(shop)

    assert stored(engine, "shop/ledger") == expected
    taken = TakenIn.of(version(engine, "shop/ledger").version)
    assert taken is not None
    assert taken.watermark == "3"


def test_a_row_without_a_watermark_stops_the_run(tmp_path: Path, engine: Engine) -> None:
    shop = project(tmp_path, engine, BY_WATERMARK)
    Feed(engine, tmp_path, "shop/feed", COLUMNS).publish([{"day": None, "id": None, "amount": 1}])

    (refused,) = shop.materialize("shop/ledger")

    assert "1 row of the input 'feed' without a value of 'id'" in failure(refused)


@pytest.mark.parametrize("format", ["csv", "json", "orc"])
def test_statistics_and_checks_of_appended_rows_are_of_the_whole_in_formats_without_footers(
    format: str, tmp_path: Path, engine: Engine
) -> None:
    checked = f"output: {{format: {format}}}\n  checks: [{{name: small, sql: amount < 25, severity: warning}}, {{unique"
    shop = project(tmp_path, engine, BY_PARTITION.replace("checks: [{unique", checked))
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10), row(1, 2, 30)], "2026-01-01")
    run(shop)
    feed.publish([row(2, 1, 40)], "2026-01-02")
    run(shop)
    appended = version(engine, "shop/ledger")
    run(shop, full_refresh=True)
    again = version(engine, "shop/ledger")

    assert len(appended.version.segments) == 2
    assert appended.version.row_count == again.version.row_count == 3
    assert (appended.statistics, appended.checks) == (again.statistics, again.checks)
    assert [each.failed_rows for each in appended.checks if each.name == "small"] == [2]


@pytest.mark.parametrize(
    "after",
    [
        BY_PARTITION.replace("AS amount", "AS amount, 1 AS more"),
        BY_PARTITION.replace("checks: [", "output: {format: csv}\n  checks: ["),
        BY_PARTITION.replace("checks: [", "checks: [{name: low, sql: amount < 15, quarantine: true}, "),
    ],
    ids=["another column", "another format", "a check that sets rows aside"],
)
def test_rows_are_written_together_if_those_before_cannot_stay(
    after: str, tmp_path: Path, engine: Engine
) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10), row(1, 2, 20)], "2026-01-01")
    run(shop)
    changed = project(tmp_path, engine, after)
    feed.publish([row(2, 1, 11)], "2026-01-02")
    run(changed)

    now = version(engine, "shop/ledger")

    assert len(now.version.segments) == 1
    assert (now.version.row_count, now.quarantine_rows) in [(3, 0), (2, 1)]


@pytest.mark.parametrize("store", ["files", "iceberg", "delta"])
def test_rows_of_a_narrower_type_are_appended_as_the_wider_one(
    store: str, tmp_path: Path, engine: Engine, spark: SparkSession
) -> None:
    text = BY_PARTITION.replace("checks: [{unique", f"output: {{store: {store}}}\n  checks: [{{unique")
    shop = project(tmp_path, engine, text)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    feed.publish([row(1, 1, 10)], "2026-01-01")
    run(shop)
    narrower = project(
        tmp_path, engine, text.replace("amount * 1 AS amount", "CAST(amount AS int) AS amount")
    )
    feed.publish([row(2, 1, 20)], "2026-01-02")
    run(narrower)

    now = version(engine, "shop/ledger").version
    assert len(now.segments) == 2
    assert {column.name: column.type for column in now.columns}["amount"] == "bigint"
    assert stored(engine, "shop/ledger") == [row(1, 1, 10), row(2, 1, 20)]


def test_rows_are_written_together_when_a_column_becomes_sensitive(tmp_path: Path, engine: Engine) -> None:
    columns = "schema: {columns: {day: date, id: bigint, amount: AMOUNT}}\n  checks: [{unique"
    text = BY_PARTITION.replace("checks: [{unique", columns)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    found = []
    for day, amount in (1, "bigint"), (2, "{type: bigint, tags: [pii]}"), (3, "{type: bigint, tags: [pii]}"):
        shop = project(tmp_path, engine, text.replace("AMOUNT", amount))
        feed.publish([row(day, 1, 10)], f"2026-01-0{day}")
        run(shop)
        found.append(len(version(engine, "shop/ledger").version.segments))

    assert found == [1, 1, 2]


def test_the_manifest_of_an_appended_version_names_its_files_and_no_directory(
    tmp_path: Path, engine: Engine
) -> None:
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    manifests = []
    for day in (1, 2):
        feed.publish([row(day, 1, 10)], f"2026-01-0{day}")
        run(shop)
        text = (tmp_path / "home/warehouse/shop/ledger/_published/current.json").read_text()
        manifests.append(json.loads(text))

    first, second = manifests
    assert first["location"] == version(engine, "shop/ledger", first["tag"]).version.location
    assert second["location"] is None
    paths = [each["path"] for each in second["files"]]
    assert paths[0] == first["files"][0]["path"]
    assert sum(pq.read_metadata(path.removeprefix("file:")).num_rows for path in paths) == 2


def test_rows_are_written_together_after_many_appends(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.stores.data_files.store.MAX_SEGMENTS", 2)
    shop = project(tmp_path, engine)
    feed = Feed(engine, tmp_path, "shop/feed", COLUMNS)
    found = []
    for day in range(1, 5):
        feed.publish([row(day, 1, day)], f"2026-01-0{day}")
        run(shop)
        found.append(len(version(engine, "shop/ledger").version.segments))

    assert found == [1, 2, 1, 2]
    assert stored(engine, "shop/ledger") == [row(day, 1, day) for day in range(1, 5)]
