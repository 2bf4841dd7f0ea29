"""OpenMetadata in the terminal: what was sent or would be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from headrace.nouns import counted
from headrace.terminal.output import show, table

if TYPE_CHECKING:
    from headrace.openmetadata.session import SynchronisationResult

_MAX_VALUE = 120  # characters of a value
_MAX_ROWS = 200


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


def _rows(done: SynchronisationResult) -> Iterator[tuple[object, ...]]:
    for change in done.changes:
        if not change.fields:
            yield change.action, change.kind, change.name, "", "", ""
        for name, (before, after) in change.fields.items():
            yield change.action, change.kind, change.name, name, short(before), short(after)


def short(value: object) -> str:
    """Return a value in a few words."""
    words = "none" if value in (None, [], {}) else str(value)
    return words if len(words) <= _MAX_VALUE else f"{words[: _MAX_VALUE - 1]}…"
