"""`headrace profile`: show what is known of the values of columns."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, examples, version_tags
from headrace.terminal.output import emit, show
from headrace.terminal.profile_cells import first_and_last, profile_parts, without_values

app = typer.Typer()


@app.command(epilog=examples("headrace profile flights/flights_clean --partitions 2013-01-01...2013-01-31"))
def profile(
    dataset: Dataset,
    version: Annotated[
        str | None, typer.Option("--version", metavar="TAG", help="A version.", autocompletion=version_tags)
    ] = None,
    partitions: Annotated[
        str | None, typer.Option(metavar="FIRST...LAST", help="Only partitions from one key to another.")
    ] = None,
    unmask: Annotated[bool, typer.Option("--unmask", help="Show the values of sensitive columns.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the profile of a dataset's columns.

    That of several partitions is merged from theirs; no rows are read. `profile: full` of a dataset records them.
    """
    from headrace.database.connection import connect
    from headrace.queries.profiles import profile as profile_of

    engine = connect()
    found = profile_of(engine, dataset, version, first_and_last(partitions))
    found = found if unmask else without_values(engine, found)
    emit(found) if as_json else show(*profile_parts(found))
