"""The outbox as a stream of changes in commit order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.database.connection import transaction

Rows = Cursor[dict[str, Any]]
_BATCH_SIZE = 200  # rows with up to a thousand ids each


class Part(StrEnum):
    """Part of the graph. The value names its view, and the outbox topic of its changes."""

    DATASET = "graph_dataset"
    PROCESS = "graph_process"
    EDGE = "graph_edge"
    COLUMN_EDGE = "graph_column_edge"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in the outbox: everything before it has been read."""

    transaction_id: int
    outbox_id: int


@dataclass(frozen=True, slots=True)
class Change:
    """Objects of the graph that were created, changed or removed, by the ids in the topic."""

    part: Part
    ids: tuple[UUID, ...]


def position(cursor: Rows) -> Position:
    """Return where to continue after having read everything that this transaction sees.

    Running transactions come after it, possibly with some changes that were seen already.
    """
    row = cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest").fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM
    return Position(row["oldest"] - 1, 2**63 - 1)


def is_known(cursor: Rows, organisation: UUID, reader: str, since: Position) -> bool:
    """Return True if everything after this position can still be read.

    A server restored from a backup restarts its counter, and nothing is kept for a reader inactive for a year.
    """
    row = cursor.execute(
        """
        SELECT FROM catalog.outbox_reader
        WHERE organisation_id = %s AND reader = %s AND read_at > now() - interval '1 year'
          AND %s < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        """,
        [organisation, reader, since.transaction_id],
    ).fetchone()
    return row is not None


def stored_position(cursor: Rows, organisation: UUID, reader: str) -> Position | None:
    """Return the position that `note_read` stored; None if the reader has read nothing."""
    row = cursor.execute(
        "SELECT transaction_id, outbox_id FROM catalog.outbox_reader WHERE organisation_id = %s AND reader = %s",
        [organisation, reader],
    ).fetchone()
    return None if row is None else Position(row["transaction_id"], row["outbox_id"])


def changes_since(cursor: Rows, organisation: UUID, since: Position) -> tuple[Sequence[Change], Position]:
    """Return the next changes and the position after them; the same position if there are no more."""
    cursor.execute(
        """
        SELECT transaction_id, outbox_id, topic, payload_json -> 'ids' AS ids
        FROM catalog.outbox
        WHERE organisation_id = %s
          AND (transaction_id, outbox_id) > (%s, %s)
          AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
          AND topic = ANY (%s)
        ORDER BY transaction_id, outbox_id
        LIMIT %s
        """,
        [organisation, since.transaction_id, since.outbox_id, list(Part), _BATCH_SIZE],
    )
    rows = cursor.fetchall()
    changes = [Change(Part(row["topic"]), tuple(map(UUID, row["ids"]))) for row in rows]
    return changes, Position(rows[-1]["transaction_id"], rows[-1]["outbox_id"]) if rows else since


def note_read(engine: Engine, organisation: UUID, reader: str, reached: Position) -> None:
    """Store a reader's position, so that unread rows are kept for it."""
    with transaction(engine) as cursor:
        cursor.execute(
            """
            INSERT INTO catalog.outbox_reader (organisation_id, reader, transaction_id, outbox_id)
            VALUES (%s, %s, %s, %s)
            ON CONFLICT (organisation_id, reader) DO UPDATE
                SET transaction_id = excluded.transaction_id, outbox_id = excluded.outbox_id, read_at = now()
            """,
            [organisation, reader, reached.transaction_id, reached.outbox_id],
        )
