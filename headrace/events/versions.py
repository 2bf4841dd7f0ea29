"""Write dataset versions that other systems report: `dataset_version`, and the pointers with their history.

The only writer of versions from outside, whichever source reports them: `scheduler_versions` and `openlineage.versions`
turn what a source knows into rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.records import Column
from headrace.database.jsonb import jsonb
from headrace.events.sql import statement
from headrace.publishing.publication import reserve

StoredRow = Mapping[str, Any]  # columns of `dataset_version`


class VersionRow(TypedDict):
    """A reported version.

    dataset: the key. columns: those to store with it; empty if the source stores schemas itself. process_id: the
    process to show as its producer; None if the source stores lineage itself. historical: loaded as history; not in the
    outbox. is_final: no event withdraws it, it takes precedence over others with its tag, and
    only an earlier final one changes it.
    """

    dataset_version_id: UUID
    dataset_id: UUID
    dataset: str
    partition_key: str
    version_tag: str
    path: str
    format: str
    schema_hash: str
    columns: Sequence[Column]
    row_count: int | None
    byte_size: int | None
    file_count: int
    checksum: str
    idempotency_key: str
    produced_by_run_id: UUID | None
    process_id: UUID | None
    produced_at: datetime
    historical: bool
    metadata_json: Mapping[str, Any]
    is_final: bool


def write_versions(
    cursor: Cursor[Any],
    organisation: UUID,
    rows: Sequence[VersionRow],
    *,
    gone: Collection[StoredRow] = (),
    former: Iterable[StoredRow] = (),
    weighed: Collection[UUID] = (),
    received_at: datetime | None = None,
    silent: bool = False,
) -> frozenset[UUID]:
    """Insert or update the versions, withdraw those that no longer hold, and move the pointers; returns the new ones.

    The pointer of a dataset that others may publish too moves to a new version, unless the published one was produced
    later. The history of any other is a function of its versions (`move_pointers.sql`).

    Args:
        cursor: of the transaction.
        organisation: the owner of the versions.
        rows: the versions; those with the same key count once.
        gone: stored versions that no longer hold; they stay if they were pinned or read.
        former: the stored versions of rows that changed.
        weighed: runs whose claims to the same version were compared, so that this row replaces theirs.
        received_at: when the reports arrived, which is when pointers move; None: now.
        silent: no outbox messages, since their readers know.
    """
    if not rows and not gone:
        return frozenset()
    reserved = sorted({(row["dataset"], row["partition_key"]) for row in rows if "#" not in row["dataset"]})
    if reserved:
        reserve(cursor, organisation, reserved)
    since: dict[tuple[UUID, str], datetime] = {}
    for row in (*rows, *gone, *former):
        place = row["dataset_id"], row["partition_key"]
        since[place] = min(since.get(place, row["produced_at"]), row["produced_at"])
    parameters = {
        "organisation": organisation,
        "versions": jsonb([{**row, "columns": None} for row in rows]),
        "schemas": jsonb({row["schema_hash"]: row["columns"] for row in rows if row["columns"]}),
        "places": jsonb(
            [{"dataset_id": of[0], "partition_key": of[1], "since": at} for of, at in since.items()]
        ),
        "final": jsonb(
            [
                {name: row[name] for name in ("dataset_id", "version_tag", "partition_key")}
                for row in rows
                if row["is_final"]
            ]
        ),
        "gone": [row["dataset_version_id"] for row in gone],
        "weighed": list(weighed),
        "received_at": received_at or datetime.now(UTC),
        "in_outbox": [row["dataset_version_id"] for row in rows if not (silent or row["historical"])],
    }
    emptied = statement("withdraw_versions").execute(cursor, parameters).fetchall()
    stored = statement("store_versions").execute(cursor, parameters).fetchall()
    doubted = {row["dataset_id"] for row in (*emptied, *(each for each in stored if each["is_earlier"]))}
    candidates = [row["dataset_version_id"] for row in stored]
    parameters |= {"doubted": list(doubted), "candidates": candidates}
    statement("move_pointers").execute(cursor, parameters)
    return frozenset(row["dataset_version_id"] for row in stored if row["is_new"])
