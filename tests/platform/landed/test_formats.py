"""Files and directories of each format, as other systems write them, become versions or are blocked with a reason."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pyspark
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import CheckStatus, Column, Version
from headrace.execution.plan import ExternalPlan
from headrace.files.formats import FORMATS
from headrace.landed.observation import Memory, observe
from headrace.queries import version
from headrace.stores.files.store import FilesStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORC_INSTANTS = pytest.mark.skipif(
    pyspark.__version__ < "4.2",
    reason="Spark before 4.2 does not read timestamps with a time zone from ORC files",
)
Plans = Callable[..., ExternalPlan]
COLUMNS = {"id": "int", "amount": "decimal(12,2)", "at": "timestamp"}
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int32()),
        "amount": pa.array([Decimal("1.10"), None, Decimal("3.30")], pa.decimal128(12, 2)),
        "at": pa.array([datetime(2013, 1, 1, 12, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC")),
    }
)


def write(file: Path, format: str, rows: pa.Table = ROWS) -> Path:
    """Put rows into a file, without Spark."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if format == "parquet":
        pq.write_table(rows, file)
    elif format == "orc":
        orc.write_table(rows, file)
    elif format == "json":
        file.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows.to_pylist()))
    else:
        lines = [
            rows.column_names,
            *(["" if v is None else str(v) for v in row.values()] for row in rows.to_pylist()),
        ]
        file.write_text("".join(",".join(line) + "\n" for line in lines))
    return file


def options(format: str) -> dict[str, str]:
    stamps = {"timestampFormat": "yyyy-MM-dd HH:mm:ssXXX"}
    return {"header": "true", **stamps} if format == "csv" else stamps if format == "json" else {}


def read(spark: SparkSession, *found: Version) -> list[dict[str, object]]:
    frame = FilesStore(spark, "file:///nowhere").read(found)
    if "at" in frame.columns:
        frame = frame.withColumn("at", frame["at"].cast("string"))
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: str(row["id"]))


@pytest.mark.parametrize(
    "format", [pytest.param(each, marks=ORC_INSTANTS if each == "orc" else ()) for each in sorted(FORMATS)]
)
def test_a_file_and_a_directory_of_each_format(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession, format: str
) -> None:
    write(landing / f"one.{format}", format)
    write(landing / "many" / f"part-0.{format}", format)
    write(landing / "many" / f"part-1.{format}", format, ROWS.slice(0, 1))
    (landing / "many" / "_SUCCESS").touch()
    (landing / "many" / "_temporary").mkdir()
    write(landing / "many" / "_temporary" / "part-2", format)
    write(landing / "many" / f".part-3.{format}", format)
    write(landing / "many" / f"part-4.{format}._COPYING_", format)
    (landing / "empty").mkdir()
    (landing / "empty" / "_SUCCESS").touch()
    plans = [
        external("one", f"landing/one.{format}", format, COLUMNS, options=options(format)),
        external("many", "landing/many/", format, COLUMNS, options=options(format)),
        external("empty", "landing/empty", format, COLUMNS, options=options(format)),
    ]
    observation = observe(engine, plans)
    assert observation.problems == ()
    assert observation.waiting == (f"landed/empty: nothing at file://{landing.resolve()}/empty yet",)
    one, many = observation.new
    assert (one.dataset, one.row_count, one.file_count) == ("landed/one", 3, 1)
    assert (many.dataset, many.row_count, many.file_count) == ("landed/many", 4, 2)
    assert many.location == f"file://{landing.resolve()}/many"
    assert many.byte_size == sum(file.stat().st_size for file in landing.glob(f"many/part-[01].{format}"))
    expected = [{**row, "at": "2013-01-01 12:00:00"} for row in ROWS.to_pylist()]
    assert read(spark, one) == expected
    assert len(read(spark, many)) == 4
    assert observe(engine, plans).new == ()


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("landing/day={partition}/", "day={}/part-0.parquet"),
        ("landing/{partition}.parquet", "{}.parquet"),
        ("landing/{partition}/orders", "{}/orders/part-0.parquet"),
        ("landing/{partition}/orders_{partition}.parquet", "{}/orders_{}.parquet"),
        ("landing/{partition}_{partition}/x.parquet", "{}_{}/x.parquet"),
    ],
)
def test_partitions_by_the_names_of_files_and_directories(
    engine: Engine, landing: Path, external: Plans, location: str, name: str
) -> None:
    for key in ("2013-01-01", "2013-01-02", "lately"):
        write(landing / name.replace("{}", key), "parquet")
    write(landing / "other" / "part-0.parquet", "parquet")
    observation = observe(engine, [external("daily", location, "parquet", COLUMNS, daily=True)])
    assert [(found.partition, found.row_count) for found in observation.new] == [
        ("2013-01-01", 3),
        ("2013-01-02", 3),
    ]
    (problem,) = [line for line in observation.problems if "lately" in line]
    assert problem.endswith("landed/daily has no partition lately")


