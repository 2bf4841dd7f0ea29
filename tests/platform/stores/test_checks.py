"""Every kind of check gives the same result as pandera's check of that name, and handles edge cases."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pandera.pyspark as pa
import pyspark.sql.types as t
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandera.pyspark import DataFrameModel, DataFrameSchema, Field
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.catalog.records import Check, CheckStatus, Column
from headrace.checks import predicates
from headrace.checks.models import checks_of, load_model
from headrace.checks.summary import Bounds
from headrace.severity import Severity
from headrace.spark.errors import InvalidCheck
from headrace.stores.tags import new_tag
from headrace.stores.writes import PartitionWrite

DAY = dt.date(2020, 1, 2)
AT = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)
VALUES = {
    "n": [(1,), (2,), (5,), (None,)],
    "ratio": [(0.5,), (2.0,), (math.nan,), (None,)],
    "amount": [(Decimal("1.00"),), (Decimal("2.50"),), (None,)],
    "day": [(DAY,), (dt.date(2020, 1, 5),), (None,)],
    "at": [(AT,), (None,)],
    "text": [("apple",), ("ape",), ("",), (None,)],
}
TYPES = {
    "n": t.IntegerType(),
    "ratio": t.DoubleType(),
    "amount": t.DecimalType(6, 2),
    "day": t.DateType(),
    "at": t.TimestampType(),
    "text": t.StringType(),
}
# Each with parameters under which some of the values pass and some fail, and others under which all pass.
CASES = [
    ("equal_to", "n", {"value": 1}),
    ("equal_to", "text", {"value": "ape"}),
    ("not_equal_to", "n", {"value": 5}),
    ("not_equal_to", "n", {"value": 9}),
    *[
        ("greater_than", column, {"min_value": low})
        for column, low in [("n", 1), ("n", 0), ("ratio", 0.1), ("day", DAY)]
    ],
    *[
        ("greater_than_or_equal_to", c, {"min_value": low})
        for c, low in [("n", 1), ("amount", Decimal("1.01")), ("at", AT)]
    ],
    *[
        ("less_than", c, {"max_value": high})
        for c, high in [("n", 5), ("n", 6), ("ratio", 9.0), ("amount", 3)]
    ],
    *[
        ("less_than_or_equal_to", c, {"max_value": high})
        for c, high in [("n", 5), ("ratio", 2.0), ("day", DAY)]
    ],
    ("in_range", "n", {"min_value": 1, "max_value": 5}),
    ("in_range", "n", {"min_value": 1, "max_value": 5, "include_min": False, "include_max": True}),
    ("in_range", "n", {"min_value": 0, "max_value": 5, "include_min": True, "include_max": False}),
    ("isin", "text", {"allowed_values": ["apple", "ape", ""]}),
    ("isin", "n", {"allowed_values": [1, 2]}),
    ("notin", "text", {"forbidden_values": ["ape"]}),
    ("notin", "n", {"forbidden_values": [7]}),
    ("str_matches", "text", {"pattern": "ap|$"}),
    ("str_matches", "text", {"pattern": "^p"}),
    ("str_contains", "text", {"pattern": "p+l|pe|^$"}),
    ("str_contains", "text", {"pattern": "l"}),
    ("str_startswith", "text", {"string": "ap"}),
    ("str_endswith", "text", {"string": "e"}),
    ("str_endswith", "text", {"string": ""}),
    ("str_length", "text", {"min_value": 1, "max_value": 5}),
    ("str_length", "text", {"max_value": 5}),
    ("str_length", "text", {"exact_value": 3}),
    ("unique_values_eq", "text", {"values": ["apple", "ape", "", None]}),
    ("unique_values_eq", "n", {"values": [1, 2, 5]}),
]


def _pandera_says(frame: Any, kind: Any, column: Any, parameters: Any) -> bool:
    check = getattr(pa.Check, kind)(**parameters)
    schema = DataFrameSchema({column: pa.Column(TYPES[column], check, nullable=True)})  # type: ignore[arg-type]
    return not schema.validate(frame).pandera.errors


def test_every_kind_has_a_case() -> None:
    assert {kind for kind, *_ in CASES} == (predicates.KINDS | {"unique_values_eq"}) - {"sql", "not_null"}


@pytest.mark.parametrize("column", sorted(VALUES))
def test_verdicts_are_panderas(spark: SparkSession, store: Any, column: Any) -> None:
    """On all values, on those without null, and on a null alone: one write answers all cases of a column."""
    cases = [case for case in CASES if case[1] == column]
    schema = t.StructType([t.StructField(column, TYPES[column])])
    for rows in (VALUES[column], VALUES[column][:-1], [(None,)]):
        frame = spark.createDataFrame(rows, schema).coalesce(1)
        checks = [Check(str(i), kind, column, parameters) for i, (kind, _, parameters) in enumerate(cases)]  # type: ignore[arg-type]
        [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), checks=checks)
        ours = {result.name: result.status is CheckStatus.PASS for result in written.check_results}
        theirs = {str(i): _pandera_says(frame, *case) for i, case in enumerate(cases)}
        assert ours == theirs, rows


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_failing_rows_are_counted_and_shown_unless_sensitive(
    spark: SparkSession, store: Any, format: Any
) -> None:
    from headrace.stores.writes import OutputFormat

    rows = [(1, "a@x", None), (5, "b", 1.0), (9, "c", None), (9, "d", 2.0)]
    frame = spark.createDataFrame(rows, "n int, email string, x double").repartition(2)
    columns = [Column("email", "string", tags=("PII",)), Column("n", "int"), Column("x", "double")]
    checks = [
        Check("low", "less_than", "n", {"max_value": 5}),
        Check("mail", "str_contains", "email", {"pattern": "@"}),
        Check("known", "not_null", "x", severity=Severity.WARNING),
        Check("sense", "sql", parameters={"expression": "n < 9 or x is null or email = ''  -- a comment"}),
        Check("key", "unique", parameters={"columns": ["n"]}),
        Check("mail_key", "unique", "email"),
        Check("many", "row_count", parameters={"min": 5}),
        Check("few", "row_count", parameters={"max": 4}),
    ]
    [written] = store.write(
        frame,
        dataset="shop/orders",
        tag=new_tag(),
        output=OutputFormat(format),
        columns=columns,
        checks=checks,
    )
    reported = {
        r.name: (r.status.value, r.failed_rows, r.detail.get("examples")) for r in written.check_results
    }
    assert reported == {
        "low": ("FAIL", 3, [5, 9]),
        "mail": ("FAIL", 3, None),
        "known": ("WARN", 2, None),
        "sense": ("FAIL", 1, [{"n": 9, "x": 2.0}]),
        "key": ("FAIL", 2, [9]),
        "mail_key": ("PASS", 0, None),
        "many": ("FAIL", None, None),
        "few": ("PASS", None, None),
    }


def test_no_value_of_a_sensitive_column_is_kept(spark: SparkSession, store: Any) -> None:
    columns = [Column("email", "string", tags=("pii",)), Column("n", "int")]
    frame = spark.createDataFrame([("a@x", 1), ("b@x", 5)], "email string, n int")
    model = f"{__name__}:Quoting"
    checks = [
        Check("key", "unique", parameters={"columns": ["email"]}),
        Check("known", "isin", "email", {"allowed_values": ["c@x"]}),
        Check("range", "sql", parameters={"expression": "email > 'z'"}),
        Check("quoting", "pandera", None, {"model": model, "check": "quoting"}),
        Check("partition", "partition", "email", {"columns": ["email"]}),
    ]
    [written] = store.write(
        frame,
        dataset="shop/people",
        tag=new_tag(),
        columns=columns,
        checks=checks,
        partition=PartitionWrite("email", ("a@x",)),
    )
    assert written.statistics == {"email": {"null_count": 0}, "n": {"null_count": 0, "min": 1, "max": 1}}
    failed = {r.name: dict(r.detail) for r in written.check_results if r.status is CheckStatus.FAIL}
    assert failed == {"known": {}, "range": {}, "quoting": {"error": "ValueError"}, "partition": {}}


NUMBERS = st.none() | st.integers(-3, 3)


@settings(max_examples=300)
@given(
    st.lists(NUMBERS),
    st.sampled_from(sorted(predicates.BOUNDED - {"str_startswith"})),
    st.integers(-3, 3),
    st.integers(-3, 3),
    st.data(),
)
def test_bounds_prove_nothing_that_is_not_so(values: Any, kind: Any, low: Any, high: Any, data: Any) -> None:
    """Whatever bounds prove holds for each value; and what holds for each is proven, so that nothing is read twice."""
    parameters = {
        "not_null": {},
        "in_range": {
            "min_value": low,
            "max_value": high,
            "include_min": data.draw(st.booleans()),
            "include_max": data.draw(st.booleans()),
        },
    }.get(kind, {"min_value": low} if kind.startswith("greater") else {"max_value": high})
    known = [v for v in values if v is not None]
    bounds = Bounds(
        len(values), len(values) - len(known), min(known) if known else None, max(known) if known else None
    )
    passes = {
        "not_null": lambda v: v is not None,
        "greater_than": lambda v: v is None or v > low,
        "greater_than_or_equal_to": lambda v: v is None or v >= low,
        "less_than": lambda v: v is None or v < high,
        "less_than_or_equal_to": lambda v: v is None or v <= high,
        "in_range": lambda v: (
            v is None
            or (
                (v >= low if parameters["include_min"] else v > low)
                and (v <= high if parameters["include_max"] else v < high)
            )
        ),
    }[kind]
    assert predicates.proven(Check("c", kind, "n", parameters), "int", bounds) == all(map(passes, values))


@given(st.lists(st.text("ab\U0001f600", max_size=4), min_size=1), st.text("ab", min_size=1, max_size=2))
def test_texts_between_two_with_a_prefix_have_it_too(values: Any, prefix: Any) -> None:
    bounds = Bounds(len(values), 0, min(values), max(values))
    check = Check("c", "str_startswith", "n", {"string": prefix})
    assert predicates.proven(check, "string", bounds) == all(value.startswith(prefix) for value in values)


@pytest.mark.parametrize(
    ("type", "bounds", "parameter"),
    [
        ("int", Bounds(2, 0), 0),  # no bounds are known
        ("double", Bounds(2, 0, 1.0, 2.0), Decimal("0.5")),  # Spark would compare otherwise
        ("bigint", Bounds(2, 0, 1, 2), 0.5),
        ("date", Bounds(2, 0, DAY, DAY), "20200101"),  # to Spark the year 20200101
        ("timestamp", Bounds(2, 0, AT, AT), dt.datetime(2020, 1, 1)),  # noqa: DTZ001 - of an unknown zone
        ("boolean", Bounds(2, 0, True, True), True),
    ],
)
def test_what_python_and_spark_may_see_differently_is_not_proven(
    type: Any, bounds: Any, parameter: Any
) -> None:
    assert not predicates.proven(Check("c", "greater_than", "n", {"min_value": parameter}), type, bounds)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (Check("c", "nearly", "n"), "unknown kind 'nearly'. Known are equal_to"),
        (Check("c", "not_null", "m"), "no column 'm'; columns are n, text"),
        (Check("c", "str_length", "n", {"max_value": 3}), "str_length is not defined for n of type int"),
        (Check("c", "in_range", "n", {"min_value": 3}), "takes the parameters max_value, min_value"),
        (Check("c", "str_length", "text"), "takes the parameters"),
        (Check("c", "less_than", "n", {"max_value": "many"}), "`max_value` must be a number"),
        (Check("c", "sql", parameters={"expression": "n >"}), "is not a SQL expression"),
        (Check("c", "sql", parameters={"expression": "m > 1"}), "name `m` cannot be resolved"),
        (Check("c", "sql", parameters={"expression": "count(n) > 1"}), "INVALID_WHERE_CONDITION"),
        (Check("c", "sql", parameters={"expression": "n"}), 'requires the "BOOLEAN" type'),
        (Check("c", "sql"), "needs the parameter `expression`"),
        (Check("c", "unique", parameters={"columns": ["n", "m"]}), "must name columns"),
        (Check("c", "unique", "n", quarantine=True), "cannot identify the rows to set aside"),
        (Check("c", "row_count", parameters={"least": 1}), "requires `min`, `max` or both"),
        (Check("c", "pandera", parameters={"model": "x:Y"}), "needs `model` \\(module:Class\\) and `check`"),
        (Check("c", "str_matches", "text", {"pattern": "(["}), "Java cannot parse a regular expression"),
    ],
)
def test_a_check_that_cannot_be_evaluated_says_why(
    spark: SparkSession, store: Any, check: Any, message: Any
) -> None:
    frame = spark.createDataFrame([(1, "a")], "n int, text string")
    with pytest.raises(InvalidCheck, match=message):
        store.write(frame, dataset="shop/orders", tag=new_tag(), checks=[check])


@pytest.mark.parametrize(
    ("type", "kind", "parameters", "status"),
    [
        ("decimal(38,0)", "greater_than", {"min_value": 10**20}, CheckStatus.FAIL),
        ("decimal(38,0)", "less_than", {"max_value": 10**20}, CheckStatus.PASS),
        ("bigint", "isin", {"allowed_values": [1, 2**63]}, CheckStatus.PASS),
        ("bigint", "greater_than", {"min_value": -(10**30)}, CheckStatus.PASS),
    ],
)
def test_numbers_beyond_64_bits_are_compared(
    spark: SparkSession, store: Any, type: Any, kind: Any, parameters: Any, status: Any
) -> None:
    frame = spark.sql(f"SELECT CAST(1 AS {type}) AS n")
    checks = [Check("wide", kind, "n", parameters)]
    [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), checks=checks)
    assert [each.status for each in written.check_results] == [status]


def test_a_number_that_spark_has_not_is_refused(spark: SparkSession, store: Any) -> None:
    checks = [Check("c", "less_than", "n", {"max_value": 10**38})]
    with pytest.raises(InvalidCheck, match="at most 38 digits"):
        store.write(spark.range(1).toDF("n"), dataset="shop/orders", tag=new_tag(), checks=checks)


class Orders(DataFrameModel):
    """A model with everything that a model can have."""

    n: t.IntegerType = Field(gt=0, description="a number", metadata={"tags": ["key"]})
    text: t.StringType = Field(isin=["a", "b"], nullable=True, raise_warning=True)
    amount: t.DecimalType(6, 2) = Field(nullable=True)  # type: ignore[valid-type]

    @pa.check("n", name="few_values")
    def few(cls, frame: Any) -> Any:
        return frame.select("n").distinct().count() <= 2

    @pa.dataframe_check(name="sum_is_small")
    def small(cls, frame: Any) -> Any:
        return frame.agg(F.sum("n")).first()[0] < 10

    @pa.dataframe_check(name="raises")
    def raises(cls, frame: Any) -> None:
        raise RuntimeError("no such table")

    class Config:
        unique = ["n", "text"]


class Quoting(DataFrameModel):
    """A model whose check quotes the offending value."""

    email: t.StringType = Field()
    n: t.IntegerType = Field()

    @pa.dataframe_check(name="quoting")
    def quoting(cls, frame: Any) -> None:
        raise ValueError(f"{frame.first().email} is wrong")


def test_a_model_becomes_columns_and_checks() -> None:
    columns, checks = checks_of(Orders)
    model = f"{__name__}:Orders"
    assert columns == (
        Column("n", "int", False, "a number", ("key",)),
        Column("text", "string"),
        Column("amount", "decimal(6,2)"),
    )
    assert checks == (
        Check("n_not_null", "not_null", "n"),
        Check("n_greater_than", "greater_than", "n", {"min_value": 0}),
        Check("n_few_values", "pandera", "n", {"model": model, "check": "few_values"}),
        Check("text_isin", "isin", "text", {"allowed_values": ["a", "b"]}, Severity.WARNING),
        Check("n_text_unique", "unique", None, {"columns": ["n", "text"]}),
        Check("sum_is_small", "pandera", None, {"model": model, "check": "sum_is_small"}),
        Check("raises", "pandera", None, {"model": model, "check": "raises"}),
    )
    assert load_model(model) is Orders


def test_custom_checks_are_run_by_pandera_on_each_version(spark: SparkSession, store: Any) -> None:
    _, checks = checks_of(Orders)
    custom = [check for check in checks if check.kind == "pandera"]
    frame = spark.createDataFrame(
        [(1, "a", None), (2, "b", None), (3, "b", None)], "n int, text string, amount decimal(6,2)"
    )
    [written] = store.write(frame, dataset="shop/orders", tag=new_tag(), checks=custom)
    assert [(r.name, r.status.value, dict(r.detail)) for r in written.check_results] == [
        ("n_few_values", "FAIL", {}),
        ("sum_is_small", "PASS", {}),
        ("raises", "FAIL", {"error": "RuntimeError: no such table"}),
    ]
