"""`headrace lineage domain/name.column` and `headrace diff-lineage`: as a tree, for Graphviz, or as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Dataset, Partition, examples, version_tags
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, show

if TYPE_CHECKING:
    from rich.tree import Tree
    from sqlalchemy import Engine

    from headrace.queries.columns import ColumnPlace
    from headrace.queries.names import ColumnEdge
    from headrace.queries.rows import Direction

app = typer.Typer()
_Column = tuple[str, str]


def show_columns(
    engine: Engine, place: ColumnPlace, direction: Direction, depth: int, as_of: datetime | None, form: str
) -> None:
    """Print the upstream or downstream lineage of a column. form: tree, json, dot or html."""
    from headrace.queries.names import column_lineage

    edges = column_lineage(engine, place.dataset_id, direction, depth, field=place.column, as_of=as_of)
    named = _named((place.key, place.column or ""))
    if form == "json":
        emit({"key": place.key, "column": place.column, "direction": direction, "edges": edges})
    elif form == "dot":
        from headrace.exports.dot import column_dot

        typer.echo("\n".join(column_dot(edges)))
    elif form == "html":
        from headrace.exports.lineage_page import page

        what = "Downstream of" if direction == "down" else "Upstream of"
        typer.echo(page(f"{what} {named}", (place.key, place.column or ""), edges))
    elif edges:
        show(_tree(place, direction, edges))
    else:
        typer.echo(f"No {'downstream' if direction == 'down' else 'upstream'} lineage is known for {named}.")


@app.command(
    "diff-lineage",
    epilog=examples(
        "headrace diff-lineage flights/daily_delays",
        "headrace diff-lineage flights/daily_delays 20261128T041500Z-1a2b3c4d 20261128T051500Z-5e6f7a8b",
    ),
)
def diff_lineage(
    dataset: Dataset,
    before: Annotated[
        str | None,
        typer.Argument(
            metavar="BEFORE",
            help="The earlier version. [default: the one published before AFTER]",
            autocompletion=version_tags,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Argument(
            metavar="AFTER",
            help="The later version. [default: the published one]",
            autocompletion=version_tags,
        ),
    ] = None,
    partition: Partition = None,
    as_json: AsJson = False,
) -> None:
    """Compare the column lineage of two versions."""
    from headrace.catalog.column_lineage_changes import changes
    from headrace.database.connection import connect
    from headrace.queries.columns import compared_columns

    old, new = compared_columns(connect(), dataset, before, after, partition)
    missing = [each.version.tag for each in (old, new) if each.lineage is None]
    if old.lineage is None or new.lineage is None:
        raise CommandError(f"no column lineage is known for version {' and '.join(missing)}")
    found = changes(old.lineage, new.lineage)
    if as_json:
        emit({"dataset": dataset, "before": old.version, "after": new.version, "changes": found})
        return
    typer.echo(f"{dataset} {old.version.tag} -> {new.version.tag}")
    for change in found:
        typer.echo(f"  {change.text}")
    if not found:
        typer.echo("  No column lineage changed.")


def _tree(place: ColumnPlace, direction: Direction, edges: Sequence[ColumnEdge]) -> Tree:
    """Build the tree; a column that occurs twice is expanded at its first occurrence."""
    from rich.text import Text
    from rich.tree import Tree

    from headrace.slas.column_impact import touches

    root = (place.key, place.column or "")
    tree = Tree(Text(_named(root), style="bold"))
    spelt: set[_Column] = {root}
    waiting: list[tuple[_Column, Tree]] = [(root, tree)]
    while waiting:
        (key, column), branch = waiting.pop(0)
        for edge in edges:
            near, far = _ends(edge, direction)
            if near[0] != key or not touches(column, near[1]):
                continue
            at = f"{near[1] or 'all rows'}: " if near[1] != column else ""
            again = " (see above)" if far in spelt else ""
            child = branch.add(Text.assemble(f"{at}{_named(far)}", (f"  {_how(edge)}{again}", "dim")))
            if far not in spelt:
                spelt.add(far)
                waiting.append((far, child))
    return tree


def _ends(edge: ColumnEdge, direction: Direction) -> tuple[_Column, _Column]:
    source, target = (edge.source_key, edge.source_field), (edge.target_key, edge.target_field)
    return (source, target) if direction == "down" else (target, source)


def _named(column: _Column) -> str:
    key, name = column
    return f"{key}.{name}" if name else key


def _how(edge: ColumnEdge) -> str:
    if edge.unknown is not None:
        return f"possible source, unknown: {edge.unknown}"
    words = (edge.subtype or edge.type or "reported").lower().replace("_", " ")
    if edge.type == "INDIRECT":
        words += ", indirect"
    if edge.masking:
        words += ", masked"
    if edge.confidence < 1:
        words += f", {edge.confidence:.0%} sure"
    return f"{words}: {edge.description}" if edge.description else words
