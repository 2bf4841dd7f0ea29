"""Rows to erase: those about a person, and how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from headrace.terminal.errors import CommandError
from headrace.terminal.output import show, table

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from headrace.execution.erasure import AffectedRows, AffectedVersion, Condition


def rows_about(engine: Engine, subject: str) -> tuple[dict[str, list[Condition]], list[str]]:
    """Return the conditions for the rows about a person, by dataset; and the datasets of other systems.

    subject: `KIND=ID`. Raises CommandError if no column has such identifiers.
    """
    from headrace.execution.erasure import of_subject
    from headrace.publishing.erasure import subject_columns

    kind, _, identifier = subject.partition("=")
    if not (kind and identifier):
        raise typer.BadParameter("write --subject KIND=ID, for example customer=4711")
    columns = subject_columns(engine, kind)
    if not columns:
        raise CommandError(f"no column has the tag `subject={kind}`: tag the columns that identify a {kind}")
    asked: dict[str, list[Condition]] = {}
    for each in columns:
        if not each.is_external:
            asked.setdefault(each.dataset, []).append(of_subject(each.column, identifier))
    return asked, sorted({each.dataset for each in columns if each.is_external})


def show_affected(found: AffectedRows) -> None:
    """Print the versions with the rows, by dataset and action."""
    if not found.versions:
        typer.echo("No version has such rows.")
        return
    groups: dict[tuple[str, str], list[AffectedVersion]] = {}
    for each in found.versions:
        groups.setdefault((each.stored.version.dataset, each.action.value), []).append(each)
    rows = [
        (
            dataset,
            action,
            len(some),
            "unknown" if any(each.rows is None for each in some) else sum(each.rows or 0 for each in some),
        )
        for (dataset, action), some in groups.items()
    ]
    show(table(["dataset", "action", "#versions", "#rows"], rows))


def erasure_facts(found: AffectedRows, dataset: str, *, erased: bool) -> dict[str, Any]:
    """Return the versions with the rows as JSON has them."""
    versions = [
        {
            "dataset": each.stored.version.dataset,
            "partition": each.stored.version.partition,
            "version": each.stored.version.tag,
            "rows": each.rows,
            "action": each.action,
        }
        for each in found.versions
    ]
    return {"dataset": dataset, "erased": erased, "versions": versions, "sources": found.sources}
