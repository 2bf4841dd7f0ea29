"""Datasets in which the new rows of an input replace those with the same keys."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.errors import RollbackRefused
from headrace.execution import materialization
from headrace.publishing.rollback import rollback
from headrace.queries.versions import version
from headrace.stores.jdbc import store as jdbc
from tests.platform.execution.growing import Feed, Row, stored
from tests.platform.projects import Project, failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

BY_PARTITION = """
type: headrace.ExternalDataset
attributes:
  key: shop/changes
  partitions: {type: static, keys: [a, b, c]}
---
type: headrace.Dataset
attributes:
  key: shop/customers
  sql: SELECT id, at, name, op FROM changes
  incremental: {mode: merge, keys: [id], order_by: at, delete_when: op = 'D'}
  schema: {columns: {id: bigint, at: bigint, name: string}}
---
type: headrace.Dataset
attributes:
  key: shop/accounts
  sql: SELECT id, at, name, op FROM changes
  incremental: {mode: merge, keys: [id], order_by: at, delete_when: op = 'D'}
  output: {store: jdbc, connection: catalog, table: shop.accounts}
  schema: {columns: {id: bigint, at: bigint, name: string}}
---
type: headrace.Dataset
attributes:
  key: shop/log
  sql: SELECT part, id, at, name FROM changes
  incremental: {mode: append, partition: part}
"""
BY_WATERMARK = """
type: headrace.ExternalDataset
attributes: {key: shop/changes}
---
type: headrace.Dataset
attributes:
  key: shop/customers
  sql: SELECT id, at, name, op FROM changes
  incremental: {mode: merge, watermark: arrived, keys: [id], order_by: at, delete_when: op = 'D'}
  schema: {columns: {id: bigint, at: bigint, name: string}}
"""
COLUMNS = {"part": "string", "id": "bigint", "at": "bigint", "name": "string", "op": "string"}
ARRIVING = {"arrived": "bigint", **COLUMNS}
GROWING = ["shop/customers", "shop/accounts", "shop/log"]
TAGS = count(1_000)  # all examples share one catalog


def change(id: int | None, at: int | None, name: str = "x", op: str = "U") -> dict[str, Any]:
    return {"id": id, "at": at, "name": name, "op": op}


def customer(id: int | None, at: int | None, name: str = "x") -> dict[str, Any]:
    return {"id": id, "at": at, "name": name}


def shop(tmp_path: Path, engine: Engine, text: str) -> tuple[Project, Feed]:
    project = load_project(write_project(tmp_path / "project", "shop", text), engine)
    columns = ARRIVING if text == BY_WATERMARK else COLUMNS
    return project, Feed(engine, tmp_path, "shop/changes", columns)


def run(project: Project, dataset: str = "shop/customers", *, full_refresh: bool = False) -> None:
    (result,) = project.materialize(dataset, full_refresh=full_refresh)
    assert result.success, failure(result)


def in_database(engine: Engine) -> list[Row]:
    """Return the rows that other programs find, in order."""
    with transaction(engine) as cursor:
        found = cursor.execute("SELECT id, at, name FROM shop.accounts").fetchall()
    return sorted(map(dict, found), key=lambda row: str(list(row.items())))


def test_the_last_row_of_a_key_wins_and_a_deleting_one_removes_it(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine, BY_PARTITION)
    feed.publish([change(1, 1, "Ann"), change(2, 1, "Bob"), change(1, 2, "Anna")], "a")
    run(project)
    assert stored(engine, "shop/customers") == [customer(1, 2, "Anna"), customer(2, 1, "Bob")]
    feed.publish([change(2, 3, op="D"), change(3, 4, "Cy")], "b")
    run(project)

    assert stored(engine, "shop/customers") == [customer(1, 2, "Anna"), customer(3, 4, "Cy")]
    read = {
        each.partition for each in version(engine, "shop/customers").inputs if each.dataset == feed.dataset
    }
    assert read == {"b"}  # later rows than all before decide alone


def test_a_late_row_neither_replaces_a_later_one_nor_revives_a_deleted_one(
    tmp_path: Path, engine: Engine
) -> None:
    project, feed = shop(tmp_path, engine, BY_PARTITION)
    feed.publish([change(1, 5, "Ann"), change(2, 5, op="D")], "a")
    run(project)
    feed.publish([change(1, 4, "late"), change(2, 4, "late"), change(3, 4, "Cy")], "b")
    run(project)

    assert stored(engine, "shop/customers") == [customer(1, 5, "Ann"), customer(3, 4, "Cy")]


def test_a_corrected_partition_takes_back_what_it_had_changed(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine, BY_PARTITION)
    feed.publish([change(1, 1, "Ann"), change(2, 1, "Bob")], "a")
    feed.publish([change(1, 2, "wrong"), change(2, 2, op="D"), change(3, 2, "wrong")], "b")
    run(project)
    assert stored(engine, "shop/customers") == [customer(1, 2, "wrong"), customer(3, 2, "wrong")]
    feed.publish([], "b")
    run(project)

    assert stored(engine, "shop/customers") == [customer(1, 1, "Ann"), customer(2, 1, "Bob")]


@pytest.mark.parametrize("how", ["deleted", "overwritten", "expired"])
def test_a_corrected_partition_whose_earlier_files_are_gone_counts_as_it_is_now(
    how: str, tmp_path: Path, engine: Engine
) -> None:
    project, feed = shop(tmp_path, engine, BY_PARTITION)
    feed.publish([change(1, 1, "Ann"), change(2, 1, "Bob")], "a")
    first = feed.publish([change(1, 2, "wrong"), change(3, 2, "wrong")], "b")
    run(project)
    files = Path(first.version.location.removeprefix("file:"))
    if how == "deleted":
        shutil.rmtree(files)
    if how == "expired":
        with transaction(engine) as cursor:
            cursor.execute(
                "INSERT INTO catalog.expired_version (dataset_version_id, organisation_id, expired_at) "
                "SELECT dataset_version_id, organisation_id, now() FROM catalog.dataset_version "
                "WHERE dataset_version_id = %s",
                [first.version.version_id],
            )
    feed.publish([change(2, 3, "Bo")], "b", files if how == "overwritten" else None)
    run(project)

    assert stored(engine, "shop/customers") == [customer(1, 1, "Ann"), customer(2, 3, "Bo")]


def test_keys_without_a_value_are_equal(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine, BY_PARTITION)
    feed.publish([change(None, 1, "first")], "a")
    run(project)
    feed.publish([change(None, 2, "second")], "b")
    run(project)

    assert stored(engine, "shop/customers") == [customer(None, 2, "second")]


OF_TWO_KEYS = """
type: headrace.ExternalDataset
attributes:
  key: shop/changes
  partitions: {type: static, keys: [a, b, c]}
