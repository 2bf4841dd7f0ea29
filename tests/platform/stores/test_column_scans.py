"""Checks proven by reading columns with Arrow have Spark's results, and what is not certain is left to Spark."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.catalog.records import Check
from headrace.checks import readback
from headrace.files.opening import files_for
from headrace.stores.data_files.proofs import column_scans
from headrace.stores.data_files.proofs.regular_expressions import re2_pattern
from headrace.stores.tags import new_tag

MANY = [f"code {i}" for i in range(3000)]


def _results(store: Any, frame: Any, *checks: Any) -> Any:
    [written] = store.write(frame, dataset="shop/codes", tag=new_tag(), checks=checks)
    return {result.name: (result.status.value, result.failed_rows) for result in written.check_results}


@pytest.fixture
def spark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's results, without any proof by Arrow."""
    monkeypatch.setattr(column_scans, "_MAX_SCANNED", -1)
    monkeypatch.setattr(column_scans, "_MAX_KEYS", -1)


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        (r"^[A-Z]{2}\d{6,}$", r"^[A-Z]{2}\d{6,}$"),
        (r"^(?:a|b)+?@[^ -]\.[a-z.]+$", r"^(?:a|b)+?@[^ -]\.[a-z.]+$"),
        ("a.+", r"a[^\n\r\x{85}\x{2028}\x{2029}]+"),
        ("a++", None),  # possessive
        (r"\bword", None),  # Java's boundaries know other letters
        (r"(a)\1", None),
        ("(?i)a", None),
        ("a(?=b)", None),
        ("[a&&b]", None),
        ("[a[b]]", None),
        (r"\s", None),
        ("é", None),
    ],
)
def test_a_pattern_is_translated_only_where_java_and_re2_agree(pattern: Any, translated: Any) -> None:
    assert re2_pattern(pattern) == translated


PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\d",
        r"\w",
        "[ab]",
        "[^a]",
        "[a-c-]",
        "(a|b)",
        "(?:ab)*",
        "a*",
        "b+?",
        "a{1,2}",
        "^",
        "$",
        "|",
        "a?",
    ]
)


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.lists(PIECES, min_size=1, max_size=5).map("".join), min_size=20, max_size=20),
    st.lists(st.text("ab1_\n\r\u0085\u2028é\U0001f600", max_size=5), min_size=20, max_size=60),
)
def test_what_re2_finds_java_finds(spark: SparkSession, patterns: Any, texts: Any) -> None:
    frame = spark.createDataFrame([(text,) for text in texts], "t string").coalesce(1)
    [java] = frame.agg(
        *(F.collect_list(F.col("t").rlike(pattern)).alias(str(i)) for i, pattern in enumerate(patterns))
    ).collect()
    values = pa.array(texts)
    for number, pattern in enumerate(patterns):
        found = pc.match_substring_regex(values, re2_pattern(pattern)).to_pylist()
        wrong = [t for t, mine, theirs in zip(texts, found, java[number], strict=True) if mine and not theirs]
        assert not wrong, pattern


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("proven", [False, True])
def test_checks_of_text_have_the_same_results_either_way(
    spark: SparkSession,
    store: Any,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    fails: Any,
    proven: Any,
) -> None:
    """With an emoji, whose length is 1, nulls, and a text that ends in a line terminator."""
    if not proven:
        request.getfixturevalue("spark_alone")
    monkeypatch.setattr("headrace.stores.data_files.proofs.dictionaries._MAX_VALUES", 10)
    texts = [*MANY, "code \U0001f600", "code 1\n", None, *(["x"] if fails else [])]
    frame = spark.createDataFrame([(text,) for text in texts], "code string")
    checks = [
        Check("matches", "str_matches", "code", {"pattern": "code .+"}),
        Check("ends", "str_matches", "code", {"pattern": "^code [^x]+$"}),
        Check("contains", "str_contains", "code", {"pattern": re.compile("ode")}),
        Check("starts", "str_startswith", "code", {"string": "code"}),
        Check("short", "str_length", "code", {"min_value": 6, "max_value": 9}),
        Check("six", "str_length", "code", {"exact_value": 6}),
        Check("not", "notin", "code", {"forbidden_values": ["x", "y"]}),
        Check("other", "not_equal_to", "code", {"value": "x"}),
        Check("listed", "isin", "code", {"allowed_values": texts[:-3]}),
    ]
    failed = int(fails)
    status = "FAIL" if fails else "PASS"
    long = sum(len(text) != 6 for text in texts if text is not None)
    unlisted = sum(text not in texts[:-3] for text in texts if text is not None)
    assert _results(store, frame, *checks) == {
        **dict.fromkeys(["matches", "ends", "contains", "starts", "short", "not", "other"], (status, failed)),
        "six": ("FAIL", long),
        "listed": ("FAIL", unlisted),
    }


