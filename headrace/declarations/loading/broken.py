"""Stand-ins for datasets with an invalid declaration, so that datasets reading them still load."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from pydantic import TypeAdapter, ValidationError

from headrace.declarations.declaration import NAME, Partitions
from headrace.declarations.partitions import PARTITION_SHAPE, Definition, PartitionProblem, definition
from headrace.execution.partitions import UNKNOWN_PARTITIONS
from headrace.sources.documents import Document, value_of

_PARTITIONS: TypeAdapter[Any] = TypeAdapter(Partitions)
_KEY = re.compile(rf"{NAME}/{NAME}")
_KEY_FIELD = re.compile(rf"""\bkey:\s*['"]?({_KEY.pattern})""")
_BLOCK = re.compile(r"^( *)partitions:.*(?:\n\1 .*)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Division:
    """Partitioning of a dataset: `partitions` (None: unpartitioned), if known."""

    partitions: Definition | None = None
    known: bool = True


def in_document(document: Document) -> dict[str, Division]:
    """Return the datasets of an invalid YAML document, by key."""
    attributes = document.value.get("attributes") if isinstance(document.value, Mapping) else None
    written = attributes.get("partitions") if isinstance(attributes, Mapping) else None
    return dict.fromkeys(_KEY_FIELD.findall(document.text), divided(written))


def in_text(text: str) -> dict[str, Division]:
    """Return the datasets that a text appears to declare, although it is not YAML."""
    return dict.fromkeys(_KEY_FIELD.findall(text), _divided_in(text))


def in_module(file: Path) -> dict[str, Division]:
    """Return the datasets that decorated functions of a file declare, although it cannot be imported."""
    found: dict[str, Division] = {}
    functions = (one for one in ast.parse(file.read_bytes()).body if isinstance(one, ast.FunctionDef))
    for function in functions:
        for call in function.decorator_list:
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "dataset":
                given = {one.arg: _value(one.value) for one in call.keywords}
                key = _value(call.args[0]) if call.args else given.get("key")
                found[str(key or f"{file.parent.name}/{function.name}")] = divided(given.get("partitions"))
    return {key: division for key, division in found.items() if _KEY.fullmatch(key)}


def stub(key: str, division: Division) -> dg.AssetSpec:
    """Return the external asset that represents the dataset in Dagster until its declaration is fixed."""
    return dg.AssetSpec(
        key=dg.AssetKey(key.split("/")),
        description="Its declaration is invalid; see `headrace check`. Published versions can still be read.",
        group_name=key.split("/")[0],
        partitions_def=division.partitions,
        metadata={} if division.known else {UNKNOWN_PARTITIONS: True},
    )


def divided(written: object) -> Division:
    """Return the partitioning for these `partitions`, as written."""
    if written is None:
        return Division()
    if not isinstance(written, Mapping):
        return Division(known=False)
    try:
        shape = {name: value for name, value in written.items() if name in PARTITION_SHAPE}
        return Division(definition(_PARTITIONS.validate_python(shape)))
    except (ValidationError, PartitionProblem):
        return Division(known=False)


def _divided_in(text: str) -> Division:
    # Inputs have `partitions` too, at a deeper indentation.
    block = min(_BLOCK.finditer(text), key=lambda match: len(match[1]), default=None)
    if block is None:
        return Division(known="partitions:" not in text)
    try:
        return divided(value_of(block[0].strip())["partitions"])
    except yaml.YAMLError:
        return Division(known=False)


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return "not known before it runs"
