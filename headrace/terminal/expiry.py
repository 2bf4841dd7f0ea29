"""The tables of versions that expire and of rows that no version has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from headrace.nouns import counted
from headrace.terminal.output import ago, show, size, table

if TYPE_CHECKING:
    from headrace.orchestration.garbage import Garbage
    from headrace.publishing.expiry import RetainedVersion


def show_expiry(
    dataset: str | None,
    versions: Sequence[RetainedVersion],
    found: Sequence[Garbage],
    *,
    delete: bool,
    failed: int,
) -> None:
    """Show versions with a rule and garbage, and in sum what was removed, or would be."""
    if versions:
        rows: list[tuple[object, ...]] = [
            (
                it.dataset,
                it.partition,
                it.tag,
                size(it.byte_size),
                ago(it.produced_at),
                it.kept or "it expires",
            )
            for it in versions
        ]
        show(table(["dataset", "partition", "version", "#size", "written", "stays because"], rows))
    if dataset is not None:
        if not versions:
            typer.echo(f"All versions of {dataset} stay: its declaration has no `keep`.")
        return
    if found:
        rows = [
            (
                each.dataset,
                each.tag,
                "expired version" if each.expired else "unfinished write",
                size(each.byte_size),
                ago(each.written_at),
                each.location,
            )
            for each in found
        ]
        show(table(["dataset", "tag", "rows of", "#size", "started", "location"], rows))
    if not versions and not found and not failed:
        typer.echo("Nothing to remove.")
        return
    expiring = (
        f"{counted(len(versions), 'version')} ({size(sum(each.own_byte_size or 0 for each in versions))})"
    )
    left = f"rows at {counted(len(found), 'place')} ({size(sum(each.byte_size for each in found))})"
    typer.echo(
        f"Expired {expiring}. Deleted {left}."
        if delete
        else f"To expire: {expiring}. To delete: {left}. `headrace retention --delete` does both."
    )
