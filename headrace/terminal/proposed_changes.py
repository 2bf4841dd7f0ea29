"""The changes of declarations that stewards propose, as YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer
import yaml

from headrace.terminal.openmetadata_cells import short

if TYPE_CHECKING:
    from headrace.queries.proposed_changes import ProposedChange

_IN_YAML = ("description", "owners", "tags")  # fields that a declaration has as such
_STATES = {
    "KEPT": "kept in OpenMetadata",
    "OVERWRITTEN": "the declaration was sent to OpenMetadata again",
    "ACCEPTED": "in effect: accepted as sensitive",
}


def show_proposed(changes: Sequence[ProposedChange]) -> None:
    """Print the changes of each dataset as YAML for its declaration."""
    if not changes:
        typer.echo("Stewards propose nothing that declarations do not say.")
        return
    for dataset, found in groupby(changes, key=lambda each: each.dataset):
        typer.echo("\n".join(_lines(dataset, list(found))))


def _lines(dataset: str, changes: Sequence[ProposedChange]) -> Iterator[str]:
    """Yield the lines for one dataset: who wrote what as comments, and the YAML."""
    yield f"# {dataset}, declared at {changes[0].declared_at or 'an unknown place'}"
    for each in changes:
        place = f"{each.column}.{each.field}" if each.column else each.field
        by = f"{each.by or 'unknown'} {each.at:%Y-%m-%d %H:%M} UTC"
        yield f"# {place}: {short(each.declared)} -> {short(each.value)}, by {by} ({_STATES[each.state]})"
    document = _document(changes)
    if document:
        yield yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100).rstrip()
    yield ""


def _document(changes: Iterable[ProposedChange]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    columns: dict[str, dict[str, Any]] = {}
    for each in changes:
        if each.field in _IN_YAML:
            (columns.setdefault(each.column, {}) if each.column else document)[each.field] = each.value
    if columns:
        document["schema"] = {"columns": columns}
    return document
