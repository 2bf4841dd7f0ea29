"""`headrace manifests`: refresh the manifests that external readers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from headrace.terminal.arguments import AsJson, Datasets, examples
from headrace.terminal.errors import complain
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.stores.protocol import Reference

app = typer.Typer()


@app.command(epilog=examples("headrace manifests", "headrace manifests flights/planes flights/airports"))
def manifests(
    datasets: Datasets = None,
    as_json: AsJson = False,
) -> None:
    """Refresh the manifests that external readers use.

    A manifest is a file in `_published/` next to a dataset's versions; it points external readers to the published
    version. Other stores have references of their own kind. A killed run or a full disk can leave one out of date.
    """
    from headrace.database.connection import connect
    from headrace.queries import pointers
    from headrace.spark.errors import ResourceError
    from headrace.stores.references import update_references
    from headrace.terminal.frames import session

    engine = connect()
    current: list[Reference] = []
    problems: list[str] = []
    for dataset in datasets or pointers.datasets(engine):
        try:
            current += update_references(engine, dataset, session)
        except ResourceError as error:
            problems.append(f"{dataset}: {error}")
    rewritten = [each for each in current if each.changed]
    if as_json:
        emit({"current": len(current), "rewritten": rewritten, "problems": problems})
    else:
        if rewritten:
            rows = [(each.dataset, each.partition, each.tag, each.location) for each in rewritten]
            show(table(["dataset", "partition", "version", "manifest"], rows))
        typer.echo(
            f"{len(rewritten):,} of {len(current):,} manifests were out of date and have been rewritten."
        )
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(1)