---
type: headrace.Dataset
attributes:
  key: shop/accounts
  sql: SELECT part, id, at, name FROM changes
  incremental: {mode: merge, keys: [id, name], order_by: at}
  output: {store: jdbc, connection: catalog, table: shop.accounts}
"""


def test_a_database_keeps_the_other_rows_without_their_way_through_spark(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, feed = shop(tmp_path, engine, OF_TWO_KEYS)
    keys = [(None, None), (None, "x"), (1, None), (1, "x"), (2, "x"), (2, "X"), (0, "")]
    before = [{"part": "a", "id": id, "at": 1, "name": name} for id, name in keys]
    feed.publish(before, "a")
    run(project, "shop/accounts")
    for part, changed in {"b": keys[:3], "c": [(None, "new"), *keys[3:5]]}.items():
        changes = [{"part": part, "id": id, "at": 2, "name": name} for id, name in changed]
        feed.publish(changes, part)
        with monkeypatch.context() as measured:
            written = _measured(measured)
            run(project, "shop/accounts")
        assert written == [3]
    with transaction(engine) as cursor:
        found = cursor.execute("SELECT part, id, name FROM shop.accounts").fetchall()
        tables = cursor.execute("SELECT 1 FROM pg_tables WHERE schemaname = 'shop'").fetchall()
    expected = {
        **dict.fromkeys(keys, "a"),
        **dict.fromkeys(keys[:3], "b"),
        **dict.fromkeys([(None, "new"), *keys[3:5]], "c"),
    }
    assert {(row["id"], row["name"]): row["part"] for row in found} == expected
    assert len(found) == len(expected)
    assert len(tables) == 3  # of the versions; that of the keys is dropped


OF_ODD_KEYS = """
type: headrace.ExternalDataset
attributes:
  key: shop/changes
  partitions: {type: static, keys: [a, b, c]}
