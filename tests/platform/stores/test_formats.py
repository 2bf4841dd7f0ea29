"""A version reads back exactly as written, in every format."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from headrace.stores.files.formats import FORMATS, OutputFormat

SCHEMA = (
    "n bigint, text string, amount decimal(18,4), ratio double, day date, at timestamp, wall timestamp_ntz, "
    "flag boolean, small float"
)
# Surrogates are not characters, and the null's name in CSV is the one text that cannot be kept.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ue000"), max_size=12)
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001 - hypothesis wants them so


def _rows() -> st.SearchStrategy[list[tuple[object, ...]]]:
    row = st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | TEXT,
        st.none() | st.decimals(-(10**13), 10**13, places=4),
        st.none() | st.floats(),
        st.none() | st.dates(dt.date(1, 1, 1)),
        st.none() | MOMENTS.map(lambda m: m.replace(tzinfo=dt.UTC)),
        st.none() | MOMENTS,
        st.none() | st.booleans(),
        st.none() | st.floats(width=32),
    )
    return st.lists(row, max_size=60)


@pytest.mark.parametrize("format", sorted(FORMATS))
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=list(HealthCheck),  # every example is a Spark job of many rows
)
@given(rows=_rows())
def test_round_trip_is_exact(spark: SparkSession, store: Any, version: Any, format: Any, rows: Any) -> None:
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    [written] = store.write(frame, dataset="shop/orders", tag=store.tag(), output=OutputFormat(format))
    back = store.read([version(written, format)])
    assert back.schema.simpleString() == frame.schema.simpleString()
    assert _comparable(back) == _comparable(frame)
    assert written.row_count == len(rows)


def _comparable(frame: Any) -> list[tuple[str, ...]]:
    """Rows as comparable texts, in which NaN equals itself and -0.0 differs from 0.0."""
    return sorted(tuple(f"{type(v).__name__}:{v!r}" for v in row) for row in frame.collect())


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_column_of_nulls_and_empty_texts_keeps_every_row(
    spark: SparkSession, store: Any, version: Any, format: Any
) -> None:
    frame = spark.createDataFrame([(None,), ("",), ("a",), (" b ",), ("l\r\nm\n",)], "text string").coalesce(
        1
    )
    [written] = store.write(frame, dataset="shop/orders", tag=store.tag(), output=OutputFormat(format))
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
    [written] = store.write(frame, dataset="shop/orders", tag=store.tag(), output=OutputFormat(format))
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


def test_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown format 'avro'; choose one of csv, json, orc, parquet"):
        OutputFormat("avro")
