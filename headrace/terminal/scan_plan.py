"""The content of a scan of an estate in the terminal."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING

import typer

from headrace.nouns import counted
from headrace.terminal.output import facts, show, table

if TYPE_CHECKING:
    from headrace.estates.plan import Plan

MAX_ROWS_SHOWN = 50  # rows of each list


def print_plan(plan: Plan) -> None:
    """Print the content of a scan and its changes; long lists are cut."""
    show(
        facts(
            [
                ("files", len(plan.files)),
                ("processes", f"{plan.processes:,}"),
                ("added", _number(plan.added, (plan.taken_over, "known from events"))),
                ("changed", _number(plan.changed)),
                ("back again", _number(plan.returned)),
                ("removed", _number(plan.removed)),
                ("kept", _number(plan.kept)),
            ]
        )
    )
    first = not plan.known
    for title, names in (
        ("added", () if first else plan.added),
        ("back again", plan.returned),
        ("removed", plan.removed),
        ("kept, because the unreadable parts may define them", plan.kept),
    ):
        _list(title, names)
    changes = [
        (title, change.attribute, "\n".join(change.before) or None, "\n".join(change.after) or None)
        for title, found in plan.changed.items()
        for change in found
    ]
    if changes:
        show(table(["changed", "attribute", "from", "to"], changes[:MAX_ROWS_SHOWN]))
        _more(len(changes))
    for finding in (*plan.errors, *plan.doubts)[:MAX_ROWS_SHOWN]:
        typer.echo(str(finding))
    _more(len(plan.errors) + len(plan.doubts))
    if plan.errors or plan.warnings:
        counts = f"{counted(len(plan.errors), 'error')}, {counted(plan.warnings, 'warning')}"
        typer.echo(f"{counts}; `headrace legacy report` has the details.")


def _list(title: str, names: Sequence[str]) -> None:
    if names:
        show(table([title], [[name] for name in names[:MAX_ROWS_SHOWN]]))
        _more(len(names))


def _more(count: int) -> None:
    if count > MAX_ROWS_SHOWN:
        typer.echo(f"and {count - MAX_ROWS_SHOWN:,} more; --json has all.")


def _number(names: Sized, also: tuple[Sized, str] = ((), "")) -> str | None:
    if not names:
        return None
    return f"{len(names):,}" + (f", {len(also[0]):,} {also[1]}" if also[0] else "")
