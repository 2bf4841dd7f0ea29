"""Reading the catalog for a synchronisation: everything, or what changed since the last one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.redaction import scrubbed
from headrace.catalog.outbox import Part, changes_since, is_known, position
from headrace.catalog.sensitivity import hidden_columns
from headrace.database.connection import transaction
from headrace.openmetadata.sql import statement
from headrace.openmetadata.state import Reached
from headrace.queries.quality import quality_scores

Row = dict[str, Any]
_OVERLAP = timedelta(minutes=10)  # a transaction may end after a later one has been read
_FIRST = timedelta(days=30)  # of versions and runs before the first synchronisation


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows that may have changed; None for all. reached: to be stored once they have been sent."""

    datasets: frozenset[UUID] | None
    processes: frozenset[UUID] | None
    targets: frozenset[UUID] | None  # whose incoming edges
    since: datetime  # versions and runs
    reached: Reached

    @property
    def is_whole(self) -> bool:
        """True if everything is compared."""
        return self.datasets is None


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of a scope. hidden: the sensitive columns of each dataset, by its key."""

    datasets: list[Row]
    processes: list[Row]
    edges: list[Row]
    column_edges: list[Row]
    versions: list[Row]
    runs: list[Row]
    hidden: dict[str, frozenset[str]]

    @property
    def is_empty(self) -> bool:
        """True if nothing may have changed."""
        return not (self.datasets or self.processes or self.edges or self.versions or self.runs)


def scope(
    engine: Engine,
    organisation: UUID,
    reader: str,
    last: Reached | None,
    now: datetime,
    *,
    whole: bool,
    pending: tuple[set[UUID], set[UUID]],
) -> Scope:
    """Return what may have changed since the last synchronisation, by the outbox, and by versions and runs since.

    pending: datasets and processes of what was refused the last time.
    """
    since = last.read_at - _OVERLAP if last else now - _FIRST
    events_at = last.events_at if last else 0
    with transaction(engine) as cursor:
        if last is None or whole or not is_known(cursor, organisation, reader, last.position):
            return Scope(None, None, None, since, Reached(position(cursor), now, events_at))
        at, ids = last.position, {part: set[UUID]() for part in Part}
        while True:
            changes, following = changes_since(cursor, organisation, at)
            if following == at:
                break
            at = following
            for change in changes:
                ids[change.part].update(change.ids)
        datasets, processes = ids[Part.DATASET] | pending[0], ids[Part.PROCESS] | pending[1]
        targets = _targets(cursor, ids[Part.EDGE], ids[Part.COLUMN_EDGE])
        cursor.execute(
            "SELECT DISTINCT dataset_id FROM catalog.dataset_version WHERE organisation_id = %s AND produced_at >= %s",
            [organisation, since],
        )
        datasets |= {row["dataset_id"] for row in cursor}
        # The edges of a table whose columns changed may name columns that are gone.
        cursor.execute(
            "SELECT DISTINCT target_id FROM catalog.lineage_edge WHERE source_id = ANY (%s) AND valid_to IS NULL",
            [list(datasets)],
        )
        targets |= datasets | {row["target_id"] for row in cursor}
    return Scope(
        frozenset(datasets), frozenset(processes), frozenset(targets), since, Reached(at, now, events_at)
    )


def _listed(ids: frozenset[UUID] | None) -> list[UUID] | None:
    return None if ids is None else sorted(ids)


def _targets(cursor: Any, edges: Iterable[UUID], names: Iterable[UUID]) -> set[UUID]:  # noqa: ANN401 - psycopg's
    cursor.execute("SELECT target_id FROM catalog.lineage_edge WHERE edge_id = ANY (%s)", [list(edges)])
    found = {row["target_id"] for row in cursor}
    cursor.execute("SELECT dataset_id FROM catalog.dataset_name WHERE name_id = ANY (%s)", [list(names)])
    return found | {row["dataset_id"] for row in cursor}


def contents(engine: Engine, organisation: UUID, of: Scope, more: Iterable[UUID] = ()) -> Contents:
    """Read the rows of a scope, passwords redacted.

    more: datasets to read as well, since others changed them there.
    """
    datasets = None if of.datasets is None else sorted(of.datasets | set(more))
    parameters = {"organisation": organisation, "datasets": datasets, "since": of.since}
    with transaction(engine) as cursor:
        found = statement("datasets").execute(cursor, parameters).fetchall()
        processes = (
            statement("processes")
            .execute(cursor, {**parameters, "processes": _listed(of.processes)})
            .fetchall()
        )
        targets = {**parameters, "targets": _listed(of.targets)}
        edges = statement("edges").execute(cursor, targets).fetchall()
        columns = statement("column_edges").execute(cursor, targets).fetchall()
        versions = statement("versions").execute(cursor, parameters).fetchall()
        runs = statement("runs").execute(cursor, parameters).fetchall()
        scores = quality_scores(cursor, [row["dataset_id"] for row in found], datetime.now(UTC))
    for row in found:
        score = scores[row["dataset_id"]].score
        row["quality"] = None if score is None else str(score)
    keys = {row["key"] for row in found}
    return Contents(
        datasets=[scrubbed(row) for row in found],
        processes=[scrubbed(row) for row in processes],
        edges=edges,
        column_edges=columns,
        versions=versions,
        runs=runs,
        hidden=hidden_columns(engine, keys),
    )


def successors(engine: Engine, organisation: UUID, datasets: Iterable[UUID]) -> dict[str, str]:
    """Return the dataset that continues each of these, which the catalog no longer has; ids as text."""
    with transaction(engine) as cursor:
        found = statement("successors").execute(
            cursor, {"organisation": organisation, "datasets": sorted(datasets)}
        )
        return {str(row["former_id"]): str(row["dataset_id"]) for row in found}


def processes_of(engine: Engine, organisation: UUID, rows: Contents) -> dict[UUID, Row]:
    """Return the processes that the edges of these rows name, also those that did not change."""
    known = {row["process_id"]: row for row in rows.processes}
    missing = sorted({row["process_id"] for row in rows.edges if row["process_id"]} - known.keys())
    if missing:
        with transaction(engine) as cursor:
            found = statement("processes").execute(
                cursor, {"organisation": organisation, "processes": missing}
            )
            known |= {row["process_id"]: scrubbed(row) for row in found}
    return known
