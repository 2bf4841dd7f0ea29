"""`headrace lineage export` and `sync`: the lineage graph as a file, as OL_* tables, or in other systems."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, row_count_text

app = typer.Typer()


@app.command(
    epilog=examples(
        "headrace lineage export --format graphml > lineage.graphml",
        "headrace lineage export --format openlineage > lineage.jsonl",
        "headrace lineage export --tables --schema lineage",
    )
)
def export(
    database: Annotated[
        str | None,
        typer.Argument(
            metavar="URL", help="With --tables: the database. [default: HEADRACE_LINEAGE_DATABASE_URL]"
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Print on standard output: `graphml` (Gephi, yEd, Cytoscape, networkx), `openlineage` (events, "
            "one a line), or one that a package adds.",
        ),
    ] = None,
    tables: Annotated[
        bool,
        typer.Option("--tables", help="Write rows into the OL_* tables created by `headrace setup-lineage`."),
    ] = False,
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="NAME", help="With --tables: the schema of the tables.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export the current lineage graph for other tools.

    Locations, statistics and query texts are omitted, and column expressions are masked as `***`.
    """
    if (format_ is None) == (not tables):
        raise typer.BadParameter("pass either --format or --tables")
    if (schema or database or as_json) and not tables:
        raise typer.BadParameter("URL, --schema and --json require --tables")
    from headrace.context import current_context
    from headrace.database.connection import connect

    if format_ is None:
        _export_tables(database, schema, as_json=as_json)
        return
    from headrace.exports.formats import FORMATS

    written = FORMATS.get(format_).write(connect(), current_context().organisation_id, sys.stdout.buffer)
    typer.echo(f"{written}.", err=True)


@app.command(
    epilog=examples(
        "headrace lineage sync --dry-run", "headrace lineage sync", "headrace lineage sync neo4j --whole"
    )
)
def sync(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="`neo4j`, `janusgraph`, `datahub`, or one that a package adds. [default: all that are configured]",
        ),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Write the whole graph again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would change; write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Synchronise the lineage graph to other systems.

    The first sync writes the whole graph, later ones only its changes. One that was interrupted continues. Objects
    created by others are left unchanged.
    """
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.exports.exporter import EXPORTERS
    from headrace.exports.synchronisation import synchronise
    from headrace.terminal.graph_copies import show_synchronised

    chosen = names or [name for name in EXPORTERS.names() if EXPORTERS.get(name).is_configured]
    if not chosen:
        raise CommandError(
            "nothing is configured: set HEADRACE_NEO4J__URI, HEADRACE_JANUSGRAPH__URI or HEADRACE_DATAHUB__URL"
        )
    organisation = current_context().organisation_id
    done = {name: synchronise(connect(), name, organisation, whole=whole, is_dry=dry_run) for name in chosen}
    if as_json:
        emit(done)
    else:
        show_synchronised(done, is_dry=dry_run)
    if any(each.problems for each in done.values()):
        raise CommandError("not everything was accepted; the problems are listed above")


def _export_tables(database: str | None, schema: str | None, *, as_json: bool) -> None:
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.exports import engine_of
    from headrace.exports.copy import copy_rows
    from headrace.exports.targets import lineage_database

    copied = copy_rows(
        connect(), current_context().organisation_id, engine_of(lineage_database(database)), schema
    )
    if as_json:
        emit(copied)
        return
    typer.echo(", ".join(f"{row_count_text(rows)} into {table}" for table, rows in copied.items()) + ".")