---
type: headrace.Dataset
attributes:
  key: shop/accounts
  sql: >
    SELECT part, at, CASE id WHEN 0 THEN double('NaN') WHEN 1 THEN 0.0D ELSE id / 3 END AS number,
           CAST(id / 7 AS DECIMAL(20, 9)) AS amount, timestamp_micros(id * 1234567) AS time,
           timestamp_ntz '2026-03-29 02:30:00' AS clock, date_add(DATE '1582-10-01', CAST(id AS INT)) AS day,
           id % 2 = 0 AS even, CAST(concat('\\0', id) AS BINARY) AS bytes,
           concat('O\\'"select\\n ', id, ' ') AS `select`
    FROM changes
  incremental: {mode: merge, keys: [number, amount, time, clock, day, even, bytes, select], order_by: at}
  output: {store: jdbc, connection: catalog, table: shop.accounts}
"""


def test_keys_of_every_type_are_found_in_a_database(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, feed = shop(tmp_path, engine, OF_ODD_KEYS)
    feed.publish([{"part": "a", "id": id, "at": 1} for id in range(6)], "a")
    run(project, "shop/accounts")
    feed.publish([{"part": "b", "id": id, "at": 2} for id in (0, 1, 2, 9)], "b")
    written = _measured(monkeypatch)
    run(project, "shop/accounts")
    with transaction(engine) as cursor:
        found = cursor.execute(
            "SELECT part, count(*) AS rows FROM shop.accounts GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert [(row["part"], row["rows"]) for row in found] == [("a", 3), ("b", 4)]
    assert written == [4]


def test_a_key_whose_type_has_become_narrower_is_found_in_a_database(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, feed = shop(tmp_path, engine, OF_TWO_KEYS)
    feed.publish([{"part": "a", "id": id, "at": 1, "name": "x"} for id in (1, 2)], "a")
    run(project, "shop/accounts")
    narrower = OF_TWO_KEYS.replace("part, id, at", "part, CAST(id AS INT) AS id, at")
    project = load_project(write_project(tmp_path / "project", "shop", narrower), engine)
    feed.publish([{"part": "b", "id": 2, "at": 2, "name": "x"}], "b")
    written = _measured(monkeypatch)
    run(project, "shop/accounts")
    with transaction(engine) as cursor:
        found = cursor.execute("SELECT id, part FROM shop.accounts ORDER BY id").fetchall()
    assert [(row["id"], row["part"]) for row in found] == [(1, "a"), (2, "b")]
    assert written == [1]


IN_A_DATABASE = """
type: headrace.ExternalDataset
attributes:
  key: shop/changes
  partitions: {type: static, keys: [a, b, c]}
---
type: headrace.Dataset
attributes:
  key: shop/accounts
  sql: SELECT part, id, at, name FROM changes
  incremental: {MODE}
  output: {store: jdbc, connection: catalog, table: shop.accounts}
"""


@pytest.mark.parametrize("mode", ["mode: merge, keys: [id], order_by: at", "mode: append, partition: part"])
def test_a_table_from_which_another_program_has_deleted_rows_is_not_continued(
    mode: str, tmp_path: Path, engine: Engine
) -> None:
    project, feed = shop(tmp_path, engine, IN_A_DATABASE.replace("MODE", mode))
    feed.publish([{"part": "a", "id": id, "at": 1, "name": "x"} for id in (1, 2, 3)], "a")
    run(project, "shop/accounts")
    table = version(engine, "shop/accounts").version.location.partition(":")[2]
    with transaction(engine) as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE id = 1")  # noqa: S608
    feed.publish([{"part": "b", "id": 2, "at": 2, "name": "y"}], "b")
    (refused,) = project.materialize("shop/accounts")
    assert "had 3 rows when it was written and has 2 now" in failure(refused)
    run(project, "shop/accounts", full_refresh=True)
    assert {row["id"] for row in in_database(engine)} == {1, 2, 3}


@pytest.mark.parametrize("dataset", ["shop/customers", "shop/accounts"])
def test_columns_are_found_whatever_their_case(dataset: str, tmp_path: Path, engine: Engine) -> None:
    text = BY_PARTITION.replace("keys: [id], order_by: at", "keys: [ID], order_by: AT")
    text = text.replace("  schema: {columns: {id: bigint, at: bigint, name: string}}\n", "")
    project, feed = shop(tmp_path, engine, text)
    feed.publish([change(1, 1), change(2, 1), change(None, 1)], "a")
    run(project, dataset)
    feed.publish([change(2, 2, "y"), change(None, 2, op="D")], "b")
    run(project, dataset)
    found = in_database(engine) if dataset == "shop/accounts" else stored(engine, dataset)
    assert {row["id"]: row["name"] for row in found} == {1: "x", 2: "y"}


def _measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list to which each write of Spark to a database adds the number of its rows."""
    counts: list[int] = []
    original = jdbc._append

    def counted(frame: DataFrame, *others: Any) -> dict[str, Any]:
        observed = original(frame, *others)
        counts.append(observed["written"])
        return observed

    monkeypatch.setattr(jdbc, "_append", counted)
    return counts


def test_a_watermark_finds_the_new_rows_whose_order_may_be_older(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine, BY_WATERMARK)
    first = [{"arrived": 1, **change(1, 5, "Ann")}, {"arrived": 1, **change(2, 6, op="D")}]
    feed.publish(first)
    run(project)
    late = [
        {"arrived": 2, **change(1, 4, "late")},
        {"arrived": 2, **change(2, 4, "late")},
        {"arrived": 2, **change(3, 4, "Cy")},
    ]
    feed.publish([*first, *late])
    run(project)

    assert stored(engine, "shop/customers") == [customer(1, 5, "Ann"), customer(3, 4, "Cy")]


def test_an_input_may_keep_only_the_rows_beyond_the_watermark(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine, BY_WATERMARK)
    feed.publish([{"arrived": 1, **change(1, 5, "Ann")}, {"arrived": 1, **change(2, 5, "Bob")}])
    run(project)
    feed.publish([{"arrived": 2, **change(1, 4, "late")}, {"arrived": 2, **change(3, 6, "Cy")}])
    run(project)

    assert stored(engine, "shop/customers") == [
        customer(1, 5, "Ann"),
        customer(2, 5, "Bob"),
        customer(3, 6, "Cy"),
    ]


def test_a_missing_order_column_is_named_with_those_that_exist(tmp_path: Path, engine: Engine) -> None:
    text = BY_PARTITION.replace("order_by: at", "order_by: since").replace(
        "  schema: {columns: {id: bigint, at: bigint, name: string}}\n", ""
    )
    project, feed = shop(tmp_path, engine, text)
    feed.publish([change(1, 1)], "a")

    (refused,) = project.materialize("shop/customers")

    assert "`incremental.order_by` names since, which is not in the result" in failure(refused)
    assert "it has: id, at, name, op" in failure(refused)


rows_of_a_part = st.lists(
    st.builds(
        change,
        st.none() | st.integers(1, 3),
        st.none() | st.integers(1, 4),
        st.sampled_from("xyz"),
        st.sampled_from("UUD"),
    ),
    max_size=4,
)
steps: st.SearchStrategy[list[tuple[str, str, list[Row]]]] = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.sampled_from("abc"), rows_of_a_part),
        st.tuples(st.just("replay"), st.sampled_from("abc"), st.just([])),
        st.tuples(st.sampled_from(["run", "run", "fail", "roll back"]), st.just(""), st.just([])),
    ),
    min_size=6,
    max_size=9,
)


