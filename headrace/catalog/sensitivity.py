"""Sensitive columns: tagged ones and those derived from them, unless an owner has cleared them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, Public
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Column, Version
from headrace.catalog.schema import is_sensitive_tag
from headrace.catalog.sql import statement
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import DecisionRefused

INHERITED = "sensitive"  # the tag of a column that inherits sensitivity

_CLEAR = """
INSERT INTO catalog.cleared_column (organisation_id, dataset_id, column_name, cleared_by, reason, sources)
SELECT %(organisation)s, %(dataset_id)s, %(column)s, %(by)s, %(reason)s, ARRAY(
    SELECT DISTINCT unnest(sources)
    FROM catalog.sensitive_columns(
        %(organisation)s,
        ARRAY(SELECT %(dataset_id)s::uuid FROM catalog.published_provenances(%(dataset_id)s)),
        ARRAY(SELECT provenance_id FROM catalog.published_provenances(%(dataset_id)s)), true)
    WHERE column_name = %(column)s)
ON CONFLICT DO NOTHING
"""
_CLEARED = """
SELECT column_name, sources FROM catalog.cleared_column JOIN catalog.dataset USING (dataset_id)
WHERE dataset.organisation_id = %s AND full_name = %s AND withdrawn_at IS NULL
"""
_WITHDRAW = """
UPDATE catalog.cleared_column SET withdrawn_by = %s, withdrawn_at = now()
WHERE dataset_id = %s AND column_name = %s AND withdrawn_at IS NULL
"""
_DECLARED = "SELECT WHERE catalog.is_declared_sensitive(%s, %s)"


class SensitivityStatus(StrEnum):
    """Why a column is sensitive, or that it was cleared."""

    TAGGED = "TAGGED"  # by its declaration, or by a version's schema
    ACCEPTED = "ACCEPTED"  # a steward accepted the suggestion; the declaration does not have the tag
    INHERITED = "INHERITED"  # values of a tagged column flow into it
    POSSIBLE = "POSSIBLE"  # its sources are unknown, and a tagged column may be among them
    CLEARED = "CLEARED"  # an owner has confirmed that it is safe to display
    LAPSED = "LAPSED"  # sensitive again: cleared, but it has another sensitive source than the owner judged


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """A column and its sensitivity.

    from_dataset, from_column: the tagged column that it inherits from, after a lapse the new one; None if the caller
    may not see that. by, reason, at: of a clearing, or of an acceptance.
    """

    dataset: DatasetKey
    column: Public[str]
    status: SensitivityStatus
    from_dataset: Public[str | None]
    from_column: Public[str | None]
    by: Public[str | None]
    reason: Public[str | None]
    at: datetime | None


def sensitivity(engine: Engine, datasets: Collection[str]) -> list[SensitiveColumn]:
    """Return the sensitive and cleared columns of these datasets' published and pinned versions; none for unknown
    datasets."""
    if not datasets:
        return []
    with transaction(engine) as cursor:
        rows = statement("sensitivity").execute(
            cursor, {"organisation": current_context().organisation_id, "datasets": sorted(set(datasets))}
        )
        return [SensitiveColumn(**{**row, "status": SensitivityStatus(row["status"])}) for row in rows]


def hidden_columns(engine: Engine, datasets: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the columns hidden by default, by dataset: those of any published partition or pinned version.

    Unknown datasets are omitted.
    """
    if not datasets:
        return {}
    with transaction(engine) as cursor:
        rows = statement("sensitive_columns").execute(
            cursor, {"organisation": current_context().organisation_id, "datasets": sorted(set(datasets))}
        )
        return {row["full_name"]: frozenset(row["columns"]) for row in rows}


def hidden_columns_of(engine: Engine, versions: Collection[UUID]) -> dict[UUID, frozenset[str]]:
    """Return the columns hidden by default of each version, by its own lineage and that of its inputs."""
    return {
        version: frozenset(columns)
        for each, columns in _of_versions(engine, versions, origins=False)
        for version in each
    }


