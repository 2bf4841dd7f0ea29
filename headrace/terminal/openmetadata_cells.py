"""OpenMetadata in the terminal: what was sent or would be, and the changes that stewards propose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer
import yaml

from headrace.nouns import counted
from headrace.terminal.output import show, table

if TYPE_CHECKING:
    from headrace.openmetadata.incoming import ProposedChange
    from headrace.openmetadata.session import SynchronisationResult

_MAX_VALUE = 120  # characters of a value
_MAX_ROWS = 200
_IN_YAML = ("description", "owners", "tags")  # fields that a declaration has as such


def show_changes(done: SynchronisationResult) -> None:
    """Show each change of a dry run, and each of its fields."""
    rows = list(_rows(done))
    if rows:
        show(table(["change", "what", "name", "field", "there", "to be"], rows[:_MAX_ROWS]))
    if len(rows) > _MAX_ROWS:
        typer.echo(f"... and {counted(len(rows) - _MAX_ROWS, 'more line')}: `--json` has all of them")


def summary(done: SynchronisationResult, *, is_dry: bool) -> str:
    """Return what was done, in a line."""
    if not done.counts:
        found = "OpenMetadata is up to date"
    else:
        parts = [f"{kind} {action} {count:,}" for (kind, action), count in sorted(done.counts.items())]
        found = f"{'To send' if is_dry else 'Sent'}: {', '.join(parts)}"
    proposed = f"; stewards propose {counted(done.proposed, 'change')}" if done.proposed else ""
    return f"{found}{proposed} ({counted(done.requests, 'request')} to OpenMetadata {done.version})."


def result_json(done: SynchronisationResult) -> dict[str, Any]:
    """Return the result as JSON has it."""
    counts: dict[str, dict[str, int]] = {}
    for (kind, action), count in sorted(done.counts.items()):
        counts.setdefault(kind, {})[action] = count
    return {
        "server": done.server,
        "version": done.version,
        "whole": done.whole,
        "requests": done.requests,
        "counts": counts,
        "proposed": done.proposed,
        "problems": done.problems,
        "changes": done.changes,
    }


def show_proposed(changes: Sequence[ProposedChange]) -> None:
    """Print the changes of each dataset as YAML for its declaration."""
    if not changes:
        typer.echo("Stewards wrote nothing in OpenMetadata that declarations do not say.")
        return
    for dataset, found in groupby(changes, key=lambda each: each.dataset):
        typer.echo("\n".join(_lines(dataset, list(found))))


def _rows(done: SynchronisationResult) -> Iterator[tuple[object, ...]]:
    for change in done.changes:
        if not change.fields:
            yield change.action, change.kind, change.name, "", "", ""
        for name, (before, after) in change.fields.items():
            yield change.action, change.kind, change.name, name, _short(before), _short(after)


def _lines(dataset: str, changes: Sequence[ProposedChange]) -> Iterator[str]:
    """Yield the lines for one dataset: who wrote what as comments, and the YAML."""
    yield f"# {dataset}, declared at {changes[0].declared_at or 'an unknown place'}"
    for each in changes:
        place = f"{each.column}.{each.field}" if each.column else each.field
        became = "the declaration was sent again" if each.is_overwritten else "kept there"
        by = f"{each.by or 'unknown'} {each.at:%Y-%m-%d %H:%M} UTC"
        yield f"# {place}: {_short(each.declared)} -> {_short(each.value)}, by {by} ({became})"
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


def _short(value: object) -> str:
    words = "none" if value in (None, [], {}) else str(value)
    return words if len(words) <= _MAX_VALUE else f"{words[: _MAX_VALUE - 1]}…"
