"""Spark's column types as OpenMetadata's, with the fields of nested types as children."""

from __future__ import annotations

import re
from typing import Any

from headrace.openmetadata.names import entity_name

_TYPES = {
    "bigint": "BIGINT",
    "binary": "BINARY",
    "boolean": "BOOLEAN",
    "char": "CHAR",
    "date": "DATE",
    "decimal": "DECIMAL",
    "double": "DOUBLE",
    "float": "FLOAT",
    "int": "INT",
    "integer": "INT",
    "interval": "INTERVAL",
    "long": "BIGINT",
    "real": "FLOAT",
    "smallint": "SMALLINT",
    "string": "STRING",
    "text": "TEXT",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "DATETIME",
    "tinyint": "TINYINT",
    "uuid": "UUID",
    "varchar": "VARCHAR",
    "variant": "VARIANT",
    "void": "NULL",
}
_MAX_DISPLAY = 1000  # characters of a type as shown
_MAX_DEPTH = 20
_HEAD = re.compile(r"\s*([A-Za-z_][\w ]*?)\s*(?:\(([^)]*)\))?\s*")


def column(name: str, type_: str, depth: int = 0) -> dict[str, Any]:
    """Return a column: its type, length or precision, and the fields of structs, also in arrays and maps.

    A type that is unknown, or nested deeper than 20 levels, is UNKNOWN, and shown as it is.
    """
    text = type_.strip()
    head, inner = _split(text)
    made: dict[str, Any] = {"name": entity_name(name), "dataTypeDisplay": text[:_MAX_DISPLAY]}
    if depth >= _MAX_DEPTH:
        return made | {"dataType": "UNKNOWN"}
    if head == "struct" and inner is not None:
        children = [column(*_field(each), depth + 1) for each in _parts(inner)]
        return made | {"dataType": "STRUCT", **({"children": children} if children else {})}
    if head == "array" and inner is not None:
        element = column("element", inner, depth + 1)
        nested = {"children": element["children"]} if "children" in element else {}
        return made | {"dataType": "ARRAY", "arrayDataType": element["dataType"], **nested}
    if head == "map" and inner is not None:
        parts = _parts(inner)
        value = column("value", parts[-1], depth + 1) if parts else {}
        return made | {"dataType": "MAP", **({"children": value["children"]} if "children" in value else {})}
    return made | _plain(text)


def _plain(text: str) -> dict[str, Any]:
    found = _HEAD.fullmatch(text.lower())
    data_type = _TYPES.get(found[1].split(" ")[0], "UNKNOWN") if found else "UNKNOWN"
    numbers = [int(each) for each in re.findall(r"\d+", found[2] or "")] if found else []
    if data_type == "DECIMAL" and numbers:
        return {
            "dataType": data_type,
            "precision": numbers[0],
            "scale": numbers[1] if len(numbers) > 1 else 0,
        }
    if data_type in ("CHAR", "VARCHAR", "BINARY"):
        return {
            "dataType": data_type,
            "dataLength": numbers[0] if numbers else 1,
        }  # the server requires a length
    return {"dataType": data_type}


def _split(text: str) -> tuple[str, str | None]:
    """Split `array<int>` into array and int; the second is None for a type that is not nested."""
    head, mark, rest = text.partition("<")
    return (head.strip().lower(), rest[:-1]) if mark and rest.endswith(">") else (text.lower(), None)


def _parts(text: str) -> list[str]:
    """Split at the commas that are outside of brackets and backquotes."""
    parts, depth, start, is_quoted = [], 0, 0, False
    for index, character in enumerate(text):
        if character == "`":
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [each.strip() for each in (*parts, text[start:]) if each.strip()]


def _field(text: str) -> tuple[str, str]:
    """Split a field of a struct into its name and type."""
    if text.startswith("`") and (end := text.find("`:")) > 0:
        return text[1:end], text[end + 2 :]
    name, _, type_ = text.partition(":")
    return name, type_.split(" COMMENT ")[0].removesuffix(" NOT NULL")
