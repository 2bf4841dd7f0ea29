"""No field of any answer, and of any standard facet, is shown to a consumer unless somebody has said that it may be.

A field that is new fails here until it stands in `headrace.service.sensitive_fields` or in `plain_fields.txt`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Permission, Role
from headrace.database.principal import act_as
from headrace.events.openlineage.schema_digest import SHAPES
from headrace.service.app import routed
from headrace.service.masking import masked
from headrace.service.security import rules
from tests.platform.access.conftest import acting_of, caller

Json = dict[str, Any]
MARKER = "of-somebody@example.com"
ABOUT = "crm/people"  # which has sensitive columns
# What says which dataset or process a thing is about, and so has to be the name of one.
NAMING = {
    "key": ABOUT,
    "dataset": ABOUT,
    "full_name": ABOUT,
    "process": ABOUT,
    "process_key": ABOUT,
    "target_key": ABOUT,
    "column": "email",
    "namespace": "headrace://default",
}
PLAIN = frozenset(Path(__file__).with_name("plain_fields.txt").read_text(encoding="utf-8").split())


def _answers() -> Iterator[Json]:
    """The schema of each answer that a consumer may have."""
    app = routed()
    document = app.openapi()
    for rule in rules(app):
        if rule.permission is not Permission.READ:
            continue
        path = rule.path.replace(":path}", "}").replace(":key}", "}")
        operation = document["paths"][path][rule.method.lower()]
        for status, answer in operation["responses"].items():
            if status.startswith("2"):
                for content in (
                    each for kind, each in answer["content"].items() if kind == "application/json"
                ):
                    yield from content["schema"].get("anyOf", [content["schema"]])


@pytest.fixture(scope="module")
def schemas() -> Json:
    found: Json = routed().openapi()["components"]["schemas"]
    return found


def test_what_answers_show_to_a_consumer_is_known_to_be_for_everybody(two: Engine, schemas: Json):
    shown: set[str] = set()
    for schema in _answers():
        document = _filled(schema, schemas)
        shown |= set(_shown(_masked(two, document), schema, schemas))
    _compare(shown, {name for name in PLAIN if ":" not in name})


def test_what_standard_facets_show_to_a_consumer_is_known_to_be_for_everybody(two: Engine):
    shown: set[str] = set()
    for name, document in json.loads(SHAPES.read_bytes()).items():
        if name == "OpenLineage":
            continue
        [facet] = document["properties"]
        for part in _parts(document):
            row = {"name": facet, "content": _filled(part, document), "modelled": True}
            kept = _masked(two, {"facets": {facet: row}})["facets"][facet]["content"]
            shown |= {f"{facet}:{path}" for path in _paths(kept)}
    _compare(shown, {name for name in PLAIN if ":" in name})


def _compare(shown: set[str], plain: set[str]) -> None:
    assert not shown - plain, (
        f"{' '.join(sorted(shown - plain))}: shown to everybody. Add it to catalog/access/sensitive.py or, if it can "
        "hold no value, place or text of a query, to plain_fields.txt"
    )
    assert not plain - shown, (
        f"{' '.join(sorted(plain - shown))}: there is no such field, or it is hidden after all"
    )


def _masked(engine: Engine, document: Any) -> Any:
    with act_as(acting_of("default")):
        return masked(engine, caller(Role.DATA_CONSUMER), document, ABOUT)


def _parts(document: Json) -> Iterator[Json]:
    """The objects that a facet is made of; those that are hidden in whole lists are not looked into."""
    hidden = {"EnvironmentVariable", "ExecutionParameter"}
    for each in (each for name, each in document["$defs"].items() if name not in hidden):
        yield from (part for part in [each, *each.get("allOf", [])] if "properties" in part)


@pytest.mark.parametrize("modelled", [None, False])
def test_unmodelled_facets_are_hidden(two: Engine, modelled: bool | None):
    facet = {
        "_producer": "p",
        "_schemaURL": "https://example.com/x/1-0-0/Plan.json",
        "plan": [MARKER],
        "n": 7,
    }
    document: Json = {"facets": {"spark.logicalPlan": facet}}
    if modelled is not None:
        document = {"facets": {"plan": {"name": "plan", "modelled": modelled, "content": facet}}}
    with act_as(acting_of("default")):
        hidden = masked(two, caller(Role.DATA_CONSUMER), document, ABOUT)
        whole = masked(two, caller(Role.DATA_OWNER), document, ABOUT)
    assert MARKER not in json.dumps(hidden)
    assert "***" in json.dumps(hidden)
    assert whole == document


def _filled(schema: Json, schemas: Json, name: str = "", within: tuple[int, ...] = ()) -> Any:
    """A document of the schema in which each text is the marker, but those that say what it is about."""
    schema = _resolved(schema, schemas)
    if within.count(id(schema)) > 1:
        return None  # it is within itself
    within = (*within, id(schema)) if "properties" in schema else within
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            options = [_filled(each, schemas, name, within) for each in schema[key]]
            merged: Json = {}
            for each in options:
                merged |= each if isinstance(each, dict) else {}
            return merged or next((each for each in options if each is not None), None)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if "properties" in schema:
        return {each: _filled(part, schemas, each, within) for each, part in schema["properties"].items()}
    kind = schema.get("type")
    if kind == "array":
        return [_filled(schema.get("items", {}), schemas, name, within)]
    if kind in ("integer", "number"):
        return 7
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    if kind == "string":
        dates = schema.get("format") in ("date-time", "uuid")
        return "2026-11-28T00:00:00Z" if dates else NAMING.get(name, MARKER)
    if name == "facets" and "FacetRow" not in str(schema):
        return {"custom": {"_producer": "p", "_schemaURL": "https://example.com/x.json", "text": MARKER}}
    return (
        {"email": _filled(schema["additionalProperties"], schemas, "", within)}
        if isinstance(schema.get("additionalProperties"), dict)
        else {"email": MARKER}
    )


def _resolved(schema: Json, schemas: Json) -> Json:
    while "$ref" in schema:
        path = schema["$ref"].rpartition("#/")[2].split("/")
        if path[:2] == ["components", "schemas"]:
            schema = schemas[path[2]]
        else:
            found: Any = schemas
            for step in path:
                found = found.get(step, {})
            schema = found
    return schema


def _shown(document: Any, schema: Json, schemas: Json, title: str = "", name: str = "") -> Iterator[str]:
    """The fields, as Model.field, in which the marker still stands."""
    schema = _resolved(schema, schemas)
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            for each in schema[key]:
                yield from _shown(document, each, schemas, title, name)
            return
    if "properties" in schema and isinstance(document, dict):
        for each, part in schema["properties"].items():
            if each in document:
                yield from _shown(document[each], part, schemas, str(schema.get("title", "")), each)
    elif isinstance(document, list):
        for each in document:
            yield from _shown(each, schema.get("items", {}), schemas, title, name)
    elif isinstance(document, dict) and isinstance(schema.get("additionalProperties"), dict):
        for each in document.values():
            yield from _shown(each, schema["additionalProperties"], schemas, title, name)
    elif document is not None and schema.get("type") != "null" and MARKER in json.dumps(document):
        yield f"{title.split('[')[0]}.{name}"


def _paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _paths(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for each in value:
            yield from _paths(each, path)
    elif isinstance(value, str) and MARKER in value:
        yield path
