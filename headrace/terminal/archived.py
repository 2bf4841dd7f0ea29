"""Results of archiving in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from headrace.nouns import counted
from headrace.terminal.output import show, size, table

if TYPE_CHECKING:
    from headrace.retention.archiving import ArchivingResult, ColdRows


def show_cold_rows(waiting: Sequence[ColdRows]) -> None:
    """Print what would be archived."""
    if not waiting:
        typer.echo("Nothing to archive: no finished runs or events are older than 90 days.")
        return
    show(
        table(
            ["month", "what", "#how many"],
            [(f"{each.month:%Y-%m}", each.kind.folder, each.rows) for each in waiting],
        )
    )
    typer.echo(
        "`headrace catalog archive` moves these to the archive. Whatever was reported of the runs goes with them."
    )


def show_archived(done: ArchivingResult) -> None:
    """Print what was archived."""
    if done.files:
        moved = ", ".join(f"{rows:,} {kind.folder}" for kind, rows in done.rows.items())
        typer.echo(f"Archived {moved}, in {counted(done.files, 'file')} of {size(done.byte_size)} in all.")
    else:
        typer.echo("Nothing was older than 90 days.")
    for count, words in (
        (done.late, "archived runs updated by late events"),
        (done.merged, "small archive files merged"),
        (done.outbox, "undelivered outbox messages deleted"),
        (done.alerts, "alerts closed for 400 days deleted"),
        (done.dropped, "empty partitions dropped"),
    ):
        if count:
            typer.echo(f"{count:,} {words}.")