def test_a_directory_is_another_version_when_a_file_comes_or_changes(
    engine: Engine, landing: Path, external: Plans
) -> None:
    plan = external("many", "landing/many", "parquet", COLUMNS)
    first = write(landing / "many" / "part-0.parquet", "parquet")
    counts = [[found.row_count for found in observe(engine, [plan]).new]]
    write(landing / "many" / "part-1.parquet", "parquet", ROWS.slice(0, 1))
    counts.append([found.row_count for found in observe(engine, [plan]).new])
    later = first.stat().st_mtime_ns + 10**9
    os.utime(first, ns=(later, later))
    counts.append([found.row_count for found in observe(engine, [plan]).new])
    (landing / "many" / "part-1.parquet").unlink()
    counts.append([found.row_count for found in observe(engine, [plan]).new])
    assert counts == [[3], [4], [], [3]]


def test_a_directory_whose_marker_is_missing_is_no_version_yet(
    engine: Engine, landing: Path, external: Plans
) -> None:
    plan = external("many", "landing/many", "parquet", COLUMNS, marker="_SUCCESS")
    write(landing / "many" / "part-0.parquet", "parquet")
    observation = observe(engine, [plan])
    assert (observation.new, observation.problems) == ((), ())
    assert observation.waiting == (f"landed/many: file://{landing.resolve()}/many has no _SUCCESS yet",)
    (landing / "many" / "_SUCCESS").touch()
    assert len(observe(engine, [plan]).new) == 1


INTS = pa.table({"id": pa.array([1], pa.int64())})
NANOSECONDS = pa.table({"id": pa.array([1], pa.timestamp("ns"))})


@pytest.mark.parametrize(
    ("format", "rows", "columns", "reason"),
    [
        ("parquet", INTS, {"id": "int"}, "id is bigint, declared as int"),
        ("parquet", ROWS, {"amount": "decimal(12,1)"}, "amount is decimal(12,2), declared as decimal(12,1)"),
        ("orc", ROWS, {"at": "timestamp_ntz"}, "at is timestamp, declared as timestamp_ntz"),
        ("orc", INTS, {"id": "string"}, "id is bigint, declared as string"),
        ("parquet", INTS, {"id": "bigint", "day": "date"}, "day is missing"),
        ("orc", INTS, {"id": "bigint", "day": "date"}, "day is missing"),
        (
            "parquet",
            NANOSECONDS,
            {"id": "timestamp"},
            "id is timestamp in nanoseconds, declared as timestamp",
        ),
        ("parquet", b"PAR1", {"id": "int"}, "not a valid parquet file"),
        ("orc", b"id\n1\n", {"id": "int"}, "not a valid orc file"),
        ("json", b'{"id": 1}\n[2]\n', {"id": "int"}, "line 2 is not an object"),
        ("json", b'{"id": 1}\n{"id": \n', {"id": "int"}, "line 2 is not valid JSON"),
        ("json", b'{"id": 1.5}\n', {"id": "int"}, "line 1: id is declared as int, and is 1.5"),
        ("json", b'{"id": 300}\n', {"id": "tinyint"}, "line 1: id is declared as tinyint, and is 300"),
        ("json", b'{"id": "yes"}\n', {"id": "boolean"}, 'id is declared as boolean, and is "yes"'),
        (
            "json",
            b'{"id": {"a": 1}}\n',
            {"id": "array<int>"},
            'id is declared as array<int>, and is {"a": 1}',
        ),
        ("json", b'{"id": 20130101}\n', {"id": "date"}, "id is declared as date, and is 20130101"),
        ("json", b"\xff\n", {"id": "int"}, "can't decode byte"),
    ],
)
def test_what_does_not_read_as_declared_is_blocked_with_the_reason(
    engine: Engine,
    landing: Path,
    external: Plans,
    format: str,
    rows: pa.Table | bytes,
    columns: dict[str, str],
    reason: str,
) -> None:
    file = landing / "many" / "part-0"
    if isinstance(rows, bytes):
        file.parent.mkdir()
        file.write_bytes(rows)
    else:
        write(file, format, rows)
    plan = external("many", "landing/many", format, columns)
    observation = observe(engine, [plan])
    assert observation.published == ()
    (problem,) = observation.problems
    assert "reads_as_declared" in problem
    assert "part-0" in problem
    assert reason in problem.replace("\\", "")


