"""Contracts that others wrote: what a declaration can hold is read, the rest is listed, mistakes are shown."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from headrace.contracts.declared import attributes
from headrace.contracts.document import contract
from headrace.contracts.reading import read_contract
from headrace.declarations.dataset import ExternalDataset
from headrace.execution.problems import DeclarationError
from tests.platform.contracts.conftest import Declare

FOREIGN = """\
apiVersion: v3.1.0
kind: DataContract
id: 53581432-6c55-4ba2-a65f-72344a91553a
version: 2.3.1
status: active
domain: web shop
dataProduct: ordering
tags: [sales, "layer:raw", "not a tag!"]
description:
  purpose: Orders of the web shop.
  limitations: Without returns.
servers:
  - {server: production, type: s3, location: "s3://shop/orders/*.parquet", format: parquet}
schema:
  - name: customer-orders
    physicalType: table
    properties:
      - name: id
        logicalType: integer
        physicalType: NUMBER(10)
        primaryKey: true
        primaryKeyPosition: 1
      - name: email
        logicalType: string
        classification: restricted
        businessName: E-mail address
        logicalTypeOptions: {minLength: 3, format: email}
      - name: state
        logicalType: string
        required: true
        quality:
          - {metric: invalidValues, arguments: {validValues: [new, paid]}, mustBe: 0, dimension: conformity}
          - {type: text, description: States are those of the shop.}
    quality:
      - {metric: rowCount, mustBeGreaterThan: 10}
team:
  members:
    - {username: ann@example.com, role: Owner}
    - {username: bob, role: Analyst, dateIn: 2024-01-01}
slaProperties:
  - {property: latency, value: 4, unit: h}
  - {property: endOfSupport, value: 2032-05-12}
price: {priceAmount: 9.95, priceCurrency: USD}
"""


def read(tmp_path: Path, text: str = FOREIGN) -> tuple:
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(text)
    contract = read_contract(file)
    return contract.terms[0], contract.lost


def test_a_foreign_contract_becomes_a_declaration(tmp_path: Path) -> None:
    terms, _ = read(tmp_path)
    declared = attributes(terms)
    ExternalDataset.model_validate(declared)
    assert declared == {
        "key": "web_shop/customer_orders",
        "description": "Orders of the web shop.",
        "owners": ["ann@example.com"],
        "tags": {"sales": "", "layer": "raw"},
        "format": "parquet",
        "location": "s3a://shop/orders/*.parquet",
        "schema": {
            "columns": {
                "id": {"type": "bigint", "checks": ["unique"], "nullable": False},
                "email": {
                    "type": "string",
                    "tags": ["sensitive"],
                    "checks": [{"str_length": {"min_value": 3}}],
                },
                "state": {"type": "string", "checks": [{"isin": ["new", "paid"]}], "nullable": False},
            }
        },
        "sla": {"max_age": "4h"},
    }


def test_what_a_declaration_does_not_hold_is_listed_with_its_line(tmp_path: Path) -> None:
    _, lost = read(tmp_path)
    table = "schema[customer-orders]"
    listed = {each.path: (each.line, each.kept) for each in lost}
    assert listed.keys() == {
        "domain",
        "dataProduct",
        "tags[2]",
        "description.limitations",
        "servers[production]",
        f"{table}.name",
        f"{table}.properties[id].physicalType",
        f"{table}.properties[email].classification",
        f"{table}.properties[email].businessName",
        f"{table}.properties[email].logicalTypeOptions.format",
        f"{table}.properties[state].quality[invalidValues].dimension",
        f"{table}.properties[state].quality[1]",
        f"{table}.quality",
        "team.members[ann@example.com].role",
        "team.members[bob]",
        "slaProperties[endOfSupport]",
        "price",
    }
    assert listed["price"] == (43, None)
    assert listed[f"{table}.properties[id].physicalType"] == (20, "bigint")


def test_team_members_of_version_3_0_are_owners(tmp_path: Path) -> None:
    team = "team:\n  - {username: ann@example.com, role: Data Owner}\n"
    terms, _ = read(tmp_path, FOREIGN[: FOREIGN.index("team:")].replace("v3.1.0", "v3.0.2") + team)
    assert terms.owners == ("ann@example.com",)


def test_a_contract_of_several_tables_is_several_datasets(tmp_path: Path) -> None:
    document = yaml.safe_load(FOREIGN)
    document["schema"].append({"name": "returns", "properties": [{"name": "id", "logicalType": "integer"}]})
    file = tmp_path / "shop.odcs.yaml"
    file.write_text(yaml.safe_dump(document))
    assert [terms.key for terms in read_contract(file).terms] == [
        "web_shop/customer_orders",
        "web_shop/returns",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: DataContract", "kind: Dataset", "orders.odcs.yaml:2: kind: this is not a data contract"),
        (
            "v3.1.0",
            "v2.2.2",
            "orders.odcs.yaml:1: apiVersion: version v2.2.2 of the standard is not supported",
        ),
        ("dataProduct:", "dataProdukt:", "orders.odcs.yaml:7: dataProdukt: unknown field 'dataProdukt'"),
        (
            "logicalType: integer",
            "logicalType: money",
            "schema.0.properties.0.logicalType: 'money' is not a logical type",
        ),
        ("- name: email", "- title: email", "schema.0.properties.1.name: required field is missing"),
        ("version: 2.3.1", "version: ''", "orders.odcs.yaml:4: version: required field is missing"),
        (
            "primaryKey: true",
            "primaryKey: perhaps",
            "schema.0.properties.0.primaryKey: 'perhaps' is not valid",
        ),
        ("status: active", "status: [", "invalid YAML"),
        ("status: active", "kind: DataContract", "'kind' is repeated, after line 2"),
        ("value: 4, unit: h", "value: 4, unit: s", "slaProperties: '4s' is shorter than one minute"),
    ],
)
def test_a_mistake_is_shown_with_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        read(tmp_path, FOREIGN.replace(old, new, 1))
    assert message in str(caught.value)


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """The paths of all fields and items."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("junk", [None, -7, "x", ["x"], {"x": [1]}], ids=repr)
def test_any_other_value_of_a_field_is_read_or_a_mistake_with_its_line(
    declare: Declare, tmp_path: Path, junk: object
) -> None:
    mistakes: list[DeclarationError] = []
    for document in (yaml.safe_load(FOREIGN), contract(declare())):
        for path in places(document):
            changed = copy.deepcopy(document)
            parent = functools.reduce(lambda value, key: value[key], path[:-1], changed)
            parent[path[-1]] = junk
            try:
                terms, _ = read(tmp_path, yaml.safe_dump(changed))
                attributes(terms)
            except DeclarationError as error:
                mistakes.append(error)
    assert all(error.line > 1 or error.field in ("apiVersion", "schema") for error in mistakes)
    assert mistakes


def test_a_file_without_a_document_is_not_a_contract(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="a contract is one YAML document, and this has 0"):
        read(tmp_path, "# nothing\n")
