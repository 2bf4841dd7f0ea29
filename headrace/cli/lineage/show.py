"""`headrace lineage`: upstream or downstream of a dataset or an exact version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.lineage.columns import show_columns
from headrace.terminal.arguments import AsJson, AsOf, Partition, dataset_keys, examples, version_tags
from headrace.terminal.output import emit, show

if TYPE_CHECKING:
    from datetime import datetime

    from rich.tree import Tree

    from headrace.queries.graph.process_lineage import ProcessLineage
    from headrace.queries.rows import Direction, Lineage, VersionLineage, VersionNode

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class Graph:
    """Datasets by key, each with a label and its neighbours, in the direction away from the first."""

    root: str
    labels: Mapping[str, str]
    further: Mapping[str, Sequence[str]]
    truncated: bool


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
        _print(found, _of_processes(found, dataset), as_json, dot)
        return
    if place.column is not None or html:
        if version is not None or partition is not None:
            raise typer.BadParameter("--version and --partition apply to datasets, not to columns")
        form = "json" if as_json else "dot" if dot else "html" if html else "tree"
        show_columns(connect(), place, direction, depth, as_of, form)
        return
    if version is None and partition is None and as_of is None:
        found = queries.lineage(connect(), dataset, direction, depth)
        graph = _of_datasets(found)
    else:
        found = queries.version_lineage(
            connect(), dataset, direction, depth, tag=version, partition=partition, as_of=as_of
        )
        graph = _of_versions(found)
    _print(found, graph, as_json, dot)


def _print(found: Lineage | VersionLineage | ProcessLineage, graph: Graph, as_json: bool, dot: bool) -> None:
    if as_json:
        emit(found)
    elif dot:
        from headrace.exports.dot import dot as dot_of

        typer.echo("\n".join(dot_of(found)))
    else:
        show(_tree(graph))
        if graph.truncated:
            typer.echo("Lineage continues; increase --depth to see more.")


def _of_process(named: str, direction: Direction, depth: int, as_of: datetime | None) -> ProcessLineage:
    """Return the lineage of the process with this key. Raises UnknownProcess."""
    from headrace.database.connection import connect
    from headrace.queries.graph.process_lineage import process_lineage
    from headrace.queries.process_detail import process_id

    return process_lineage(connect(), process_id(connect(), named), direction, depth, as_of=as_of)


def _of_processes(found: ProcessLineage, root: str) -> Graph:
    labels = {node.key: node.key + (f" (+{node.hidden})" if node.hidden else "") for node in found.nodes}
    keys = {node.id: node.key for node in found.nodes}
    edges = [
        (keys[edge.source], keys[edge.target])
        for edge in found.edges
        if edge.source in keys and edge.target in keys
    ]
    return Graph(root, labels, _further(edges, found.direction), found.truncated)


def _of_datasets(found: Lineage) -> Graph:
    labels = {node.key: node.key + (f" (+{node.hidden})" if node.hidden else "") for node in found.nodes}
    edges = [(edge.source, edge.target) for edge in found.edges]
    return Graph(found.key, labels, _further(edges, found.direction), found.truncated)


def _of_versions(found: VersionLineage) -> Graph:
    """Combine the versions of each dataset, so that the lineage of a day and of a year both fit a screen."""
    grouped: dict[str, list[VersionNode]] = {}
    for node in found.nodes:
        grouped.setdefault(node.version.dataset, []).append(node)
    of = {node.version.version_id: node.version.dataset for node in found.nodes}
    edges = [(of[edge.source], of[edge.target]) for edge in found.edges]
    labels = {key: f"{key} {_named(nodes)}" for key, nodes in grouped.items()}
    return Graph(found.key, labels, _further(edges, found.direction), found.truncated)


def _named(nodes: Sequence[VersionNode]) -> str:
    hidden = sum(node.hidden for node in nodes)
    more = f" (+{hidden})" if hidden else ""
    if len(nodes) > 1:
        keys = sorted(str(node.version.partition) for node in nodes)
        return f"{len(nodes):,} versions, {keys[0]} to {keys[-1]}{more}"
    place = f"[{nodes[0].version.partition}] " if nodes[0].version.partition is not None else ""
    outcome = "" if nodes[0].outcome == "PUBLISHED" else f" {nodes[0].outcome}"
    return f"{place}{nodes[0].version.tag}{outcome}{more}"


def _further(edges: Sequence[tuple[str, str]], direction: str) -> dict[str, list[str]]:
    further: dict[str, list[str]] = {}
    for source, target in dict.fromkeys(edges):
        near, far = (target, source) if direction == "up" else (source, target)
        further.setdefault(near, []).append(far)
    return further


def _tree(graph: Graph) -> Tree:
    """Build the tree; a dataset that occurs twice is expanded at its first occurrence."""
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(graph.labels[graph.root], style="bold"))
    spelt: set[str] = {graph.root}
    waiting = [(graph.root, tree)]
    while waiting:
        key, branch = waiting.pop(0)
        for other in sorted(graph.further.get(key, ())):
            if other not in graph.labels or other == graph.root:
                continue
            again = other in spelt and other in graph.further
            child = branch.add(Text(graph.labels[other] + (" (see above)" if again else "")))
            if other not in spelt:
                spelt.add(other)
                waiting.append((other, child))
    return tree
