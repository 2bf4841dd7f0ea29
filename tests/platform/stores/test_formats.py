"""A version reads back exactly as written, in every format."""

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.files.formats import FORMATS
from headrace.spark.errors import SchemaMismatch, StoreUnavailable
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat

# Surrogates are not characters; what CSV cannot keep has its own test.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ue000"), max_size=12)
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)).filter(  # noqa: DTZ001 - hypothesis wants them so
    lambda moment: not dt.datetime(1969, 12, 31, 23, 59, 59) <= moment < dt.datetime(1970, 1, 1)  # noqa: DTZ001
)
FLAT = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-(2**7), 2**7 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(18,4)": st.decimals(-(10**13), 10**13, places=4),
    "decimal(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    "string": TEXT,
    "date": st.dates(dt.date(1, 1, 1)),
    "timestamp": MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    "timestamp_ntz": MOMENTS,
}
NESTED = {
    "binary": st.binary(max_size=5),
    "array<string>": st.lists(st.none() | TEXT, max_size=3),
    "struct<x:bigint,at:timestamp>": st.tuples(st.none() | FLAT["bigint"], st.none() | FLAT["timestamp"]),
    "map<string,double>": st.dictionaries(TEXT, st.none() | st.floats(allow_nan=False), max_size=3),
}
ODD = st.characters(categories=["L", "P", "S", "Z", "Cc", "Cf", "N"])
NAMES = st.text(ODD | st.sampled_from("`\"'\\,\n\r\t .:=#%/\ufeff\ue000"), max_size=4)
# Every example is a Spark job of many values, so there are few, and a failing one is not reduced.
FEW = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
REFUSED = (SchemaMismatch, StoreUnavailable)


@st.composite
def _frames(draw: Any, format: Any) -> Any:
    """A schema of several columns, and rows for it."""
    types = {**FLAT, **NESTED} if FORMATS[format].has_nested else FLAT
    schema = draw(st.lists(st.sampled_from(sorted(types)), min_size=1, max_size=8))
    rows = draw(st.lists(st.tuples(*(st.none() | types[type] for type in schema)), max_size=40))
    return ", ".join(f"c{number} {type}" for number, type in enumerate(schema)), rows


@pytest.mark.parametrize("format", sorted(FORMATS))
@FEW
@given(data=st.data())
def test_round_trip_is_exact(spark: SparkSession, store: Any, version: Any, format: Any, data: Any) -> None:
    schema, rows = data.draw(_frames(format))
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), output=OutputFormat(format))
    back = store.read([version(written, format)])
    assert back.schema.simpleString() == frame.schema.simpleString()
    # A batch of nothing but zeros comes out of ORC's reader with the sign of its first.
    signed = format != "orc"
    assert _comparable(back, signed) == _comparable(frame, signed)
    assert written.row_count == len(rows)


@pytest.mark.parametrize("format", sorted(FORMATS))
@FEW
@given(names=st.lists(NAMES, min_size=1, max_size=12, unique_by=str.casefold))
def test_columns_of_any_name_are_read_back_or_refused(
    spark: SparkSession, store: Any, version: Any, format: Any, names: Any
) -> None:
    frame = (
        spark.range(3).select(*((F.col("id") + n).alias(name) for n, name in enumerate(names))).coalesce(1)
    )
    try:
        [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), output=OutputFormat(format))
    except REFUSED:
        return
    back = store.read([version(written, format)])
    assert back.columns == names
    assert sorted(map(tuple, back.collect())) == [tuple(range(n, n + len(names))) for n in range(3)]


@pytest.mark.parametrize(
    ("format", "names"),
    [
        ("orc", ["a`b"]),
        ("csv", ["\ufeffa", "b"]),
        ("csv", ["a\x00"]),
        *((each, [""]) for each in sorted(FORMATS)),
    ],
)
def test_a_column_name_that_cannot_be_read_is_refused(
    spark: SparkSession, store: Any, format: Any, names: Any
) -> None:
    frame = spark.range(3).select(*(F.col("id").alias(name) for name in names))
    tag = new_tag()
    with pytest.raises(SchemaMismatch, match=r"column.*(named|empty)"):
        store.write(frame, dataset="shop/orders", tag=tag, output=OutputFormat(format))
    assert tag not in store.tags("shop/orders")


@pytest.mark.parametrize("format", sorted(name for name, each in FORMATS.items() if each.has_nested))
def test_fields_of_structs_may_have_any_name_that_a_type_can_state(
    spark: SparkSession, store: Any, version: Any, format: Any
) -> None:
    frame = spark.sql(
        "SELECT array(named_struct('user-id', 1, 'é', map('k', named_struct('a b', 2)), 'select', 3)) AS s"
    )
    [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), output=OutputFormat(format))
    assert store.read([version(written, format)]).collect() == frame.collect()


