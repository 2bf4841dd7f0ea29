"""`headrace lineage export` and `sync`: the lineage graph as a file, as OL_* tables, or in Neo4j."""

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
    from headrace.exports.exporter import EXPORTERS

    written = EXPORTERS.get(format_).write(connect(), current_context().organisation_id, sys.stdout.buffer)
    typer.echo(f"{written}.", err=True)


@app.command(epilog=examples("HEADRACE_NEO4J__URI=bolt://localhost:7687 headrace lineage sync"))
def sync(
    whole: Annotated[bool, typer.Option("--whole", help="Write the whole graph again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Synchronise the lineage graph to Neo4j.

    The first sync writes the whole graph, later ones only its changes. Set HEADRACE_NEO4J__URI, __USER, __PASSWORD and
    __DATABASE. Nodes created by others are left unchanged.
    """
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.exports.neo4j import connected, synchronise

    there = current_context().settings.neo4j
    if there.uri is None:
        raise CommandError(
            "Neo4j is not configured: set HEADRACE_NEO4J__URI, for example bolt://localhost:7687"
        )
    with connected(there.uri, there.user, there.password.get_secret_value()) as driver:
        done = synchronise(
            connect(), driver, current_context().organisation_id, database=there.database, whole=whole
        )
    if as_json:
        emit(done)
        return
    all_of_it = "Wrote the whole graph: " if done.whole else ""
    typer.echo(f"{all_of_it}{done.written:,} nodes and edges written, {done.removed:,} removed.")


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
