"""Sketches, what they show, and how far two of them differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log

import datasketches
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.profiles.drift import NotComparable, drift
from headrace.profiles.measures import bound, measures
from headrace.profiles.sketches import ColumnSketches, UnreadableSketch, merged


def numbers(values: list[float], type_: str = "double") -> ColumnSketches:
    quantiles, distinct = datasketches.kll_doubles_sketch(200), datasketches.hll_sketch(12)
    for value in values:
        quantiles.update(float(value))
        distinct.update(float(value))
    return ColumnSketches(
        type_,
        len(values),
        0,
        total=float(sum(values)),
        distinct=distinct.serialize_compact(),
        quantiles=quantiles.serialize(),
    )


def texts(values: list[str]) -> ColumnSketches:
    frequent = datasketches.frequent_strings_sketch(8)
    for value in values:
        frequent.update(value)
    return ColumnSketches("string", len(values), 0, frequent=frequent.serialize())


@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=100), min_size=1, max_size=5))
def test_merged_sketches_are_those_of_all_rows(parts: list[list[int]]) -> None:
    values = sorted(value for part in parts for value in part)

    found = measures(merged([numbers([float(value) for value in part], "int") for part in parts]))

    assert found["distinct_count"] == len(set(values))
    assert found["mean"] == pytest.approx(sum(values) / len(values))
    middle = found["quantiles"]["p50"]
    assert sum(value <= middle for value in values) / len(values) >= 0.5 - 0.02
    assert sum(value < middle for value in values) / len(values) <= 0.5 + 0.02


@given(st.lists(st.sampled_from(["GB", "FR", "", "größe"]), min_size=1))
def test_frequent_values_are_counted_over_merged_parts(values: list[str]) -> None:
    half = len(values) // 2

    found = measures(merged([texts(values[:half]), texts(values[half:])]))

    assert dict(found["top_values"]) == Counter(values)


def test_sketches_of_other_types_are_not_merged() -> None:
    whole = merged([numbers([1.0], "int"), replace(numbers([2.0]), type="date")])

    assert (whole.quantiles, whole.distinct, whole.total) == (None, None, None)
    assert merged([numbers([1.0], "int"), numbers([2.0], "bigint")]).quantiles is not None


def test_quantiles_are_of_the_column_s_type() -> None:
    assert measures(numbers([1.0], "int"))["quantiles"]["p50"] == 1
    assert measures(numbers([0.0], "date"))["quantiles"]["p50"] == "1970-01-01"
    assert measures(numbers([0.5], "timestamp"))["quantiles"]["p50"] == "1970-01-01T00:00:00.500000+00:00"
    assert measures(numbers([1e12], "date"))["quantiles"]["p50"] == "day 1000000000000"


def test_bounds_of_several_versions_are_compared_as_their_type() -> None:
    assert bound("decimal(10,2)", ["9.50", "10.25"], "max") == "10.25"
    assert bound("int", [9, 10], "min") == 9
    assert bound("string", ["9", "10"], "min") == "10"
    assert bound("int", [9, None], "min") is None
    assert bound("int", [9, "a text"], "min") is None


def test_ks_is_the_greatest_difference_of_shares() -> None:
    found = drift("ks", numbers([1.0, 2, 3, 4]), numbers([1.0, 2, 3, 10]))

    assert found.value == pytest.approx(0.25)
    assert found.change == "100.0% of the values are at most 4.0, before 75.0%"
    assert drift("ks", numbers([1.0, 2]), numbers([1.0, 2])).value == 0


def test_psi_is_the_sum_over_frequent_texts() -> None:
    found = drift("psi", texts(["a"] * 5 + ["b"] * 5), texts(["a"] * 8 + ["b"] * 2))

    assert found.value == pytest.approx((0.5 - 0.8) * log(0.5 / 0.8) + (0.5 - 0.2) * log(0.5 / 0.2))
    assert found.change == "50.0% of the values are 'b', before 20.0%"


def test_psi_of_numbers_uses_the_tenths_of_the_old_values() -> None:
    old = [float(value) for value in range(100)]

    assert drift("psi", numbers(old), numbers(old)).value == 0
    shifted = drift("psi", numbers([value + 50 for value in old]), numbers(old))
    assert shifted.value > 2
    assert shifted.change == "59.0% of the values are above 90.0, before 9.0%"


def test_a_column_without_values_or_of_another_type_is_not_compared() -> None:
    with pytest.raises(NotComparable, match="the new version has no values"):
        drift("ks", replace(numbers([]), row_count=2, null_count=2), numbers([1.0]))
    with pytest.raises(NotComparable, match="the column is string, and was double"):
        drift("psi", texts(["a"]), numbers([1.0]))
    with pytest.raises(ValueError, match="ks cannot compare values of type string"):
        drift("ks", texts(["a"]), texts(["a"]))


@given(st.binary(max_size=60))
def test_bytes_that_are_no_sketch_raise_one_error(garbage: bytes) -> None:
    for broken in (
        replace(numbers([1.0]), distinct=garbage),
        replace(numbers([1.0]), quantiles=garbage),
        replace(texts(["a"]), frequent=garbage),
    ):
        try:
            measures(broken)
        except UnreadableSketch:
            continue
