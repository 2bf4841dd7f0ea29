"""`headrace retention`: list and delete files that dead runs left in the warehouse."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.output import ago, emit, show, size, table

app = typer.Typer()


@app.command(
    epilog=examples("headrace retention", "headrace retention --delete --hours 48"),
)
def retention(
    delete: Annotated[bool, typer.Option("--delete", help="Delete the listed files.")] = False,
    hours: Annotated[
        float, typer.Option(min=0, metavar="N", help="Keep files of runs started in the last N hours.")
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """List files of runs that died before publishing.

    --delete removes them. Versions are never removed, not even blocked or superseded ones, nor is anything that a live
    run may still publish.
    """
    from headrace.cli.common.frames import files_store
    from headrace.database.connection import connect
    from headrace.orchestration.garbage import garbage

    engine, warehouse = connect(), files_store()
    found = garbage(engine, warehouse, timedelta(hours=hours))
    if delete:
        for each in found:
            warehouse.delete(each.dataset, each.tag, each.warehouse)
    if as_json:
        emit({"garbage": found, "deleted": delete})
        return
    if found:
        rows = [
            (each.dataset, each.tag, size(each.byte_size), ago(each.written_at), each.location)
            for each in found
        ]
        show(table(["dataset", "tag", "#size", "started", "location"], rows))
    total = size(sum(each.byte_size for each in found))
    typer.echo(
        "Nothing to remove."
        if not found
        else f"Deleted directories: {len(found)}, {total} in total."
        if delete
        else f"Directories without a version: {len(found)}, {total} in total. "
        "`headrace retention --delete` deletes them."
    )
