"""Every field of every response is classified, and consumers see only public fields of standard facets."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel
from sqlalchemy import Engine

from headrace import api
from headrace.access.callers import Role
from headrace.access.sensitivity import MASK, Public
from headrace.catalog.masking import undeclared_fields, visible
from headrace.catalog.masking.foreign import PUBLIC_FACET_FIELDS
from headrace.context import act_as
from headrace.openlineage.schema_digest import SHAPES
from headrace.queries.facets import FacetRow
from tests.platform.access.conftest import caller, principal_of

Json = dict[str, Any]
MARKER = "of-somebody@example.com"
ABOUT = "crm/people"  # which has sensitive columns
SPEC: dict[str, list[Json]] = {}  # of one name there may be facets of datasets, jobs and runs
for _name, _document in json.loads(SHAPES.read_bytes()).items():
    if _name != "OpenLineage":
        SPEC.setdefault(next(iter(_document["properties"])), []).append(_document)


def routes() -> Iterator[APIRoute]:
    for module in pkgutil.iter_modules(api.__path__):
        found = importlib.import_module(f"{api.__name__}.{module.name}")
        yield from getattr(found, "router", found).routes if hasattr(found, "router") else ()


def rows(of: Any, seen: set[type]) -> None:
    """Add the classes of rows in a type to those seen."""
    metadata = getattr(of, "__pydantic_generic_metadata__", {})
    for each in (*get_args(of), *metadata.get("args", ())):
        rows(each, seen)
    found = metadata.get("origin") or of
    is_row = isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, BaseModel))
    if is_row and found not in seen:
        seen.add(found)
        for hint in get_type_hints(found, include_extras=True).values():
            rows(hint, seen)


def test_every_field_of_every_answer_says_what_it_holds() -> None:
    seen: set[type] = set()
    for route in routes():
        rows(route.response_model, seen)
    assert len(seen) > 60
    undeclared = [
        f"{row.__module__}.{row.__name__}.{name}" for row in seen for name in undeclared_fields(row)
    ]
    assert not undeclared, (
        f"{', '.join(sorted(undeclared))}: mark the field with a type of headrace.access.sensitivity: "
        "Public[...] if it can hold no value, place or code, otherwise Annotated[..., Sensitive....]"
    )


@dataclass(frozen=True)
class Unmarked:
    name: Public[str]
    note: str
    count: int = 7


def test_a_field_that_says_nothing_is_hidden(two: Engine) -> None:
    assert undeclared_fields(Unmarked) == ["note"]
    with act_as(principal_of("default")):
        assert visible(two, caller(Role.DATA_CONSUMER), Unmarked("a", "b"), ABOUT) == Unmarked("a", MASK)
        assert visible(two, caller(Role.DATA_OWNER), Unmarked("a", "b"), ABOUT) == Unmarked("a", "b")


def test_what_is_no_row_is_refused(two: Engine) -> None:
    with pytest.raises(TypeError, match="str is not a row"):
        visible(two, caller(Role.DATA_CONSUMER), ["text"])


@pytest.mark.parametrize("facet", sorted(SPEC))
def test_only_public_fields_of_a_standard_facet_are_shown_to_consumers(two: Engine, facet: str) -> None:
    shown: set[str] = set()
    for document in SPEC[facet]:
        for part in parts(document):
            row = FacetRow(facet, filled(part, document), datetime.now(UTC), modelled=True)
            with act_as(principal_of("default")):
                shown |= set(fields(visible(two, caller(Role.DATA_CONSUMER), row, ABOUT).content))
    assert shown <= PUBLIC_FACET_FIELDS.get(facet, frozenset())


def test_the_public_fields_are_those_of_standard_facets() -> None:
    for facet, names in PUBLIC_FACET_FIELDS.items():
        known = {name for document in SPEC[facet] for part in parts(document) for name in properties(part)}
        assert names <= known, f"{facet} has no {', '.join(sorted(names - known))}"


@pytest.mark.parametrize("facet", ["parent", "schema"])
def test_an_unknown_field_of_a_standard_facet_is_hidden(two: Engine, facet: str) -> None:
    row = FacetRow(facet, {"name": "load", "note": MARKER, "more": [MARKER], "n": 1}, datetime.now(UTC), True)
    with act_as(principal_of("default")):
        hidden = visible(two, caller(Role.DATA_CONSUMER), row, ABOUT)
        assert visible(two, caller(Role.DATA_OWNER), row, ABOUT) == row
    assert hidden.content == {"name": "load", "note": MASK, "more": MASK, "n": 1}


def test_facets_outside_the_spec_are_hidden(two: Engine) -> None:
    content = {"_producer": "p", "_schemaURL": "https://example.com/Plan.json", "plan": [MARKER], "n": 7}
    row = FacetRow("spark.logicalPlan", content, datetime.now(UTC), modelled=False)
    with act_as(principal_of("default")):
        hidden = visible(two, caller(Role.DATA_CONSUMER), row, ABOUT)
        assert visible(two, caller(Role.DATA_OWNER), row, ABOUT) == row
    assert hidden.content == {**content, "plan": MASK, "n": MASK}


def parts(document: Json) -> Iterator[Json]:
    """The objects that a facet is made of."""
    for each in document["$defs"].values():
        yield from (part for part in [each, *each.get("allOf", [])] if "properties" in part)


def properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for each in schema.values():
            yield from properties(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from properties(each)


def filled(schema: Json, document: Json, within: tuple[int, ...] = (), name: str = "") -> Any:
    """A document of the schema in which each text is the marker, except the name of a column, a sensitive one."""
    while "$ref" in schema:
        path = schema["$ref"].rpartition("#/")[2].split("/")
        schema = document["$defs"].get(path[-1], {})
    if within.count(id(schema)) > 1:
        return None  # it is within itself
    within = (*within, id(schema))
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            options = [filled(each, document, within) for each in schema[key]]
            merged: Json = {}
            for each in options:
                merged |= each if isinstance(each, dict) else {}
            return merged or next((each for each in options if each is not None), None)
    if "properties" in schema:
        return {each: filled(part, document, within, each) for each, part in schema["properties"].items()}
    match schema.get("type"):
        case "array":
            return [filled(schema.get("items", {}), document, within)]
        case "integer" | "number":
            return 7
        case "boolean":
            return False
        case "string":
            return "email" if name == "column" else MARKER
    of_values = schema.get("additionalProperties")
    return {"email": filled(of_values, document, within) if isinstance(of_values, dict) else MARKER}


def fields(value: Any, name: str = "") -> Iterator[str]:
    """The names of the fields that still contain the marker."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from fields(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from fields(each, name)
    elif isinstance(value, str) and MARKER in value and name not in {"_producer", "_schemaURL"}:
        yield name
