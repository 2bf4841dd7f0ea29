"""`headrace read` and `headrace diff` on real files, by Spark."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import Result

from headrace.catalog.records import CheckResult, CheckStatus, Column
from tests.platform.cli.conftest import put

Invoke = Callable[..., Result]
Ask = Callable[..., Any]
FIRST = "(1, 'Ada'), (2, 'Bob'), (3, null)"
SECOND = "(2, 'Ben'), (3, null), (4, 'Dan')"


@pytest.fixture
def written(shop: Engine, spark: SparkSession, tmp_path: Path) -> Engine:
    """Two versions of shop/raw, the second blocked by a check, and two days of shop/clean, as Parquet."""

    def write(rows: str, name: str) -> Path:
        frame = spark.sql(f"SELECT CAST(id AS bigint) AS id, name FROM VALUES {rows} AS t(id, name)")  # noqa: S608
        frame.coalesce(1).write.parquet(str(tmp_path / name))
        return tmp_path / name

    blocked = (CheckResult("id_unique", CheckStatus.FAIL, 1),)
    put(shop, "shop/raw", "raw-1", location=write(FIRST, "raw-1"))
    put(shop, "shop/raw", "raw-2", location=write(SECOND, "raw-2"), checks=blocked)
    put(shop, "shop/clean", "clean-1", partition="2026-01-01", location=write(FIRST, "day-1"))
    put(shop, "shop/clean", "clean-2", partition="2026-01-02", location=write(SECOND, "day-2"))
    return shop


def test_read(written: Engine, ask: Ask, invoke: Invoke) -> None:
    found = ask("read", "shop/raw", "--head", "2")
    assert found == {
        "dataset": "shop/raw",
        "versions": [{"partition": None, "tag": "raw-1"}],
        "row_count": 3,
        "columns": ["id", "name"],
        "masked": ["name"],
        "rows": [{"id": 1, "name": "***"}, {"id": 2, "name": "***"}],
    }
    seen = ask("read", "shop/raw", "--unmask", "--columns", "name,id")
    assert seen["rows"][0] == {"name": "Ada", "id": 1}
    assert seen["rows"][2] == {"name": None, "id": 3}
    assert "3 of 3 rows, version raw-1" in invoke("read", "shop/raw").stdout


def test_read_chooses_versions(written: Engine, ask: Ask, invoke: Invoke) -> None:
    assert [row["id"] for row in ask("read", "shop/raw", "--version", "raw-2")["rows"]] == [
        2,
        3,
        4,
    ]  # blocked
    assert ask("read", "shop/clean")["row_count"] == 6
    day = ask("read", "shop/clean", "--partition", "2026-01-02")
    assert day["versions"] == [{"partition": "2026-01-02", "tag": "clean-2"}]
    assert "2 partitions from 2026-01-01 to 2026-01-02" in invoke("read", "shop/clean").stdout
    assert ask("read", "shop/raw", "--as-of", "2999-01-01")["versions"] == [
        {"partition": None, "tag": "raw-1"}
    ]


def test_read_of_a_partition_that_is_not_published_says_which_are(written: Engine, invoke: Invoke) -> None:
    result = invoke("read", "shop/clean", "--partition", "nope")
    assert result.exit_code == 1
    message = " ".join(result.stderr.split())
    assert "in partition nope; published: 2 partitions from 2026-01-01 to 2026-01-02." in message
    assert "--partition nope" not in message


def test_export(written: Engine, ask: Ask, invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    assert ask("read", "shop/raw", "--export", str(path)) == {"path": str(path), "format": "csv", "rows": 3}
    assert list(csv.reader(path.open())) == [["id", "name"], ["1", "***"], ["2", "***"], ["3", ""]]
    again = invoke("read", "shop/raw", "--export", str(path))
    assert again.exit_code == 1
    assert "already exists; choose another name, or replace it with --force" in again.stderr
    forced = invoke("read", "shop/raw", "--export", str(path), "--force", "--head", "1", "--unmask")
    assert forced.stdout == f"1 row written to {path}\n"
    assert path.read_text() == '"id","name"\n1,"Ada"\n'


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--version", "raw-1", "--as-of", "2026-01-01"), 2, "--version and --as-of cannot be combined"),
        (("--force",), 2, "--format and --force require --export"),
        (("--export", "rows.txt"), 2, "the format of rows.txt is unknown: add --format csv|parquet|json"),
        (("--version", "raw-9"), 1, "shop/raw has no version raw-9"),
        (("--as-of", "2001-01-01"), 1, "shop/raw, which has no version published by 2001-01-01"),
        (("--columns", "id,price"), 1, "no such column: price; the columns are id, name"),
    ],
)
def test_read_complaints(
    written: Engine, invoke: Invoke, words: tuple[str, ...], code: int, message: str
) -> None:
    result = invoke("read", "shop/raw", *words)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


def test_a_version_whose_files_are_gone(shop: Engine, spark: SparkSession, invoke: Invoke) -> None:
    put(shop, "shop/raw", "raw-1", location=Path("/nowhere/at/all"))
    result = invoke("read", "shop/raw")
    assert result.exit_code == 1
    assert "raw-1" in result.stderr
    assert "Traceback" not in result.output


def test_diff(written: Engine, ask: Ask, invoke: Invoke) -> None:
    found = ask("diff", "shop/raw", "raw-1", "raw-2")
    assert found == {
        "dataset": "shop/raw",
        "before": {"tag": "raw-1", "partitions": [None], "rows": 3},
        "after": {"tag": "raw-2", "partitions": [None], "rows": 3},
        "schema": {"compatible": [], "breaking": []},
        "key": ["id"],
        "added": 1,
        "removed": 1,
        "changed": 1,
        "repeated": 0,
        "columns": {"name": 1},
        "apart": {},
        "samples": {"added": [{"id": 4}], "removed": [{"id": 1}], "changed": [{"id": 2}]},
    }
    by_name = ask("diff", "shop/raw", "raw-1", "raw-2", "--key", "name")
    assert (by_name["added"], by_name["removed"]) == (2, 2)
    assert by_name["samples"]["added"] == [{"name": "***"}, {"name": "***"}]
    message = " ".join(invoke("diff", "shop/raw", "raw-1", "raw-2").stdout.split())
    assert "schema the same key id keys added 1 keys removed 1 keys changed 1" in message


def test_diff_across_a_change_of_types(
    written: Engine, spark: SparkSession, invoke: Invoke, ask: Ask, tmp_path: Path
) -> None:
    changed = spark.sql(
        "SELECT CAST(id AS bigint) AS id, length(name) AS name FROM VALUES (1, 'x') AS t(id, name)"
    )
    changed.write.parquet(str(tmp_path / "changed"))
    columns = (Column("id", "bigint", nullable=False), Column("name", "int", tags=("pii",)))
    put(written, "shop/raw", "raw-3", location=tmp_path / "changed", columns=columns, rows=1)
    found = ask("diff", "shop/raw", "raw-1", "raw-3")
    assert (found["changed"], found["removed"], found["apart"]) == (0, 2, {"name": "string became int"})
    message = " ".join(invoke("diff", "shop/raw", "raw-1", "raw-3").stdout.split())
    assert "breaking: column name: type string became int" in message
    assert "not compared name: string became int" in message
    by_name = invoke("diff", "shop/raw", "raw-1", "raw-3", "--key", "name")
    assert by_name.exit_code == 1
    assert "breaking: column name: type string became int" in by_name.stdout
    assert "rows cannot be matched by name (string became int)" in " ".join(by_name.stderr.split())


def test_diff_complaints(written: Engine, invoke: Invoke) -> None:
    assert "shop/raw has no version raw-9" in invoke("diff", "shop/raw", "raw-1", "raw-9").stderr
    unknown = invoke("diff", "shop/raw", "raw-1", "raw-2", "--key", "price")
    assert unknown.exit_code == 1
    assert "the first version has no column price" in unknown.stderr
