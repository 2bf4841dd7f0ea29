"""Versions: writing, quarantine, combined reads, and errors of damaged ones."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.catalog.records import Check, Column
from headrace.catalog.schema import classify
from headrace.files.filesystem import LocalFiles, local_path
from headrace.files.formats import FORMATS
from headrace.files.hadoop import HadoopFiles
from headrace.files.sizes import size_of
from headrace.severity import Severity
from headrace.spark.errors import CorruptInput, SchemaMismatch, StoreUnavailable
from headrace.stores.data_files.partitions import escaped
from headrace.stores.files.store import FilesStore
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat, PartitionWrite

KEYS = ("2020-01-01T00:00|NL", "2020-01-01T01:00|NL", "2020-01-01T02:00|NL")


@pytest.fixture
def orders(spark: SparkSession) -> Any:
    """Rows of the first two keys, n from 0 to 9 in each, ten rows of another key and two of none."""
    hours = F.element_at(
        F.array(F.lit(KEYS[0]), F.lit(KEYS[1]), F.lit("1999|NL")), (F.col("id") / 10 + 1).cast("int")
    )
    frame = spark.range(30).select((F.col("id") % 10).alias("n"), hours.alias("hour"))
    return frame.union(spark.sql("select id n, cast(null as string) from range(2)"))


def test_a_write_is_never_over_another(spark: SparkSession, store: FilesStore) -> None:
    store.write(spark.range(3), dataset="shop/orders", tag="same")
    with pytest.raises(StoreUnavailable, match="already exists"):
        store.write(spark.range(3), dataset="shop/orders", tag="same")


def test_tags_sort_by_time_and_do_not_repeat(store: FilesStore) -> None:
    tags = {new_tag() for _ in range(50)}
    assert len(tags) == 50
    moment = dt.datetime.strptime(min(tags)[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC)
    assert abs(dt.datetime.now(dt.UTC) - moment) < dt.timedelta(seconds=5)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_range_is_one_write_of_many_versions(
    orders: Any, store: FilesStore, version: Any, format: Any
) -> None:
    checks = [
        Check("small", "less_than", "n", {"max_value": 9}),
        Check("key", "unique", "n"),
        Check("some", "row_count", parameters={"min": 1}),
    ]
    written = store.write(
        orders,
        dataset="shop/orders",
        tag="t",
        output=OutputFormat(format),
        checks=checks,
        partition=PartitionWrite("hour", KEYS),
    )
    assert [w.partition for w in written] == list(KEYS)
    assert [w.row_count for w in written] == [10, 10, 0]
    assert all("partition=2020-01-01T0" in w.location and "%3A00|NL" in w.location for w in written)
    results = [{r.name: (r.status.value, r.failed_rows) for r in w.check_results} for w in written]
    full = {"small": ("FAIL", 1), "key": ("PASS", 0), "some": ("PASS", None), "partition": ("FAIL", 12)}
    assert results == [full, full, full | {"small": ("PASS", 0), "some": ("FAIL", None)}]
    assert [w.statistics["n"].get("max") for w in written] == [9, 9, None]
    versions = [version(w, format) for w in written]
    assert [store.read([v]).count() for v in versions] == [10, 10, 0]
    together = store.read(versions)
    assert together.columns == ["n", "hour"]
    assert sorted(together.groupBy("hour").count().collect()) == [(KEYS[0], 10), (KEYS[1], 10)]


@pytest.mark.parametrize("place", ["a?b", "a[x]b", "{a,b}", "a*"])
def test_partitions_in_a_place_that_looks_like_a_pattern_are_read_once(
    spark: SparkSession, version: Any, tmp_path: Path, place: str
) -> None:
    store = FilesStore(spark, (tmp_path / place).as_uri())
    check = Check("even", "sql", None, {"expression": "id % 2 = 0"}, Severity.WARNING)
    keys = PartitionWrite("CAST(id % 3 AS STRING)", ("0", "1", "2"))
    frame = spark.range(6).selectExpr("id", "1 AS one")
    written = store.write(frame, dataset="shop/orders", tag=new_tag(), partition=keys, checks=[check])
    assert [each.check_results[0].failed_rows for each in written] == [1, 1, 1]
    read = store.read([version(each) for each in written])
    assert sorted(row.id for row in read.collect()) == [0, 1, 2, 3, 4, 5]


def test_a_range_writes_one_file_a_small_partition(spark: SparkSession, store: FilesStore) -> None:
    frame = spark.range(0, 400, 1, 8).select("id", (F.col("id") % 20).cast("string").alias("k"))
    keys = tuple(str(k) for k in range(20))
    written = store.write(frame, dataset="shop/orders", tag="t", partition=PartitionWrite("k", keys))
    assert {w.file_count for w in written} == {1}
    assert {r.status.value for w in written for r in w.check_results} == {"PASS"}


def test_one_key_takes_only_its_rows(orders: Any, store: FilesStore, version: Any) -> None:
    [written] = store.write(
        orders, dataset="shop/orders", tag="t", partition=PartitionWrite("hour", KEYS[1:2])
    )
    [result] = written.check_results
    assert (result.name, result.failed_rows, result.detail["examples"]) == (
        "partition",
        22,
        ["1999|NL", KEYS[0]],
    )
    assert store.read([version(written)]).distinct().count() == written.row_count == 10


@pytest.mark.parametrize("backslashes_stand_for_themselves", ["true", "false"])
def test_a_key_with_quotes_and_backslashes_is_taken_literally(
    spark: SparkSession, store: FilesStore, backslashes_stand_for_themselves: Any
) -> None:
    keys = (r"it's a\nb", "it's a\nb", 'say "é"')
    frame = spark.createDataFrame([(key,) for key in (*keys, "other")], "k string")
    setting = "spark.sql.parser.escapedStringLiterals"
    spark.conf.set(setting, backslashes_stand_for_themselves)
    try:
        written = [
            store.write(frame, dataset="shop/orders", tag=tag, partition=PartitionWrite("k", of))
            for tag, of in {"range": keys, "one": keys[:1]}.items()
        ]
    finally:
        spark.conf.unset(setting)
    assert [[w.row_count for w in each] for each in written] == [[1, 1, 1], [1]]


def test_without_a_column_every_row_is_of_the_one_partition(
    orders: Any, store: FilesStore, version: Any
) -> None:
    [written] = store.write(orders, dataset="shop/orders", tag="t", partition=PartitionWrite(None, KEYS[:1]))
    [result] = written.check_results
    assert (result.name, result.status.value, result.failed_rows) == ("partition", "PASS", 0)
    assert store.read([version(written)]).count() == written.row_count == orders.count()
    with pytest.raises(ValueError, match="need a key"):
        PartitionWrite(None, KEYS)


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("keys", [None, KEYS[:1], KEYS])
def test_rows_that_fail_a_quarantining_check_are_set_aside(
    spark: SparkSession, orders: Any, store: FilesStore, version: Any, format: Any, keys: Any
) -> None:
    checks = [
        Check("even", "sql", parameters={"expression": "n % 2 = 0"}, quarantine=True),
        Check("small", "less_than", "n", {"max_value": 8}, quarantine=True),
        Check("positive", "greater_than", "n", {"min_value": 0}),
        Check("not_odd", "notin", "n", {"forbidden_values": [1, 3, 5, 7, 9]}),
    ]
    written = store.write(
        orders.where(F.col("hour") == KEYS[0]),
        dataset="shop/orders",
        tag="t",
        output=OutputFormat(format),
        checks=checks,
        partition=PartitionWrite("hour", keys) if keys else None,
    )
    first = written[0]
    assert (first.row_count, first.quarantine_rows) == (4, 6)
    reported = {r.name: (r.status.value, r.failed_rows) for r in first.check_results}
    reported.pop("partition", None)
    assert reported == {
        "even": ("WARN", 5),
        "small": ("WARN", 2),
        "positive": ("FAIL", 1),
        "not_odd": ("PASS", 0),
    }
    assert first.location.endswith("/rows=accepted")
    assert sorted(r.n for r in store.read([version(first, format)]).collect()) == [0, 2, 4, 6]
    [even] = [r for r in first.check_results if r.name == "even"]
    assert even.detail["location"] == first.quarantine_location
    aside = version(dataclasses.replace(first, location=first.quarantine_location), format)  # type: ignore[arg-type]
    size = size_of(LocalFiles().data_files(first.quarantine_location or ""))
    aside = dataclasses.replace(aside, byte_size=size.byte_size, file_count=size.file_count)
    assert sorted(r.n for r in store.read([aside]).collect()) == [1, 3, 5, 7, 8, 9]
    for other in written[1:]:
        assert (other.row_count, other.quarantine_rows, other.quarantine_location) == (0, 0, None)
        assert {r.status.value for r in other.check_results} == {"PASS"}


def test_a_clean_write_is_not_read_back(spark: SparkSession, store: FilesStore) -> None:
    """Null, range and pattern checks on valid data need no job except the write."""
    frame = (
        spark.range(100)
        .selectExpr("id", "concat('x', id) text", "if(id % 2 = 0, null, 1.5D) ratio")
        .coalesce(1)
    )
    checks = [
        Check("a", "not_null", "id"),
        Check("b", "in_range", "id", {"min_value": 0, "max_value": 99}),
        Check("c", "str_matches", "text", {"pattern": "x[0-9]+$"}),
        Check("d", "greater_than", "ratio", {"min_value": 1.0}),
        Check("e", "sql", parameters={"expression": "id >= 0 or text = ''"}),
        Check("f", "row_count", parameters={"min": 100, "max": 100}),
    ]
    context = spark.sparkContext
    context.setJobGroup("clean", "")
    try:
        [written] = store.write(frame, dataset="shop/orders", tag="t", checks=checks)
        jobs = context.statusTracker().getJobIdsForGroup("clean")
    finally:
        context._jsc.clearJobGroup()
    assert len(jobs) == 1
    assert {(r.status.value, r.failed_rows) for r in written.check_results} == {("PASS", 0), ("PASS", None)}


def test_declared_columns_decide_order_and_are_required(spark: SparkSession, store: FilesStore) -> None:
    frame = spark.sql("select 1 a, 'x' b, 2 c")
    declared = [Column("b", "string", description="the b"), Column("a", "bigint"), Column("d", "date")]
    with pytest.raises(SchemaMismatch, match="d is missing; c is not declared; a is int, declared bigint"):
        store.write(frame, dataset="shop/orders", tag="t", columns=declared)
    declared = [Column("b", "string", description="the b"), Column("c", "int"), Column("a", "int")]
    [written] = store.write(frame, dataset="shop/orders", tag="t", columns=declared)
    assert written.columns == tuple(declared)


def test_a_column_may_be_named_anything_but_a_directory_level(
    spark: SparkSession, store: FilesStore, version: Any
) -> None:
    frame = spark.range(2).selectExpr("id as `a.b c``d`", "id as `partition`", "id as `rows`")
    check = Check("c", "less_than", "a.b c`d", {"max_value": 1})
    [written] = store.write(frame, dataset="shop/orders", tag="t", checks=[check])
    assert written.check_results[0].failed_rows == 1
    assert store.read([version(written)]).columns == frame.columns
    with pytest.raises(SchemaMismatch, match="'partition' is reserved for a directory level"):
        store.write(frame, dataset="shop/orders", tag="u", partition=PartitionWrite("'k'", ("k",)))


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_an_added_column_reads_as_null_from_older_versions(
    spark: SparkSession, store: FilesStore, version: Any, format: Any
) -> None:
    old, new = (
        version(
            store.write(frame, dataset="shop/orders", tag=tag, output=OutputFormat(format))[0],
            format,
            created_at=at,
        )
        for tag, frame, at in [
            ("old", spark.sql("select 1 a, 'x' b"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
            (
                "new",
                spark.sql("select 2 a, date'2020-01-01' c, 'y' b"),
                dt.datetime(2021, 1, 1, tzinfo=dt.UTC),
            ),
        ]
    )
    frame = store.read([old, new])
    assert frame.columns == ["a", "c", "b"]
    assert sorted(map(tuple, frame.collect())) == [(1, None, "x"), (2, dt.date(2020, 1, 1), "y")]


def test_versions_whose_types_do_not_fit_are_not_read_together(
    spark: SparkSession, store: FilesStore, version: Any
) -> None:
    old, new = (
        version(store.write(spark.sql(sql), dataset="shop/orders", tag=sql[7])[0], tag=sql[7])
        for sql in ("select 1 a", "select 'x' a")
    )
    with pytest.raises(SchemaMismatch, match="shop/orders: column a is"):
        store.read([old, new])


WIDENED = {
    "int to bigint": ("1", "CAST(2 AS BIGINT)", ["1", "2"]),
    "int to double": ("1", "2.5D", ["1.0", "2.5"]),
    "float to double": ("CAST(0.5 AS FLOAT)", "2.5D", ["0.5", "2.5"]),
    "decimal": ("CAST(1.25 AS DECIMAL(10,2))", "CAST(2.5 AS DECIMAL(12,2))", ["1.25", "2.50"]),
    "int to decimal": ("1", "CAST(2 AS DECIMAL(12,0))", ["1", "2"]),
    "field added": ("struct(1 AS x)", "struct(2 AS x, 3 AS y)", ['{"x":1}', '{"x":2,"y":3}']),
    "field widened": ("struct(1 AS x)", "struct(2L AS x)", ['{"x":1}', '{"x":2}']),
    "elements widened": ("array(1, NULL)", "array(2L)", ["[1,null]", "[2]"]),
    "fields of elements": (
        "array(struct(1 AS x))",
        "array(struct(2L AS x, 3 AS y))",
        ['[{"x":1}]', '[{"x":2,"y":3}]'],
    ),
    "values widened": ("map('k', 1)", "map('k', 2L)", ['{"k":1}', '{"k":2}']),
}


@pytest.mark.parametrize("format", ["parquet", "json", "orc", "csv"])
def test_what_a_schema_change_calls_compatible_is_read_together(
    spark: SparkSession, store: FilesStore, version: Any, format: Any
) -> None:
    cases = {
        name.replace(" ", "_"): case
        for name, case in WIDENED.items()
        if format != "csv" or case[2][0][0] not in "[{"  # has no nested types
    }
    old, new = (
        version(
            store.write(
                spark.sql("SELECT " + ", ".join(f"{case[side]} AS {name}" for name, case in cases.items())),
                dataset="shop/orders",
                tag=new_tag(),
                output=OutputFormat(format),
            )[0],
            format,
        )
        for side in (0, 1)
    )
    assert not classify(old.columns, new.columns).breaking
    frame = store.read([old, new])
    assert {each.name: each.dataType.simpleString() for each in frame.schema} == {
        each.name: each.type for each in new.columns
    }
    rows = frame.select(
        *[
            (F.to_json(name) if expected[0][0] in "[{" else F.col(name).cast("string")).alias(name)
            for name, (_, _, expected) in cases.items()
        ]
    ).collect()
    for name, (_, _, expected) in cases.items():
        assert sorted(row[name] for row in rows) == sorted(expected), name


def test_a_null_struct_stays_null_when_fields_are_added(
    spark: SparkSession, store: FilesStore, version: Any
) -> None:
    old, new = (
        version(store.write(spark.sql(f"SELECT {sql} AS v"), dataset="shop/orders", tag=new_tag())[0])
        for sql in ("CAST(NULL AS struct<x:int>)", "struct(2 AS x, 3 AS y)")
    )
    assert sorted(row.v is None for row in store.read([old, new]).collect()) == [False, True]


def test_external_csv_is_read_by_header_without_loss(
    spark: SparkSession, store: FilesStore, version: Any, tmp_path: Path
) -> None:
    (tmp_path / "feed.csv").write_text("id;name\n1;a b\n2;\n")
    size = size_of(LocalFiles().data_files(f"file://{tmp_path}/feed.csv"))
    [some] = store.write(spark.sql("select 1 id, '' name"), dataset="shop/orders", tag="t")
    feed = version(
        some,
        "csv",
        location=f"file://{tmp_path}/feed.csv",
        metadata={"options": {"header": "true", "sep": ";"}},
        byte_size=size.byte_size,
        file_count=1,
    )
    assert sorted(map(tuple, store.read([feed]).collect())) == [(1, "a b"), (2, None)]
    (tmp_path / "feed.csv").write_text("id;name\n1;a b\nx;y\n")
    feed = dataclasses.replace(feed, byte_size=size_of(LocalFiles().data_files(feed.location)).byte_size)
    with pytest.raises(CorruptInput, match=r"shop/orders version .* cannot be read: .*feed\.csv"):
        store.write(store.read([feed]), dataset="shop/copy", tag="t")


def _damage(file: Path, how: str) -> None:
    for crc in file.parent.glob(".*.crc"):
        crc.unlink()
    content = file.read_bytes()
    match how:
        case "garbled":
            file.write_bytes(b"\x00" * len(content))
        case "shortened":
            file.write_bytes(content[: len(content) // 2])
        case "emptied":
            file.write_bytes(b"")
        case "gone":
            file.unlink()


@pytest.mark.parametrize("how", ["garbled", "shortened", "emptied", "gone"])
@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_damaged_input_names_dataset_version_and_file(
    spark: SparkSession, store: FilesStore, version: Any, format: Any, how: Any
) -> None:
    frame = spark.range(50).selectExpr("id", "uuid() u").coalesce(1)
    [written] = store.write(frame, dataset="shop/orders", tag="t", output=OutputFormat(format))
    [file] = LocalFiles().data_files(written.location)
    _damage(local_path(file.path), how)
    with pytest.raises(
        CorruptInput, match=r"shop/orders version 20260101T000000Z-00000000 cannot be read: .*\(file "
    ):
        store.write(store.read([version(written, format)]), dataset="shop/copy", tag="t")


def test_a_file_that_vanishes_while_being_read_is_reported(
    spark: SparkSession, store: FilesStore, version: Any
) -> None:
    [written] = store.write(spark.range(5).coalesce(1), dataset="shop/orders", tag="t")
    frame = store.read([version(written)])
    [file] = LocalFiles().data_files(written.location)
    local_path(file.path).unlink()
    with pytest.raises(CorruptInput, match="a file is missing"):
        store.write(frame, dataset="shop/copy", tag="t")


def test_a_warehouse_that_cannot_be_written_says_so(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match=r"Cannot create file://.*/file/shop/orders/t"):
        FilesStore(spark, f"file://{tmp_path}/file").write(spark.range(1), dataset="shop/orders", tag="t")
    with pytest.raises(StoreUnavailable, match=r"Cannot reach hdfs://127.0.0.1:1/.*: .*Connection refused"):
        FilesStore(spark, "hdfs://127.0.0.1:1/w").write(spark.range(1), dataset="shop/orders", tag="t")
    with pytest.raises(StoreUnavailable, match=r"Cannot reach nope://w/.*No FileSystem for scheme"):
        FilesStore(spark, "nope://w/").write(spark.range(1), dataset="shop/orders", tag="t")


def test_a_full_disk_says_so(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "tiny"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", place], check=False).returncode:
        pytest.skip("mounting a small filesystem needs root")
    try:
        with pytest.raises(StoreUnavailable, match="Disk full while writing file://"):
            FilesStore(spark, place.as_uri()).write(
                spark.range(50_000).selectExpr("uuid() u"), dataset="shop/orders", tag="t"
            )
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_the_transforms_own_failure_is_left_alone(spark: SparkSession, store: FilesStore) -> None:
    @F.udf("int")
    def reach(_: Any) -> None:
        raise OSError("Connection refused")

    with pytest.raises(Exception, match="Connection refused") as raised:
        store.write(spark.range(1).select(reach("id")), dataset="shop/orders", tag="t")
    assert type(raised.value).__name__ == "PythonException"


def test_a_transform_that_calls_its_own_data_corrupted_blames_no_input(
    spark: SparkSession, store: FilesStore, version: Any
) -> None:
    @F.udf("int")
    def refuse(_: Any) -> None:
        raise ValueError("this record is corrupted")

    [written] = store.write(spark.range(1), dataset="shop/orders", tag="t")
    frame = store.read([version(written)]).select(refuse("id"))
    with pytest.raises(Exception, match="this record is corrupted") as raised:
        store.write(frame, dataset="shop/copy", tag="t")
    assert type(raised.value).__name__ == "PythonException"


def test_the_checksum_follows_the_content(spark: SparkSession, store: FilesStore) -> None:
    frame = spark.range(10).coalesce(1)
    one, same, other = (
        store.write(f, dataset="shop/orders", tag=t)[0]
        for t, f in [("1", frame), ("2", frame), ("3", spark.range(1, 11).coalesce(1))]
    )
    assert one.checksum == same.checksum != other.checksum
    [file] = LocalFiles().data_files(one.location)
    assert size_of(LocalFiles().data_files(one.location)).checksum == one.checksum
    content = bytearray(local_path(file.path).read_bytes())
    content[len(content) // 2] ^= 1
    local_path(file.path).write_bytes(content)
    local_path(file.path).with_name(f".{local_path(file.path).name}.crc").unlink()
    assert size_of(LocalFiles().data_files(one.location)).checksum != one.checksum


def test_hadoop_and_local_files_are_listed_alike(
    spark: SparkSession, store: FilesStore, tmp_path: Path
) -> None:
    [written] = store.write(spark.range(10), dataset="shop/orders", tag="t")
    hadoop, local = HadoopFiles(spark), LocalFiles()
    ours, theirs = (files.data_files(written.location) for files in (local, hadoop))
    assert [(f.name, f.byte_size) for f in ours] == [(f.name, f.byte_size) for f in theirs]
    assert sorted(hadoop.sizes(written.location)) == sorted(local.sizes(written.location))
    for files in (local, hadoop):
        with files.open(theirs[0].path) as file:
            assert file.seek(-4, os.SEEK_END) == theirs[0].byte_size - 4
            assert file.read() == b"PAR1"
            assert file.seek(0) == 0
            assert file.read(4) == b"PAR1"
    for text in ("one", "two"):
        earlier = hadoop.read_text(f"file://{tmp_path}/m/current.json")
        hadoop.replace_text(f"file://{tmp_path}/m/current.json", text, earlier)
        assert (tmp_path / "m" / "current.json").read_text() == text
    hadoop.make_directory(f"file://{tmp_path}/a%3A b/c")
    assert (tmp_path / "a%3A b" / "c").is_dir()
    assert hadoop.exists(f"file://{tmp_path}/a%3A b")
    assert not hadoop.exists(f"file://{tmp_path}/a: b")
    with pytest.raises(StoreUnavailable, match="Nothing is at"):
        hadoop.data_files(f"file://{tmp_path}/nothing")


def test_a_version_on_another_filesystem_is_written_audited_and_read(
    spark: SparkSession, store: FilesStore, version: Any, tmp_path: Path
) -> None:
    """Through Hadoop's view filesystem, which is remote for Headrace's code."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.here.link./warehouse", tmp_path.as_uri())
    remote = FilesStore(spark, "viewfs://here/warehouse")
    checks = [Check("c", "in_range", "id", {"min_value": 0, "max_value": 8})]
    [written] = remote.write(spark.range(10), dataset="shop/orders", tag="t", checks=checks)
    assert written.location == "viewfs://here/warehouse/shop/orders/t"
    assert (written.row_count, written.check_results[0].failed_rows) == (10, 1)
    assert remote.read([version(written)]).count() == 10


def test_keys_are_escaped_as_spark_does(spark: SparkSession) -> None:
    spark_escapes = spark._jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.escapePathName
    for text in ["2020-01-01T10:00|é", *(chr(i) for i in range(1, 0x180))]:
        assert escaped(text) == spark_escapes(text)


@pytest.mark.parametrize("keys", [(), ("",), ("a", "a")])
def test_partition_keys_are_there_and_differ(keys: Any) -> None:
    with pytest.raises(ValueError, match="partition key"):
        PartitionWrite("'a'", keys)
