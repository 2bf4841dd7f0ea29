"""Keep a copy of the lineage graph up to date: written as a whole once, then by changes from the outbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import Change, Part, Rows, changes_since, is_known, note_read, position
from headrace.database.connection import transaction
from headrace.database.locks import alone
from headrace.exports.exporter import EXPORTERS, GraphChanges, GraphCopy, GraphPart, GraphUnavailable
from headrace.exports.graph import column_edges_into, edges, edges_of, nodes, nodes_of, snapshot


@dataclass(frozen=True, slots=True)
class SynchronisationResult:
    """Result of synchronising the graph.

    whole: the full graph was written. written: written nodes and edges. removed: removed ones; 0 in a dry run of all.
    problems: what the system refused.
    """

    whole: bool
    written: int
    removed: int
    problems: Sequence[str] = ()


def synchronise(
    engine: Engine, name: str, organisation: UUID, *, whole: bool = False, is_dry: bool = False
) -> SynchronisationResult:
    """Update the organisation's graph in another system to the catalog's current state.

    An interrupted synchronisation continues where it was; if the other system was emptied or restored, the full graph
    is written. name: of the exporter. is_dry: write nothing. Raises GraphUnavailable, also while another process
    synchronises, and UnknownPlugin.
    """
    with alone(engine, name) as first:
        if not first:
            raise GraphUnavailable(f"another process is synchronising {name}; try again when it has finished")
        with EXPORTERS.get(name).opened(engine, organisation) as copy:
            since = copy.position()
            with transaction(engine) as cursor:
                known = since is not None and not whole and is_known(cursor, organisation, name, since)
            write = _write_changes if known else _write_all
            return write(engine, name, copy, organisation, is_dry=is_dry)


def _write_all(
    engine: Engine, name: str, copy: GraphCopy, organisation: UUID, *, is_dry: bool
) -> SynchronisationResult:
    """Write everything, page by page; stale objects are removed last, and then the position is stored."""
    written = removed = 0
    with snapshot(engine) as cursor:
        reached = position(cursor)
        stamp = f"{reached.transaction_id}/{reached.outbox_id}"
        for part in _parts(cursor, organisation):
            written += part.size
            if not is_dry:
                copy.write(part, stamp)
    if not is_dry:
        removed = copy.finish(stamp, reached)
        note_read(engine, organisation, name, reached)
    return SynchronisationResult(True, written, removed, tuple(copy.problems))


def _parts(cursor: Rows, organisation: UUID) -> Iterator[GraphPart]:
    for page in nodes(cursor, Part.DATASET, organisation):
        yield GraphPart(datasets=page)
    for page in nodes(cursor, Part.PROCESS, organisation):
        yield GraphPart(processes=page)
    for each in edges(cursor, Part.EDGE, organisation):
        yield GraphPart(edges=each)
    for each in edges(cursor, Part.COLUMN_EDGE, organisation):
        yield GraphPart(column_edges=each)


def _write_changes(
    engine: Engine, name: str, copy: GraphCopy, organisation: UUID, *, is_dry: bool
) -> SynchronisationResult:
    since = copy.position()
    assert since is not None  # noqa: S101 - it is known
    written = removed = 0
    while True:
        with transaction(engine) as cursor:
            reported, reached = changes_since(cursor, organisation, since)
            if reached == since:
                return SynchronisationResult(False, written, removed, tuple(copy.problems))
            changes = _changes(cursor, reported)
            if not is_dry:
                copy.apply(changes, reached)
        if not is_dry:
            note_read(engine, organisation, name, reached)
        written += changes.current.size
        removed += changes.removed
        since = reached


def _changes(cursor: Rows, reported: Sequence[Change]) -> GraphChanges:
    ids = {
        part: sorted({each for change in reported if change.part is part for each in change.ids})
        for part in Part
    }
    current, ended = edges_of(cursor, ids[Part.EDGE])
    columns = column_edges_into(cursor, ids[Part.COLUMN_EDGE])
    # An edge may be reported before its ends: the required ones are written with it.
    ends = {end.id for edge in (*current, *columns) for end in (edge.source, edge.target)}
    datasets = nodes_of(cursor, Part.DATASET, sorted({*ids[Part.DATASET], *ends}))
    processes = nodes_of(cursor, Part.PROCESS, sorted({*ids[Part.PROCESS], *ends}))
    return GraphChanges(ids, GraphPart(datasets, processes, current, columns), ended)