@pytest.mark.parametrize("name", ["a:b", "a,b", "a>b", ""])
def test_a_field_name_that_a_type_cannot_state_is_refused(spark: SparkSession, store: Any, name: Any) -> None:
    frame = spark.sql(f"SELECT array(named_struct('{name}', 1)) AS s")
    with pytest.raises(SchemaMismatch, match="cannot be read with a field named"):
        store.write(frame, dataset="shop/orders", tag=new_tag())


@pytest.mark.parametrize(
    ("format", "value", "rows"),
    [
        ("csv", "concat('tab', chr(0), ',')", 1),
        ("csv", "decode(X'EE8080', 'UTF-8')", 1),
        ("orc", "timestamp'1969-12-31 23:59:59.999999Z'", 1),
        ("orc", "timestamp_ntz'1969-12-31 23:59:59.5'", 1),
        ("orc", "array(struct(timestamp'1969-12-31 23:59:59.000001Z'))", 1),
        ("orc", "map(1, timestamp'1969-12-31 23:59:59.999Z')", 1),
        ("orc", "timestamp'1969-12-31 23:59:59Z'", 0),
        ("orc", "timestamp'1969-12-31 23:59:58.999999Z'", 0),
        ("json", "concat('tab', chr(0), ',')", 0),
        ("json", "timestamp'1969-12-31 23:59:59.999999Z'", 0),
        ("parquet", "timestamp'1969-12-31 23:59:59.999999Z'", 0),
    ],
)
def test_a_value_that_the_format_does_not_keep_is_refused(
    spark: SparkSession, store: Any, version: Any, format: Any, value: Any, rows: Any
) -> None:
    frame = spark.sql(f"SELECT 1 AS n, {value} AS v UNION ALL SELECT 2, NULL")
    output = OutputFormat(format)
    if rows:
        with pytest.raises(SchemaMismatch, match=rf"{format} files do not keep .* v \({rows} rows\)"):
            store.write(frame, dataset="shop/orders", tag=new_tag(), output=output)
    else:
        [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), output=output)
        assert _comparable(store.read([version(written, format)])) == _comparable(frame)


def _comparable(frame: Any, signed: bool = True) -> list[tuple[str, ...]]:
    """Rows as comparable texts, in which NaN equals itself and, with `signed`, -0.0 differs from 0.0.

    The entries of a map have no order: PySpark's conversion of an unsafe row gives them another one than ORC's reader.
    """
    texts = (tuple(_text(value) for value in row) for row in frame.collect())
    return sorted(
        row if signed else tuple(re.sub(r"-0\.0(?![\de])", "0.0", text) for text in row) for row in texts
    )


def _text(value: object) -> str:
    ordered = sorted(value.items()) if isinstance(value, dict) else value
    return f"{type(value).__name__}:{ordered!r}"


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_column_of_nulls_and_empty_texts_keeps_every_row(
    spark: SparkSession, store: Any, version: Any, format: Any
) -> None:
    frame = spark.createDataFrame([(None,), ("",), ("a",), (" b ",), ("l\r\nm\n",)], "text string").coalesce(
        1
    )
    [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), output=OutputFormat(format))
    assert [r.text for r in store.read([version(written, format)]).collect()] == [
        None,
        "",
        "a",
        " b ",
        "l\r\nm\n",
    ]


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_statistics_are_those_of_the_rows(spark: SparkSession, store: Any, format: Any) -> None:
    rows = [
        (1, "b", Decimal("2.5000"), 1.5, dt.date(2020, 1, 2), dt.datetime(2020, 1, 1, 1, tzinfo=dt.UTC)),
        (None, "", Decimal("-1.0000"), math.nan, None, dt.datetime(2019, 1, 1, 1, 0, 0, 5, tzinfo=dt.UTC)),
    ]
    frame = spark.createDataFrame(
        rows, "n int, text string, amount decimal(18,4), ratio double, day date, at timestamp"
    ).repartition(2)
    [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), output=OutputFormat(format))
    assert written.statistics == {
        "n": {"null_count": 1, "min": 1, "max": 1},
        "text": {"null_count": 0, "min": "", "max": "b"},
        "amount": {"null_count": 0, "min": "-1.0000", "max": "2.5000"},
        "ratio": {"null_count": 0},  # NaN cannot be sorted
        "day": {"null_count": 1, "min": "2020-01-02", "max": "2020-01-02"},
        "at": {
            "null_count": 0,
            "min": "2019-01-01T01:00:00.000005+00:00",
            "max": "2020-01-01T01:00:00+00:00",
        },
    }


def test_unknown_format_names_the_known_ones(spark: SparkSession, store: Any) -> None:
    with pytest.raises(ValueError, match="unknown format 'avro'; choose one of csv, "):
        store.write(spark.range(1), dataset="shop/orders", tag=new_tag(), output=OutputFormat("avro"))
