"""Merges of lineage edges: ours are added to what others wrote, and taken back without it.

An edge has one set of details there, and PUT replaces it. So an edge is read before it is written: the pipeline,
source, query and description that another wrote stay, as do their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.openmetadata.client import Json

_ADDED_BY_SERVER = ("createdAt", "createdBy", "updatedAt", "updatedBy", "assetEdges", "tempLineageTables")
MANUAL = "Manual"


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """A change of an edge. details: to PUT; None: to delete it. is_own: it was not there before."""

    details: Json | None
    is_own: bool


def is_of(details: Json, bot: str) -> bool:
    """Return True for an edge that this bot wrote last, and no person by hand."""
    return details.get("updatedBy") == bot and details.get("source") != MANUAL


def merged(
    desired: Json, sent: Json | None, current: Json | None, *, is_own: bool, columns: frozenset[str]
) -> EdgeChange | None:
    """Return how to bring a desired edge there; None if it is there.

    columns: the FQNs of the columns of both tables: those of others that name a column which is gone are dropped, since
    the server refuses them.
    """
    if current is None:
        return EdgeChange(desired, is_own=True)
    there = _plain(current)
    theirs = _without(_entries(there), _entries(sent or {}), columns)
    ours = {} if current.get("source") == MANUAL and not desired.get("columnsLineage") else _entries(desired)
    lineage = _listed({**ours, **theirs})
    if is_own:
        wanted = {**desired, "columnsLineage": lineage}
        if current.get("description"):
            wanted["description"] = current["description"]
    else:  # theirs: only what they left out is added
        wanted = {**desired, **there, "columnsLineage": lineage}
    return None if _plain(wanted) == there else EdgeChange(wanted, is_own)


def withdrawn(
    sent: Json, current: Json | None, *, is_own: bool, columns: frozenset[str]
) -> EdgeChange | None:
    """Return how to take our part of an edge back; None if nothing of it is there."""
    if current is None or current.get("source") == MANUAL:
        return None
    there = _plain(current)
    theirs = _without(_entries(there), _entries(sent), columns)
    if is_own and not theirs and not current.get("description"):
        return EdgeChange(None, is_own=True)
    if is_own:
        return EdgeChange({**there, "columnsLineage": _listed(theirs)}, is_own=False)
    wanted = {**there, "columnsLineage": _listed(theirs)}
    return None if wanted == there else EdgeChange(wanted, is_own=False)


def _plain(details: Json) -> Json:
    """Return details as they are sent: without what the server adds, and columns in order."""
    kept = {
        name: value
        for name, value in details.items()
        if name not in _ADDED_BY_SERVER and value not in (None, [])
    }
    if pipeline := kept.get("pipeline"):
        kept["pipeline"] = {"id": pipeline["id"], "type": pipeline["type"]}
    if lineage := kept.get("columnsLineage"):
        kept["columnsLineage"] = _listed(_entries({"columnsLineage": lineage}))
    return kept


def _entries(details: Mapping[str, object]) -> dict[str, Json]:
    """Return the columns by target."""
    lineage: Iterable[Json] = details.get("columnsLineage") or ()  # type: ignore[assignment]
    return {
        each["toColumn"]: {**each, "fromColumns": sorted(each.get("fromColumns") or ())}
        for each in lineage
        if each.get("toColumn")
    }


def _without(there: dict[str, Json], sent: dict[str, Json], columns: frozenset[str]) -> dict[str, Json]:
    """Return the entries of others: not as we sent them, and with columns that exist."""
    return {
        target: each
        for target, each in there.items()
        if each != sent.get(target) and {target, *each["fromColumns"]} <= columns
    }


def _listed(entries: Mapping[str, Json]) -> list[Json]:
    return [entries[target] for target in sorted(entries)]
