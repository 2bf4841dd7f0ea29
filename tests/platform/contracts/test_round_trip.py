"""A declaration becomes a contract and a declaration again, and neither loses what both can say."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import open_data_contract_standard
import pytest
import yaml
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from headrace.contracts.declared import attributes, declaration
from headrace.contracts.document import contract, text_of
from headrace.contracts.reading import read_contract
from headrace.contracts.terms import Terms, terms_by_key
from headrace.declarations.dataset import Dataset, ExternalDataset
from headrace.durations import duration_text, parse_duration
from headrace.execution.problems import DeclarationError
from headrace.sources.origin import in_python
from tests.platform.contracts.conftest import ORDERS, Declare

SCHEMA = jsonschema_rs.validator_for(
    json.loads((files(open_data_contract_standard) / "schema.json").read_text("utf-8"))
)
ORIGIN = in_python(Path("/project/assets/shop/defs.yaml"), Path("/project"), 1)

severities = st.sampled_from(
    [{}, {"severity": "warning"}, {"description": "Agreed with the shop."}, {"name": "rule"}]
)
texts = st.sampled_from(["a", "^[A-Z]+$", "x: y", "2026-01-01", "ümlaut", "no"])
numbers = st.integers(-5, 10**12) | st.floats(-10, 10, allow_nan=False).map(lambda value: round(value, 3))
bounds = ["greater_than", "greater_than_or_equal_to", "less_than", "less_than_or_equal_to"]
number_rules = st.one_of(
    st.tuples(st.sampled_from(bounds), numbers),
    st.tuples(st.just("in_range"), st.just({"min_value": 1, "max_value": 7, "include_max": False})),
    st.tuples(st.just("isin"), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)),
)
text_rules = st.one_of(
    st.tuples(
        st.sampled_from(["str_matches", "str_contains", "str_startswith"]), texts.filter(lambda t: t != "no")
    ),
    st.tuples(
        st.just("str_length"), st.sampled_from([{"max_value": 5}, {"min_value": 1}, {"exact_value": 3}])
    ),
    st.tuples(st.just("isin"), st.lists(texts, min_size=1, max_size=3, unique=True)),
)
any_rules = st.tuples(st.sampled_from(["not_null", "unique"]), st.just(True))
TYPES: dict[str, st.SearchStrategy[tuple[str, Any]] | None] = {
    "bigint": number_rules | any_rules,
    "double": number_rules | any_rules,
    "decimal(10,2)": any_rules,
    "string": text_rules | any_rules,
    "date": any_rules,
    "timestamp": any_rules,
    "binary": None,
    "array<string>": None,
    "map<string,int>": None,
    "struct<a:int,b:array<struct<c:string>>>": None,
    "array<map<string,array<decimal(5,2)>>>": None,
    "struct<`odd-name`:int,b:binary>": None,
}


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        type_ = draw(st.sampled_from(list(TYPES)))
        known = TYPES[type_]
        rules = [] if known is None else draw(st.lists(known, max_size=2, unique_by=lambda rule: rule[0]))
        found[f"column_{number}"] = {
            "type": type_,
            "nullable": draw(st.booleans()),
            "description": draw(st.none() | texts),
            "tags": draw(st.lists(st.sampled_from(["pii", "sensitive", "key"]), unique=True)),
            "checks": [{rule: value} for rule, value in rules],
        }
        if rules:
            name = draw(severities)
            found[f"column_{number}"]["checks"][0] |= {
                **name,
                **({"name": f"rule_{number}"} if "name" in name else {}),
            }
            if any(rule == "not_null" for rule, _ in rules):
                found[f"column_{number}"]["nullable"] = True
    return found


slas = st.sampled_from(
    [
        None,
        {"max_age": "26h", "warn_after": "90m"},
        {"max_age": "2d", "min_rows": 10},
        {"deadline": "0 6 * * 1-5", "timezone": "Europe/Berlin", "within": "2h", "partition": "yesterday"},
        {
            "deadline": "30 7 * * *",
            "calendar": "XLON",
            "partition": "previous_business_day",
            "warn_before": "1h",
        },
        {"min_bytes": 5},
    ]
)
partitions = st.sampled_from(
    [
        None,
        {"type": "hourly", "start": "2026-01-01-00:00", "timezone": "Europe/London"},
        {"type": "daily", "start": "2026-01-01", "end_offset": 1, "column": "column_0"},
        {"type": "static", "keys": ["a", "b"]},
        {
            "type": "multi",
            "dimensions": {
                "region": {"type": "static", "keys": ["eu", "us"], "column": "column_0"},
                "day": {"type": "daily", "start": "2026-01-01", "column": "column_0"},
            },
        },
    ]
)
described = {
    "description": st.none() | texts,
    "owners": st.lists(st.sampled_from(["team:shop", "ann@example.com"]), unique=True),
    "tags": st.dictionaries(st.sampled_from(["layer", "region"]), st.sampled_from(["", "clean", "eu"])),
    "classification": st.none() | st.just("internal"),
    "migration": st.sampled_from([None, "shadow", "retired"]),
    "metadata": st.sampled_from([{}, {"wiki": "https://example.com/orders", "codes": [1, {"a": None}]}]),
    "renamed_from": st.none() | st.just("shop/old_orders"),
    "sla": slas,
    "partitions": partitions,
    "columns": columns(),
}
datasets = st.fixed_dictionaries(
    {
        **described,
        "checks": st.lists(
            st.sampled_from(
                [
                    {"unique": ["column_0"]},
                    {"row_count": {"min": 1, "max": 9}},
                    {"row_count": {"max": 9}, "name": "few", "severity": "warning"},
                    {"sql": "column_0 IS NOT NULL", "quarantine": True},
                    {"unique_across_partitions": ["column_0"]},
                ]
            ),
            unique_by=str,
        ),
        "keep": st.sampled_from([None, {"days": 30}, {"versions": 3, "days": 7}, {"hold": "a legal case"}]),
        "output": st.sampled_from(
            [
                {},
                {"options": {"compression": "zstd"}},
                {"location": "s3a://bucket/orders"},
                {"store": "iceberg"},
                {"store": "jdbc", "connection": "crm", "table": "sales.orders"},
            ]
        ),
        "sql": st.just("SELECT 1 AS column_0"),
    }
)
externals = st.fixed_dictionaries({**described, "produced_by": st.just(["LOAD_ORDERS"])})


def written(drawn: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in drawn.items() if name != "columns" and value not in (None, {}, [])}
    return {"key": "shop/orders", "schema": {"columns": drawn["columns"]}, **rest}


def terms_of(declared: dict[str, Any], component: type[Dataset | ExternalDataset]) -> Terms:
    return terms_by_key([component.declared(declared, ORIGIN).plan(ORIGIN)])["shop/orders"]


def again(terms: Terms, file: Path) -> Terms:
    text = text_of(contract(terms))
    SCHEMA.validate(yaml.safe_load(text))
    file.write_text(text)
    found = read_contract(file)
    assert found.lost == ()
    return found.terms[0]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=datasets)
def test_a_dataset_becomes_a_contract_and_is_declared_again(drawn: dict[str, Any], tmp_path: Path) -> None:
    try:
        terms = terms_of(written(drawn), Dataset)
    except DeclarationError:  # such as a struct in a database
        reject()
    found = again(terms, tmp_path / "orders.odcs.yaml")
    assert found == terms
    assert terms_of({**attributes(found), "sql": drawn["sql"]}, Dataset) == terms


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=externals)
def test_an_external_dataset_becomes_a_contract_and_is_declared_again(
    drawn: dict[str, Any], tmp_path: Path
) -> None:
    terms = terms_of(written(drawn), ExternalDataset)
    found = again(terms, tmp_path / "orders.odcs.yaml")
    assert found == terms
    assert terms_of(attributes(found), ExternalDataset) == terms


def test_a_contract_has_the_fields_that_other_tools_read(declare: Declare) -> None:
    document = contract(declare())
    (table,) = document["schema"]
    columns = {each["name"]: each for each in table["properties"]}
    assert columns["id"] == {
        "name": "id",
        "logicalType": "integer",
        "physicalType": "bigint",
        "required": True,
        "primaryKey": True,
        "primaryKeyPosition": 1,
    }
    assert columns["email"]["classification"] == "confidential"
    assert columns["email"]["logicalTypeOptions"] == {"maxLength": 200}
    assert columns["day"]["partitioned"]
    assert [(rule["type"], rule.get("metric", rule.get("engine"))) for rule in table["quality"]] == [
        ("library", "rowCount"),
        ("custom", "headrace"),
        ("library", "duplicateValues"),
    ]
    assert columns["amount"]["quality"][0]["arguments"] == {"validValues": [1, 2, 3]}
    assert [(each["property"], each["value"]) for each in document["slaProperties"]] == [
        ("timeOfAvailability", "0 6 * * *"),
        ("retention", 90),
    ]
    assert [each["username"] for each in document["team"]["members"]] == ORDERS["owners"]
    assert "SELECT" not in text_of(document)


def test_a_contract_has_no_secrets(declare: Declare) -> None:
    terms = declare(
        output={"options": {"parquet.secret_key": "hunter2"}, "location": "s3a://user:hunter2@bucket/orders"},
        metadata={"api_token": "hunter2", "wiki": "https://bob:hunter2@example.com"},
    )
    text = text_of(contract(terms))
    assert "bucket/orders" in text
    assert "hunter2" not in text


def test_a_column_has_to_name_its_quarantine_and_keeps_it(declare: Declare, tmp_path: Path) -> None:
    rule = {"not_null": True, "quarantine": True}
    terms = declare(
        schema={"columns": {"id": {"type": "bigint", "checks": [rule]}}}, checks=[], partitions=None
    )
    assert again(terms, tmp_path / "orders.odcs.yaml") == terms


@pytest.mark.parametrize("text", ["90m", "1d12h", "26h", "1m30s"])
def test_a_duration_is_written_as_people_write_it(text: str) -> None:
    assert parse_duration(duration_text(parse_duration(text).total_seconds())) == parse_duration(text)


def test_a_declaration_says_that_its_code_is_missing(declare: Declare) -> None:
    text = declaration(declare())
    assert text.startswith("# A contract has no code")
    assert yaml.safe_load(text)["type"] == "headrace.Dataset"
