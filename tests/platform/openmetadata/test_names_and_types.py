"""Names and types as OpenMetadata has them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.openmetadata.names import below, entity_name, fqn, table_link
from headrace.openmetadata.types import column
from tests.platform.openmetadata.contract import bodies


@given(st.text())
def test_every_text_becomes_a_name_that_both_generations_accept(text: str) -> None:
    name = entity_name(text)
    assert 0 < len(name) <= 256
    for version in ("1.12.0", "2.0.0"):
        pattern = bodies(version)["api/data/createDatabase"]["properties"]["name"]["pattern"]
        assert re.fullmatch(pattern, name)
    assert entity_name(name) == name


def test_long_names_stay_distinct() -> None:
    assert entity_name("a" * 300) != entity_name("a" * 301)


def test_names_with_dots_are_quoted() -> None:
    assert (
        fqn("headrace", "default", "s3://bucket", "dwh.sales") == 'headrace.default.s3://bucket."dwh.sales"'
    )
    assert below('a."b.c"', "d.e") == 'a."b.c"."d.e"'
    assert table_link("a.b.c.d", "e") == "<#E::table::a.b.c.d::columns::e>"


@pytest.mark.parametrize(
    ("spark", "expected"),
    [
        ("bigint", {"dataType": "BIGINT"}),
        ("decimal(10,2)", {"dataType": "DECIMAL", "precision": 10, "scale": 2}),
        ("varchar(20)", {"dataType": "VARCHAR", "dataLength": 20}),
        ("timestamp_ntz", {"dataType": "DATETIME"}),
        ("geography", {"dataType": "UNKNOWN"}),
        ("array<string>", {"dataType": "ARRAY", "arrayDataType": "STRING"}),
        ("map<string,int>", {"dataType": "MAP"}),
    ],
)
def test_types_are_translated(spark: str, expected: dict[str, object]) -> None:
    assert column("c", spark) == {"name": "c", "dataTypeDisplay": spark, **expected}


def test_fields_of_nested_types_are_children() -> None:
    made = column("lines", "array<struct<sku:string,`a,b`:map<string,struct<x:decimal(4,1)>>>>")
    assert made["arrayDataType"] == "STRUCT"
    sku, odd = made["children"]
    assert (sku["name"], sku["dataType"]) == ("sku", "STRING")
    assert (odd["name"], odd["dataType"], odd["children"][0]["precision"]) == ("a,b", "MAP", 4)


def test_types_of_any_depth_end() -> None:
    made = column("c", "array<" * 500 + "int" + ">" * 500)
    assert made["dataType"] == "ARRAY"
