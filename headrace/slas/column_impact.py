"""Column impact: the columns and datasets that depend on a column, with their owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, SubjectKey
from headrace.catalog.column_lineage import WHOLE
from headrace.database.connection import transaction
from headrace.queries.columns import ColumnPlace
from headrace.queries.names import ColumnEdge, column_lineage
from headrace.queries.rows import Direction
from headrace.queries.sql import statement
from headrace.slas.wording import describe_sla

MAX_EDGES = 20_000  # edges; the traversal stops there and sets `truncated`
MAX_DEPTH = 1000  # maximum steps
NO_LINEAGE = "no column lineage is known"

_ABOUT = """
SELECT dataset.dataset_id, full_name AS key, owners, description, nullif(sla.definition, '{}') AS sla
FROM catalog.dataset LEFT JOIN catalog.sla USING (dataset_id)
WHERE dataset.dataset_id = ANY (%s)
"""


class Use(StrEnum):
    """Kind of dependency of one column on another, across any number of datasets."""

    DIRECT = "DIRECT"  # its values flow into the column
    POSSIBLE = "POSSIBLE"  # its values may flow into the column: lineage in between is unknown
    INDIRECT = "INDIRECT"  # its values decide the column: a filter, a join, a condition


@dataclass(frozen=True, slots=True)
class UsedBy:
    """A dataset that uses the column.

    direct, possible, indirect: its columns, by kind of use. rows: row selection depends on it. reason: why a use is
    only possible. depth: number of steps. sla_in_words: its SLA in words.
    """

    key: SubjectKey
    depth: int
    owners: Public[tuple[str, ...]]
    sla: Public[Mapping[str, Any] | None]
    sla_in_words: Public[str | None]
    description: Public[str | None]
    direct: Public[tuple[str, ...]]
    possible: Public[tuple[str, ...]]
    indirect: Public[tuple[str, ...]]
    rows: bool
    reason: Public[str | None]


@dataclass(frozen=True, slots=True)
class ColumnImpact:
    """The uses of a column, nearest first. truncated: the traversal stopped early."""

    key: SubjectKey
    column: Public[str | None]
    used_by: tuple[UsedBy, ...]
    truncated: bool


_Field = tuple[UUID, str]


def column_impact(engine: Engine, place: ColumnPlace, depth: int = MAX_DEPTH) -> ColumnImpact:
    """Return all uses of the column (or any column of the dataset) within `depth` steps, by current lineage."""
    edges = column_lineage(
        engine, place.dataset_id, Direction.DOWN, depth, field=place.column, limit=MAX_EDGES + 1
    )
    uses = _uses((place.dataset_id, place.column or WHOLE), edges)
    depths: dict[UUID, int] = {}
    for edge in edges:
        depths[edge.target] = min(depths.get(edge.target, edge.depth), edge.depth)
    reached = {of: depths[of] for of, _ in uses if of != place.dataset_id}
    with transaction(engine) as cursor:
        parameters = {
            "datasets": [place.dataset_id, *reached],
            "depths": [0, *reached.values()],
            "furthest": depth,
        }
        unknown = statement("lineage/column_impact_unknown").execute(cursor, parameters).fetchall()
        nearest = {**{row["dataset_id"]: row["depth"] for row in unknown if row["depth"] <= depth}, **reached}
        rows = cursor.execute(_ABOUT, [list(nearest)]).fetchall()
    found = [_used_by(row, nearest[row["dataset_id"]], uses, edges, reached) for row in rows]
    return ColumnImpact(
        key=place.key,
        column=place.column,
        used_by=tuple(sorted(found, key=lambda each: (each.depth, each.key))),
        truncated=len(edges) > MAX_EDGES,
    )


def _uses(start: _Field, edges: Sequence[ColumnEdge]) -> dict[_Field, Use]:
    """Return every reachable column with its strongest path; a path is as strong as its weakest step."""
    ahead: dict[UUID, list[ColumnEdge]] = {}
    for edge in edges:
        ahead.setdefault(edge.source, []).append(edge)
    found: dict[_Field, Use] = {}
    for rank, use in enumerate(_RANKS):
        reached = [start, *found]
        while reached:
            of, column = reached.pop()
            for edge in ahead.get(of, ()):
                target = (edge.target, edge.target_field)
                if (
                    target not in found
                    and _RANKS.index(_use(edge)) <= rank
                    and touches(column, edge.source_field)
                ):
                    found[target] = use
                    reached.append(target)
    found.pop(start, None)
    return found


_RANKS = (Use.DIRECT, Use.POSSIBLE, Use.INDIRECT)


def _use(edge: ColumnEdge) -> Use:
    """Return the kind of use; an edge without details counts as direct."""
    if edge.unknown is not None:
        return Use.POSSIBLE
    return Use.INDIRECT if edge.type == "INDIRECT" or edge.target_field == WHOLE else Use.DIRECT


def touches(one: str, other: str) -> bool:
    """Return True if the columns are equal, or one is a field in the other; a whole dataset touches all of its
    columns."""
    return WHOLE in (one, other) or one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _used_by(
    row: Mapping[str, Any],
    depth: int,
    uses: Mapping[_Field, Use],
    edges: Sequence[ColumnEdge],
    reached: Mapping[UUID, int],
) -> UsedBy:
    of = row["dataset_id"]
    columns = {column: use for (dataset, column), use in uses.items() if dataset == of}
    by_use = {
        use: tuple(sorted(column for column, each in columns.items() if each is use and column))
        for use in Use
    }
    reasons = {edge.unknown for edge in edges if edge.target == of and edge.unknown is not None}
    reason = NO_LINEAGE if of not in reached else "; ".join(sorted(reasons)) if by_use[Use.POSSIBLE] else None
    return UsedBy(
        key=row["key"],
        depth=depth,
        owners=tuple(row["owners"]),
        sla=row["sla"],
        sla_in_words=describe_sla(row["sla"]) if row["sla"] else None,
        description=row["description"],
        direct=by_use[Use.DIRECT],
        possible=by_use[Use.POSSIBLE],
        indirect=by_use[Use.INDIRECT],
        rows=WHOLE in columns,
        reason=reason or None,
    )
