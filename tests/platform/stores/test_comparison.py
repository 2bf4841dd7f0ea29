"""Comparison of two versions: by key, by whole rows, with nulls, repeated keys and hidden columns."""

import pytest
from pyspark.sql import SparkSession

from headrace.access.sensitivity import MASK
from headrace.stores.comparison import SAMPLES, Comparison, KeyProblem, compare

BEFORE = "(1, 'a', 1.5D, null), (2, 'b', 2.5D, null), (3, 'c', 3.5D, 1), (null, 'n', 0D, 1) AS t(k, v, w, z)"
AFTER = "(2, 'B', 2.5D, null), (3, 'c', 3.5D, 1), (4, 'd', 4.5D, 1), (null, 'n', 0D, 2) AS t(k, v, w, z)"


def compared(
    spark: SparkSession, before: str, after: str, *key: str, hidden: frozenset[str] = frozenset()
) -> Comparison:
    frames = [spark.sql(f"FROM VALUES {rows}") for rows in (before, after)]
    return compare(*frames, key, hidden)  # type: ignore[arg-type, call-arg]


def test_by_key(spark: SparkSession) -> None:
    found = compared(spark, BEFORE, AFTER, "k")
    assert found.rows == (4, 4)
    assert (found.added, found.removed, found.changed, found.repeated) == (1, 1, 2, 0)
    assert found.columns == {"v": 1, "z": 1}
    assert found.samples == {"added": [{"k": 4}], "removed": [{"k": 1}], "changed": [{"k": None}, {"k": 2}]}


def test_the_same_is_no_difference(spark: SparkSession) -> None:
    found = compared(spark, BEFORE, BEFORE, "k")
    assert found == Comparison(key=("k",), rows=(4, 4), added=0, removed=0, changed=0)


def test_from_nothing_and_to_nothing(spark: SparkSession) -> None:
    frame = spark.sql(f"FROM VALUES {BEFORE}")
    assert compare(frame.limit(0), frame, ["k"]).added == 4
    assert compare(frame, frame.limit(0), ["k"]).removed == 4
    assert compare(frame.limit(0), frame.limit(0), ["k"]).rows == (0, 0)


def test_every_column_a_key(spark: SparkSession) -> None:
    found = compared(spark, BEFORE, AFTER, "k", "v", "w", "z")
    assert (found.added, found.removed, found.changed) == (3, 3, 0)


def test_a_repeated_key_is_counted_and_not_called_changed(spark: SparkSession) -> None:
    before = "(1, 'a'), (1, 'b'), (2, 'c') AS t(k, v)"
    found = compared(spark, before, "(1, 'x'), (2, 'c') AS t(k, v)", "k")
    assert (found.rows, found.changed, found.repeated) == ((3, 2), 0, 1)


def test_whole_rows_are_counted_as_often_as_they_occur(spark: SparkSession) -> None:
    found = compared(spark, "('a'), ('a'), ('b') AS t(v)", "('a'), ('c') AS t(v)")
    assert (found.added, found.removed, found.changed) == (1, 2, None)
    assert found.samples == {"added": [{"v": "c"}], "removed": [{"v": "a"}, {"v": "b"}]}


def test_columns_of_one_side_are_not_compared(spark: SparkSession) -> None:
    found = compared(spark, "(1, 'a', 7) AS t(k, v, old)", "(1, 'a', 8) AS t(k, v, new)", "k")
    assert (found.changed, found.columns) == (0, {})


def test_hidden_values_are_not_shown(spark: SparkSession) -> None:
    found = compared(spark, BEFORE, AFTER, "k", "v", hidden=frozenset({"v"}))
    assert found.samples["added"] == [{"k": 2, "v": MASK}, {"k": 4, "v": MASK}]


def test_samples_are_few_and_the_first(spark: SparkSession) -> None:
    found = compare(spark.range(0), spark.range(50, numPartitions=4), ["id"])
    assert found.added == 50
    assert found.samples["added"] == [{"id": number} for number in range(SAMPLES)]


def test_a_column_with_a_dot_in_its_name(spark: SparkSession) -> None:
    found = compared(spark, "(1, 2) AS t(`a.k`, `b.v`)", "(1, 3) AS t(`a.k`, `b.v`)", "a.k")
    assert (found.changed, found.columns) == (1, {"b.v": 1})


@pytest.mark.parametrize(("before", "after", "side"), [("t(x)", "t(k)", "first"), ("t(k)", "t(x)", "second")])
def test_a_key_that_one_side_lacks(spark: SparkSession, before: str, after: str, side: str) -> None:
    with pytest.raises(KeyProblem, match=rf"the {side} version has no column k.*--key \(it has x\)"):
        compared(spark, f"(1) AS {before}", f"(1) AS {after}", "k")


def test_a_column_that_was_widened_is_compared_as_the_wider(spark: SparkSession) -> None:
    before, after = "(1, 2), (2, 3) AS t(k, v)", "(1L, 2L), (2L, 3000000000L) AS t(k, v)"
    for one, other in ((before, after), (after, before)):
        found = compared(spark, one, other, "k")
        assert (found.changed, found.columns, found.apart) == (1, {"v": 1}, {})
        assert found.samples["changed"] == [{"k": 2}]
    assert compared(spark, before, after).added == 1


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("1", "'1'", "int became string"),
        ("1L", "'x'", "bigint became string"),
        ("'x'", "1", "string became int"),
        ("struct(1 AS a)", "struct('x' AS a)", "struct<a:int> became struct<a:string>"),
        ("map(1, 2)", "map(1, 3)", "Spark cannot compare map<int,int>"),
    ],
)
def test_a_column_whose_values_cannot_be_compared_is_left_out(
    spark: SparkSession, before: str, after: str, reason: str
) -> None:
    sides = [f"(1, {value}, 'same') AS t(k, v, w)" for value in (before, after)]
    found = compared(spark, *sides, "k")
    assert (found.changed, found.columns, found.apart) == (0, {}, {"v": reason})
    whole = compared(spark, *sides)
    assert (whole.added, whole.removed, whole.apart) == (0, 0, {"v": reason})
    with pytest.raises(KeyProblem, match=r"rows cannot be matched by v .*name other columns with --key"):
        compared(spark, *sides, "v")


def test_a_struct_is_compared_whatever_its_fields_are_called(spark: SparkSession) -> None:
    before, after = (f"(1, named_struct('variant', {n}, 'a b', 1)) AS t(k, v)" for n in (1, 2))
    found = compared(spark, before, after, "k")
    assert (found.columns, found.apart) == ({"v": 1}, {})


def test_nothing_that_could_be_compared(spark: SparkSession) -> None:
    with pytest.raises(
        KeyProblem, match="no column in common whose values could be compared; v: int became string"
    ):
        compared(spark, "(1) AS t(v)", "('1') AS t(v)")
