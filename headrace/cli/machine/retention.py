"""`headrace retention`: list and delete what dead runs left in the stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.output import ago, emit, show, size, table

app = typer.Typer()


@app.command(epilog=examples("headrace retention", "headrace retention --delete --hours 48"))
def retention(
    delete: Annotated[bool, typer.Option("--delete", help="Delete the listed writes.")] = False,
    hours: Annotated[
        float, typer.Option(min=0, metavar="N", help="Keep writes of runs started in the last N hours.")
    ] = 24,
    as_json: AsJson = False,
) -> None:
    """List unfinished writes of dead runs.

    --delete removes them. Versions are never removed, not even blocked or superseded ones, nor is anything that a live
    run may still publish.
    """
    from headrace.cli.common.frames import open_stores
    from headrace.database.connection import connect
    from headrace.orchestration.garbage import garbage

    engine, stores = connect(), open_stores()
    found = garbage(engine, stores, timedelta(hours=hours))
    if delete:
        for each in found:
            stores.named(each.store).delete(each.dataset, each.tag, each.base_uri)
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
        else f"Deleted unfinished writes: {len(found)}, {total} in total."
        if delete
        else f"Unfinished writes: {len(found)}, {total} in total. `headrace retention --delete` deletes them."
    )
