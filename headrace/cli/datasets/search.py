"""`headrace search`: find datasets by words."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, Limit, examples
from headrace.terminal.output import emit, show, table

app = typer.Typer()


@app.command(epilog=examples("headrace search late flights"))
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words, or the beginnings of words.")],
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Find datasets by words, tolerating typos.

    Searches names, owners, tags, columns, descriptions and code.
    """
    from headrace.database.connection import connect
    from headrace.queries.search import search as find

    found = find(connect(), " ".join(words), code_of=None, limit=limit)
    if as_json:
        emit({"items": found.rows, "misspelt": found.misspelt})
        return
    if found.misspelt:
        typer.echo(f"Searched for similar words instead of: {', '.join(found.misspelt)}.")
    if found.rows:
        rows = [(each.key, each.description, each.owners, each.tags) for each in found.rows]
        show(table(["dataset", "description", "owners", "tags"], rows))
    else:
        typer.echo("No datasets match.")