@ORC_INSTANTS
def test_columns_that_are_not_declared_are_a_warning(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession
) -> None:
    for format in ("parquet", "orc", "json"):
        write(landing / format / "part-0", format)
    plans = [
        external(format, f"landing/{format}", format, {"id": "bigint"})
        for format in ("parquet", "orc", "json")
    ]
    observation = observe(engine, plans)
    assert observation.problems == ()
    for found in observation.new:
        (check,) = version(engine, found.dataset).checks
        assert (check.status, check.detail) == (CheckStatus.WARN, {"not declared": ["amount", "at"]})
        assert read(spark, found) == [{"id": 1}, {"id": 2}, {"id": 3}]


@ORC_INSTANTS
def test_undeclared_columns_come_from_the_files(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession
) -> None:
    for format in ("parquet", "orc", "csv"):
        write(landing / format / "part-0", format)
        write(landing / format / "part-1", format)
    plans = [
        external(format, f"landing/{format}", format, options=options(format))
        for format in ("parquet", "orc", "csv")
    ]
    parquet, orc_, csv_ = observe(engine, plans).new
    assert {column.name: column.type for column in parquet.columns} == COLUMNS
    assert {column.name: column.type for column in orc_.columns} == COLUMNS
    assert {column.name: column.type for column in csv_.columns} == dict.fromkeys(COLUMNS, "string")
    for found in (parquet, orc_, csv_):
        assert len(read(spark, found)) == 6
    write(landing / "parquet" / "part-2", "parquet", INTS)
    (problem,) = observe(engine, plans[:1]).problems
    assert "'file': 'part-2'" in problem


