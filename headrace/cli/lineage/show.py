"""`headrace lineage`: upstream or downstream of a dataset or an exact version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.lineage.columns import show_columns
from headrace.terminal.arguments import AsJson, AsOf, Partition, dataset_keys, examples, version_tags
from headrace.terminal.lineage_tree import Graph, dataset_graph, process_graph, tree, version_graph
from headrace.terminal.output import emit, show

if TYPE_CHECKING:
    from datetime import datetime

    from headrace.queries.graph.process_lineage import ProcessLineage
    from headrace.queries.rows import Direction, Lineage, VersionLineage

app = typer.Typer()


@app.command(
    "show",
    epilog=examples(
        "headrace lineage flights/daily_delays",
        "headrace lineage flights/planes --down --depth 5",
        "headrace lineage flights/daily_delays --partition 2013-01-01 --as-of 2026-11-28T06:00",
        "headrace lineage flights/daily_delays --dot | dot -Tsvg > lineage.svg",
        "headrace lineage flights/daily_delays.departure_delay_mean",
        "headrace lineage flights/flights_clean.departure_delay --down --depth 9 --html > lineage.html",
    ),
)
def lineage(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="The dataset's key, domain/name; one of its columns, domain/name.column; or the key of a process.",
            autocompletion=dataset_keys,
        ),
    ],
    down: Annotated[bool, typer.Option("--down/--up", help="Downstream or upstream.")] = False,
    depth: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of steps.")] = 3,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="TAG", help="The version with this tag.", autocompletion=version_tags
        ),
    ] = None,
    partition: Partition = None,
    as_of: AsOf = None,
    dot: Annotated[bool, typer.Option("--dot", help="Print Graphviz DOT.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Print column lineage as a self-contained HTML page.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the lineage of a dataset, column or process.

    With --version, --partition or --as-of: the lineage of exact versions.
    """
    if version is not None and as_of is not None:
        raise typer.BadParameter("--version and --as-of cannot be combined")
    if sum((dot, as_json, html)) > 1:
        raise typer.BadParameter("--dot, --json and --html cannot be combined")
    from headrace import queries
    from headrace.database.connection import connect
    from headrace.errors import UnknownDataset, UnknownProcess
    from headrace.queries.columns import column_place

    direction = queries.Direction.DOWN if down else queries.Direction.UP
    found: Lineage | VersionLineage | ProcessLineage
    try:
        place = column_place(connect(), dataset)
    except UnknownDataset as unknown:
        try:
            found = _of_process(dataset, direction, depth, as_of)
        except UnknownProcess:
            raise unknown from None
        if html or version is not None or partition is not None:
            message = "--version, --partition and --html do not apply to processes"
            raise typer.BadParameter(message) from None
        _print(found, process_graph(found, dataset), as_json, dot)
        return
    if place.column is not None or html:
        if version is not None or partition is not None:
            raise typer.BadParameter("--version and --partition apply to datasets, not to columns")
        form = "json" if as_json else "dot" if dot else "html" if html else "tree"
        show_columns(connect(), place, direction, depth, as_of, form)
        return
    if version is None and partition is None and as_of is None:
        found = queries.lineage(connect(), dataset, direction, depth)
        graph = dataset_graph(found)
    else:
        found = queries.version_lineage(
            connect(), dataset, direction, depth, tag=version, partition=partition, as_of=as_of
        )
        graph = version_graph(found)
    _print(found, graph, as_json, dot)


def _print(found: Lineage | VersionLineage | ProcessLineage, graph: Graph, as_json: bool, dot: bool) -> None:
    if as_json:
        emit(found)
    elif dot:
        from headrace.exports.dot import dot as dot_of

        typer.echo("\n".join(dot_of(found)))
    else:
        show(tree(graph))
        if graph.truncated:
            typer.echo("Lineage continues; increase --depth to see more.")


def _of_process(named: str, direction: Direction, depth: int, as_of: datetime | None) -> ProcessLineage:
    """Return the lineage of the process with this key. Raises UnknownProcess."""
    from headrace.database.connection import connect
    from headrace.queries.graph.process_lineage import process_lineage
    from headrace.queries.process_detail import process_id

    return process_lineage(connect(), process_id(connect(), named), direction, depth, as_of=as_of)