def marked(engine: Engine, versions: Sequence[Version]) -> list[Version]:
    """Return the versions with a column tagged `sensitive` if and only if its values are hidden by default."""
    hidden = hidden_columns_of(engine, {version.version_id for version in versions})
    known: dict[tuple[frozenset[str], tuple[Column, ...]], tuple[Column, ...]] = {}
    for version in versions:
        key = (hidden[version.version_id], version.columns)
        if key not in known:
            known[key] = tuple(_marked(each, key[0]) for each in version.columns)
    return [
        replace(version, columns=known[hidden[version.version_id], version.columns]) for version in versions
    ]


def sensitive_sources(engine: Engine, versions: Sequence[Version]) -> dict[str, dict[str, frozenset[str]]]:
    """Return, by dataset and sensitive column, the tagged columns that the values of these versions come from."""
    datasets = {version.version_id: version.dataset for version in versions}
    found: dict[str, dict[str, frozenset[str]]] = {}
    for each, columns in _of_versions(engine, datasets.keys(), origins=True):
        of_dataset = found.setdefault(datasets[each[0]], {})
        for name, sources in columns.items():
            of_dataset[name] = of_dataset.get(name, frozenset()) | frozenset(sources)
    return found


def cleared(engine: Engine, dataset: str) -> dict[str, frozenset[str]]:
    """Return the columns of a dataset that an owner has cleared, with the sources (`sensitive_sources`) judged."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_CLEARED, [current_context().organisation_id, dataset])
        return {row["column_name"]: frozenset(row["sources"]) for row in rows}


def clear(cursor: Cursor[Any], dataset: str, column: str, *, by: str, reason: str) -> None:
    """Clear a column of the sensitive sources that it has now, in the current transaction; user, time and reason are
    recorded.

    Raises UnknownDataset; DecisionRefused for a column that inherits nothing, is already cleared, was accepted as
    sensitive, or is tagged in its own declaration.
    """
    dataset_id = dataset_ids(cursor, {dataset})[dataset]
    status = _statuses(cursor, dataset, column)
    if SensitivityStatus.CLEARED in status:
        raise DecisionRefused(f"{dataset}.{column} is already cleared")
    if not status:
        raise DecisionRefused(f"{dataset}.{column} is not sensitive: there is nothing to clear")
    if SensitivityStatus.ACCEPTED in status:
        raise DecisionRefused(f"{dataset}.{column} was accepted as sensitive: dismiss the suggestion")
    if cursor.execute(_DECLARED, [dataset_id, column]).fetchone() is not None:
        raise DecisionRefused(f"{dataset}.{column} is tagged in its declaration: remove the tag there")
    if SensitivityStatus.LAPSED in status:
        cursor.execute(_WITHDRAW, [by, dataset_id, column])
    cursor.execute(
        _CLEAR,
        {
            "organisation": current_context().organisation_id,
            "dataset_id": dataset_id,
            "column": column,
            "by": by,
            "reason": reason,
        },
    )


def withdraw(cursor: Cursor[Any], dataset: str, column: str, *, by: str) -> None:
    """Withdraw a clearing, in a running transaction. Raises UnknownDataset; DecisionRefused without one."""
    dataset_id = dataset_ids(cursor, {dataset})[dataset]
    if cursor.execute(_WITHDRAW, [by, dataset_id, column]).rowcount == 0:
        raise DecisionRefused(f"{dataset}.{column} is not cleared")


def _of_versions(
    engine: Engine, versions: Collection[UUID], *, origins: bool
) -> list[tuple[list[UUID], dict[str, list[str]]]]:
    """Return versions of the same provenance, and their sensitive columns with their sources."""
    if not versions:
        return []
    with transaction(engine) as cursor:
        rows = statement("sensitive_columns_of_versions").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "versions": list(versions),
                "origins": origins,
            },
        )
        return [(row["versions"], row["columns"]) for row in rows]


def _marked(column: Column, hidden: frozenset[str]) -> Column:
    other = tuple(tag for tag in column.tags if not is_sensitive_tag(tag))
    if column.name not in hidden:
        return replace(column, tags=other)
    return column if other != column.tags else replace(column, tags=(*other, INHERITED))


def _statuses(cursor: Cursor[Any], dataset: str, column: str) -> set[SensitivityStatus]:
    rows = statement("sensitivity").execute(
        cursor, {"organisation": current_context().organisation_id, "datasets": [dataset]}
    )
    return {SensitivityStatus(row["status"]) for row in rows if row["column"] == column}