def last_wins(parts: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The model: of all rows, the last of each key, a deleting one before another of the same time."""
    winners: dict[Any, Row] = {}

    def place(row: Row) -> tuple[Any, ...]:
        return row["at"] is not None, row["at"] or 0, row["op"] == "D", row["name"]

    for row in (each for rows in parts.values() for each in rows):
        known = winners.get(row["id"])
        if known is None or place(row) > place(known):
            winners[row["id"]] = row
    kept = [customer(row["id"], row["at"], row["name"]) for row in winners.values() if row["op"] != "D"]
    return sorted(kept, key=lambda row: str(list(row.items())))


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_any_sequence_of_changes_retries_failures_and_rollbacks_ends_like_a_full_refresh(
    tmp_path_factory: pytest.TempPathFactory,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    sequence: list[tuple[str, str, list[Row]]],
) -> None:
    # The catalog keeps the history of the examples before: each begins with a replacement of every partition.
    project, feed = shop(tmp_path_factory.mktemp("shop"), engine, BY_PARTITION)
    feed.tags = TAGS
    past: dict[str, list[tuple[str, list[Row]]]] = {}
    parts: dict[str, list[Row]] = {}

    def put(part: str, rows: list[Row]) -> None:
        published = feed.publish([{**row, "part": part} for row in rows], part)
        parts[part] = rows
        past.setdefault(part, []).append((published.version.tag, rows))

    for part in "abc":
        put(part, [])
    for what, part, rows in sequence:
        match what:
            case "publish":
                put(part, rows)
            case "replay" if len(past[part]) > 1:
                tag, parts[part] = past[part][-2]
                feed.roll_back(tag, part)
                past[part].append((tag, parts[part]))
            case "run":
                for dataset in GROWING:
                    run(project, dataset)
            case "fail":
                with monkeypatch.context() as broken:
                    broken.setattr(materialization, "publish", _refused)
                    for dataset in GROWING[:2]:
                        project.materialize(dataset)
            case "roll back":
                for dataset in GROWING:
                    try:
                        rollback(engine, dataset, None, None, by="test", reason="test")
                    except RollbackRefused:
                        continue
    for dataset in GROWING:
        run(project, dataset)

    expected = last_wins(parts)
    assert stored(engine, "shop/customers") == expected
    assert in_database(engine) == expected
    log = [
        {"part": part, **customer(row["id"], row["at"], row["name"])}
        for part, rows in parts.items()
        for row in rows
    ]
    assert stored(engine, "shop/log") == sorted(log, key=lambda row: str(list(row.items())))
    run(project, full_refresh=True)
    assert stored(engine, "shop/customers") == expected


def _refused(*_: object, **__: object) -> None:
    raise ConnectionError("the connection to the catalog was lost")
