"""Names in OpenMetadata: what a name may contain, how long it is, and how fully qualified names are quoted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

MAX_NAME = 256
MAX_FQN = 3072
_DIGEST = 12  # hexadecimal digits
# The stand-ins of OpenMetadata's own connectors for what a name cannot contain.
_RESERVED: Mapping[str, str] = {
    "::": "__reserved__colon__",
    ">": "__reserved__arrow__",
    '"': "__reserved__quote__",
    "<": "(",
    "|": "/",
}


def entity_name(text: str, *, distinct: bool = False) -> str:
    """Return a name that every supported server accepts; the same text always has the same name.

    One that is too long, or should be distinct from an entity of that name, ends with a digest of the whole text.
    """
    name = "".join(each if each.isprintable() else " " for each in text)
    for reserved, instead in _RESERVED.items():
        name = name.replace(reserved, instead)
    name = name.rstrip(" :").lstrip() or "-"  # a colon at the end would be part of the `::` of links
    if len(name) <= MAX_NAME and not distinct:
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return f"{name[: MAX_NAME - _DIGEST - 1]}~{digest}"


def fqn(*names: str) -> str:
    """Join names, from the outermost to the innermost, each quoted where it contains a dot."""
    return ".".join(f'"{name}"' if "." in name else name for name in names)


def below(above: str, name: str) -> str:
    """Return the FQN of a name below the entity with the FQN `above`."""
    return f"{above}.{fqn(name)}"


def table_link(table: str, column: str | None = None) -> str:
    """Return the link to a table, or to one of its columns, as test cases have it."""
    return f"<#E::table::{table}::columns::{column}>" if column else f"<#E::table::{table}>"