def test_bytes_that_are_no_text_prove_nothing(spark: SparkSession, store: Any) -> None:
    frame = spark.sql("SELECT CAST(X'61FF62' AS STRING) AS code")
    [written] = store.write(frame, dataset="shop/codes", tag=new_tag())
    files = files_for(written.location, spark)
    stored = files.data_files(written.location)
    checks = [Check("any", "str_contains", "code", {"pattern": "a"})]
    assert column_scans.none_fails(files, stored, "code", checks) == set()


KEYS: dict[str, tuple[list[Any], list[Any]]] = {
    "bigint": ([1, 2, None], [1, 2, 2, None, None]),
    "string": (["a", "A", "a ", "", "\u00e9", "e\u0301", None], ["a", "b", "a", None, None]),
    "decimal(38,4)": ([Decimal("1.0000"), Decimal("-1.0000"), None], [Decimal("1.0000"), Decimal("1")]),
    "double": ([0.5, -0.5, math.nan, None], [0.0, -0.0, math.nan, math.nan, 1.0]),
    "float": ([0.5, math.inf, None], [math.nan, math.nan]),
    "boolean": ([True, False, None], [True, True, False]),
    "binary": ([b"\x00", b"", None], [b"\xff", b"\xff"]),
    "date": ([dt.date(2020, 1, 1), dt.date(1, 1, 1), None], [dt.date(2020, 1, 1), dt.date(2020, 1, 1)]),
    "timestamp": (
        [dt.datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
        [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None],
    ),
    "struct<x:int,y:double>": (
        [(1, 0.5), (1, None), None],
        [(1, 0.0), (1, -0.0), (None, math.nan), (2, 1.0)],
    ),
    "array<string>": ([["a", None], ["a"], []], [["a"], ["a"], ["b"]]),
}
REPEATED = {"bigint": 4, "string": 4, "decimal(38,4)": 2, "double": 4, "float": 2, "boolean": 2, "binary": 2}
REPEATED |= {"date": 2, "timestamp": 2, "struct<x:int,y:double>": 2, "array<string>": 2}


@pytest.mark.parametrize("method", ["arrow", "hashes", "equal hashes"])
def test_repeated_keys_are_counted_exactly(
    spark: SparkSession,
    store: Any,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    method: Any,
) -> None:
    """Whichever method looks first, and when all hashes collide."""
    if method != "arrow":
        request.getfixturevalue("spark_alone")
    if method == "equal hashes":
        monkeypatch.setattr(F, "xxhash64", lambda *_: F.lit(7))
    for place in (0, 1):
        by_length: dict[int, list[str]] = {}
        for type, values in KEYS.items():
            by_length.setdefault(len(values[place]), []).append(type)
        for types in by_length.values():
            rows = list(zip(*(KEYS[type][place] for type in types), strict=True))
            columns = ", ".join(f"k{number} {type}" for number, type in enumerate(types))
            frame = spark.createDataFrame(rows, columns).coalesce(2)
            checks = [Check(type, "unique", f"k{number}") for number, type in enumerate(types)]
            failed = {type: REPEATED[type] if place else 0 for type in types}
            assert _results(store, frame, *checks) == {
                type: ("FAIL" if count else "PASS", count) for type, count in failed.items()
            }


def test_keys_of_several_columns_are_compared_together(spark: SparkSession, store: Any) -> None:
    frame = spark.createDataFrame([(1, "a"), (1, "b"), (2, "a"), (1, None), (None, "a")], "n int, t string")
    twice = frame.union(frame.limit(1))
    check = Check("key", "unique", parameters={"columns": ["n", "t"]})
    assert _results(store, frame, check) == {"key": ("PASS", 0)}
    assert _results(store, twice, check) == {"key": ("FAIL", 2)}


def test_equal_hashes_of_different_keys_are_only_candidates(spark: SparkSession) -> None:
    frame = spark.range(10).withColumn(readback.PARTITION, F.lit(None).cast("string"))
    assert not readback.may_repeat(frame, ["id"], ["bigint"])
    assert readback.may_repeat(frame, ["id"], ["bigint"], lambda *columns: columns[1] % 3)
    assert readback.duplicates(frame, ["id"], ["id"]) == {}
