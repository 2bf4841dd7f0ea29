"""Schema changes, classified."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.catalog.records import Column
from headrace.catalog.schema import classify, schema_hash

SIMPLE = st.sampled_from(
    ["bigint", "int", "string", "double", "decimal(10,2)", "date", "timestamp", "varchar(5)"]
)
TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(lambda t: f"array<{t}>"),
        st.tuples(SIMPLE, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda ts: f"struct<{','.join(f'f{i}:{t}' for i, t in enumerate(ts))}>"
        ),
    ),
    max_leaves=4,
)
COLUMNS = st.lists(
    st.builds(Column, st.sampled_from("abcdef"), TYPES, st.booleans()), max_size=6, unique_by=lambda c: c.name
).map(tuple)


@given(COLUMNS, COLUMNS)
def test_there_is_a_line_exactly_when_the_hashes_differ(old: Any, new: Any) -> None:
    change = classify(old, new)
    assert bool(change.compatible or change.breaking) == (schema_hash(old) != schema_hash(new))


@given(COLUMNS)
def test_descriptions_and_tags_are_no_schema_change(columns: Any) -> None:
    described = tuple(Column(c.name, c.type, c.nullable, "text", ("pii",)) for c in columns)
    assert schema_hash(columns) == schema_hash(described)


@given(COLUMNS.filter(len), st.data())
def test_removing_a_column_always_breaks_and_putting_it_back_never_does(columns: Any, data: Any) -> None:
    gone = data.draw(st.sampled_from(columns))
    rest = tuple(column for column in columns if column != gone)
    assert any(gone.name in line for line in classify(columns, rest).breaking)
    assert classify(rest, columns).breaking == ()


@given(COLUMNS, st.randoms(use_true_random=False))
def test_another_order_never_breaks(columns: Any, random: Any) -> None:
    shuffled = list(columns)
    random.shuffle(shuffled)
    assert classify(columns, shuffled).breaking == ()


@given(TYPES, TYPES)
def test_only_equal_types_widen_both_ways(one: Any, other: Any) -> None:
    there = classify([Column("a", one)], [Column("a", other)])
    back = classify([Column("a", other)], [Column("a", one)])
    assert not (there.compatible and back.compatible)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "bigint"),
        ("float", "double"),
        ("int", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("varchar(5)", "string"),
        ("struct<a:int>", "struct<a:bigint,b:string>"),
        ("array<struct<a:int>>", "array<struct<a:int,b:date>>"),
        ("map<string,float>", "map<string,double>"),
        ("struct<a b:decimal(4,1)>", "struct<a b:decimal(5,1),c-d:struct<>>"),
    ],
)
def test_wider_types_are_compatible(old: Any, new: Any) -> None:
    change = classify([Column("a", old)], [Column("a", new)])
    assert change.breaking == ()
    assert change.compatible == (f"column a: type {old} became {new}",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bigint", "int"),
        ("bigint", "double"),
        ("decimal(10,2)", "decimal(10,4)"),
        ("string", "varchar(5)"),
        ("date", "timestamp"),
        ("struct<a:int,b:int>", "struct<a:int>"),
        ("struct<a:int>", "array<int>"),
        ("array<int>", "int"),
    ],
)
def test_other_types_break(old: Any, new: Any) -> None:
    assert classify([Column("a", old)], [Column("a", new)]).breaking == (
        f"column a: type {old} became {new}",
    )


def test_becoming_nullable_is_a_breaking_change() -> None:
    sure, unsure = Column("a", "int", nullable=False), Column("a", "int", nullable=True)
    assert classify([sure], [unsure]).breaking == ("column a may now be null",)
    assert classify([unsure], [sure]).compatible == ("column a can no longer be null",)
