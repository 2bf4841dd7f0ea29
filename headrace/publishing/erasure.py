"""The versions that hold certain rows, and the record that these were erased.

`execution.erasure` finds and rewrites them; their former rows are deleted as those of expired versions are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.audit import sign
from headrace.catalog import versions
from headrace.catalog.column_lineage import LineageOfOutput, from_json
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Version
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import CatalogError
from headrace.publishing.expiry import begin_expiry
from headrace.publishing.sql import statement

_RECORD = """
INSERT INTO catalog.erasure (
    erasure_id, organisation_id, dataset_id, condition, reason, erased_by, versions, row_count
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
_EXPIRE = """
INSERT INTO catalog.expired_version (dataset_version_id, organisation_id, expired_at, erasure_id)
SELECT unnest(%s::uuid[]), %s, now(), %s
"""


_UNFINISHED = """
SELECT dataset_version_id FROM catalog.expired_version
WHERE organisation_id = %s AND erasure_id IS NOT NULL AND rows_deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class SubjectColumn:
    """A column with identifiers of people of one kind. is_external: another system writes the dataset."""

    dataset: str
    column: str
    is_external: bool


class ErasureRefused(CatalogError):
    """Rows that cannot be erased now; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version, and what erasing its rows needs to know.

    generation: of the pointer that publishes it, None if it is not published. statistics: of its columns.
    quarantine_location: of rows set aside. lineage: None if it was not collected. inputs: the versions that it was made
    from.
    is_erased: its rows were erased before. is_expired: they were deleted by their age, and may have been among those to
    erase. obstacle: why they cannot be erased now.
    """

    version: Version
    generation: int | None
    statistics: Mapping[str, Mapping[str, Any]]
    quarantine_location: str | None
    base_uri: str | None
    lineage: LineageOfOutput | None
    inputs: frozenset[UUID]
    is_external: bool
    is_erased: bool
    is_expired: bool
    obstacle: str | None


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure, for the audit trail. condition: without the values of the rows. row_count: over all versions."""

    erasure_id: UUID
    dataset: str
    condition: str
    reason: str
    by: str
    row_count: int


def versions_of(engine: Engine, dataset: str) -> list[StoredVersion]:
    """Return the versions of a dataset, also those whose rows were erased or have expired, the oldest first.

    Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        dataset_ids(cursor, {dataset})
        return _stored(cursor, dataset=dataset)


def versions_made_from(engine: Engine, inputs: Collection[UUID]) -> list[StoredVersion]:
    """Return the same of all versions that were made from these, directly."""
    with transaction(engine) as cursor:
        return _stored(cursor, made_from=inputs)


def stored_versions(engine: Engine, ids: Collection[UUID]) -> list[StoredVersion]:
    """Return the same of versions by id."""
    with transaction(engine) as cursor:
        return _stored(cursor, ids=ids)


def unfinished_erasures(engine: Engine) -> list[Version]:
    """Return the versions with erased rows that their store still holds: the command was killed, or could not delete
    them."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_UNFINISHED, [current_context().organisation_id]).fetchall()
        return list(versions.by_ids(cursor, [row["dataset_version_id"] for row in rows]).values())


def record_erasure(engine: Engine, erasure: Erasure, erased: Sequence[Version]) -> None:
    """Let the versions expire, remove their values from the catalog, and record the erasure, in one transaction.

    Raises ErasureRefused for a version that is published, pinned, held or read by a run that has not ended.
    """
    ids = [version.version_id for version in erased]
    organisation = current_context().organisation_id
    with transaction(engine) as cursor:
        sign(cursor, erasure.by)
        begin_expiry(cursor, sorted({version.dataset for version in erased}))
        for each in _stored(cursor, ids=ids):
            require_erasable(each)
            if each.generation is not None:
                raise ErasureRefused(
                    f"version {each.version.tag} of {each.version.dataset} was published meanwhile; run the command "
                    "again"
                )
        dataset_id = dataset_ids(cursor, {erasure.dataset})[erasure.dataset]
        cursor.execute(
            _RECORD,
            [
                erasure.erasure_id,
                organisation,
                dataset_id,
                erasure.condition,
                erasure.reason,
                erasure.by,
                len(erased),
                erasure.row_count,
            ],
        )
        cursor.execute(_EXPIRE, [ids, organisation, erasure.erasure_id])
        statement("erase_values").execute(cursor, {"versions": ids, "organisation": organisation})


def forget_values(engine: Engine, expired: Sequence[Version]) -> None:
    """Remove what the catalog knows of the values of expired versions, which may have had rows that are erased."""
    ids = [version.version_id for version in expired]
    with transaction(engine) as cursor:
        statement("erase_values").execute(
            cursor, {"versions": ids, "organisation": current_context().organisation_id}
        )


def require_erasable(stored: StoredVersion) -> None:
    """Raise ErasureRefused for a version that is pinned, held or read, or whose rows another system owns."""
    version = stored.version
    if stored.is_external:
        raise ErasureRefused(
            f"another system writes {version.dataset}: erase the rows there, and run `headrace observe "
            f"{version.dataset}`; then erase them in the datasets that were made from it"
        )
    if stored.obstacle is not None:
        raise ErasureRefused(
            f"version {version.tag} of {version.dataset} is {stored.obstacle}; nothing was erased. Unpin it, remove "
            "the hold, or wait for the run, and run the command again"
        )


def _stored(
    cursor: Cursor[dict[str, Any]],
    *,
    dataset: str | None = None,
    made_from: Collection[UUID] = (),
    ids: Collection[UUID] = (),
) -> list[StoredVersion]:
    rows = (
        statement("erasable_versions")
        .execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "dataset": dataset,
                "made_from": list(made_from),
                "versions": list(ids),
            },
        )
        .fetchall()
    )
    found = versions.by_ids(cursor, [row["dataset_version_id"] for row in rows])
    return [
        StoredVersion(
            version=found[row["dataset_version_id"]],
            generation=row["generation"],
            statistics=row["statistics"],
            quarantine_location=row["quarantine_path"],
            base_uri=row["base_uri"],
            lineage=None if row["lineage"] is None else from_json(row["lineage"]),
            inputs=frozenset(row["inputs"]),
            is_external=row["is_external"],
            is_erased=row["is_erased"],
            is_expired=row["is_expired"],
            obstacle=row["obstacle"],
        )
        for row in rows
    ]


def subject_columns(engine: Engine, kind: str) -> list[SubjectColumn]:
    """Return the columns with the tag `subject=KIND`, by declaration or in the schema of a version, by dataset."""
    with transaction(engine) as cursor:
        rows = statement("subject_columns").execute(
            cursor, {"organisation": current_context().organisation_id, "tag": f"subject={kind.lower()}"}
        )
        return [SubjectColumn(row["dataset"], row["column"], row["is_external"]) for row in rows]