def test_omitted_options_have_sparks_defaults(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession
) -> None:
    (landing / "plain.csv").write_text("1,a\n2,b\n")
    (landing / "plain.json").write_text('{"id": 1, "day": "2013-01-01", "at": "2013-01-01T12:00:00Z"}\n')
    csv_, json_ = observe(
        engine,
        [
            external("csv", "landing/plain.csv", "csv", {"id": "int", "name": "string"}),
            external("json", "landing/plain.json", "json", {"id": "int", "day": "date", "at": "timestamp"}),
        ],
    ).new
    assert (csv_.row_count, read(spark, csv_)) == (2, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    assert [row["day"] for row in read(spark, json_)] == [date(2013, 1, 1)]


def test_compressed_text(engine: Engine, landing: Path, external: Plans, spark: SparkSession) -> None:
    folder = landing / "zipped"
    folder.mkdir()
    (folder / "a.json.gz").write_bytes(gzip.compress(b'{"id": 1}\n{"id": 2}\n'))
    (folder / "b.json.bz2").write_bytes(bz2.compress(b'{"id": 3}\n'))
    (landing / "broken.csv.gz").write_bytes(gzip.compress(b"id\n1\n")[:-4])
    plans = [
        external("zipped", "landing/zipped", "json", {"id": "int"}),
        external("broken", "landing/broken.csv.gz", "csv", {"id": "int"}, options={"header": "true"}),
    ]
    observation = observe(engine, plans)
    (found,) = observation.new
    assert (found.row_count, read(spark, found)) == (3, [{"id": 1}, {"id": 2}, {"id": 3}])
    assert "broken.csv.gz" in observation.problems[0]


def test_one_json_array_over_several_lines(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession
) -> None:
    (landing / "array.json").write_text('[\n {"id": 1},\n {"id": 2}\n]\n')
    plan = external("array", "landing/array.json", "json", {"id": "int"}, options={"multiLine": "true"})
    (found,) = observe(engine, [plan]).new
    assert (found.row_count, read(spark, found)) == (2, [{"id": 1}, {"id": 2}])


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_folders_that_encode_a_column(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession, format: str
) -> None:
    for day in ("2013-01-01", "2013-01-02"):
        write(landing / "table" / f"day={day}" / f"part-0.{format}", format, ROWS.select(["id"]))
    plan = external("table", "landing/table", format, {"id": "int", "day": "date"}, options=options(format))
    observation = observe(engine, [plan])
    assert observation.problems == ()
    rows = read(spark, *observation.new)
    assert sorted({row["day"] for row in rows}) == [date(2013, 1, 1), date(2013, 1, 2)]  # type: ignore[type-var]
    assert len(rows) == 6
    write(landing / "table" / "old" / f"part-0.{format}", format, ROWS.select(["id"]))
    (problem,) = observe(engine, [plan]).problems
    assert "Spark does not read files in the folder 'old'" in problem


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_types_that_have_all_values_of_the_files(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession, format: str
) -> None:
    rows = {
        "id": pa.array([1], pa.int8()),
        "ratio": pa.array([0.5], pa.float32()),
        "amount": ROWS["amount"].slice(0, 1),
    }
    declared = {"id": "bigint", "ratio": "double", "amount": "decimal(14,3)"}
    if format == "parquet":
        rows |= {"raw": pa.array([b"x"]), "at": pa.array([datetime(2013, 1, 1)], pa.timestamp("ms"))}  # noqa: DTZ001
        declared |= {"raw": "string", "at": "timestamp"}
    write(landing / "wide" / "part-0", format, pa.table(rows))
    observation = observe(engine, [external("wide", "landing/wide", format, declared)])
    assert observation.problems == ()
    (row,) = read(spark, *observation.new)
    assert (row["id"], row["ratio"], row["amount"]) == (1, 0.5, Decimal("1.100"))
    assert (row.get("raw", "x"), row.get("at", "2013-01-01 00:00:00")) == ("x", "2013-01-01 00:00:00")


@ORC_INSTANTS
def test_names_in_another_case_and_names_that_hive_left_out(
    engine: Engine, landing: Path, external: Plans, spark: SparkSession
) -> None:
    write(landing / "upper" / "part-0", "parquet", INTS.rename_columns(["ID"]))
    write(landing / "hive" / "part-0", "orc", ROWS.rename_columns(["_col0", "_col1", "_col2"]))
    (landing / "hive" / "part-1").touch()  # Hive's empty bucket
    plans = [
        external("upper", "landing/upper", "parquet", {"id": "bigint"}),
        external("hive", "landing/hive", "orc", COLUMNS),
    ]
    observation = observe(engine, plans)
    assert observation.problems == ()
    upper, hive = observation.new
    assert read(spark, upper) == [{"id": 1}]
    assert [row["amount"] for row in read(spark, hive)] == ROWS["amount"].to_pylist()


def test_a_corrected_declaration_is_observed_again(engine: Engine, landing: Path, external: Plans) -> None:
    (landing / "a.csv").write_text("id;name\n1;a\n")
    columns = {"id": "int", "name": "string"}
    wrong = external("a", "landing/a.csv", "csv", columns, options={"header": "true"})
    right = external("a", "landing/a.csv", "csv", columns, options={"header": "true", "sep": ";"})
    other = external(
        "a", "landing/a.csv", "csv", columns | {"id": "bigint"}, options={"header": "true", "sep": ";"}
    )
    memory: Memory = {}
    assert len(observe(engine, [wrong], memory=memory).problems) == 1
    assert [len(observe(engine, [plan], memory=memory).new) for plan in (right, right, other, other)] == [
        1,
        0,
        1,
        0,
    ]


def test_what_came_to_nothing_is_not_read_again(
    engine: Engine, landing: Path, external: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = external("blocked", "landing/blocked.json", "json", {"id": "int"})
    touched = external("touched", "landing/touched.json", "json", {"id": "int"})
    (landing / "blocked.json").write_text("none\n")
    file = landing / "touched.json"
    file.write_text('{"id": 1}\n')
    memory: Memory = {}
    observe(engine, [blocked, touched], memory=memory)
    os.utime(file, ns=(0, 10**18))
    first = observe(engine, [blocked, touched], memory=memory)
    monkeypatch.setattr(
        "headrace.files.filesystem.LocalFiles.data_files", lambda *_: pytest.fail("it is read again")
    )
    again = observe(engine, [blocked, touched], memory=memory)
    assert (again.problems, again.new) == (first.problems, ())
    assert len(again.problems) == 1


@pytest.mark.parametrize(("format", "content"), [("json", b'{"email": 7}\n'), ("csv", b"ann@example.com\n")])
def test_no_sensitive_value_is_shown(
    engine: Engine, landing: Path, external: Plans, format: str, content: bytes
) -> None:
    (landing / "many").write_bytes(content)
    email = Column("email", "string" if format == "csv" else "date", tags=("pii",))
    options = {"header": "true"} if format == "csv" else {}
    plan = external("many", "landing/many", format, {"email": email}, options=options)
    (problem,) = observe(engine, [plan]).problems
    assert "ann@" not in problem
    assert "7" not in problem.partition("reads_as_declared")[2]
