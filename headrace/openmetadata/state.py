"""The rows of the catalog about what was sent: read for a synchronisation, and stored as it goes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.catalog.outbox import Position
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded, jsonb
from headrace.openmetadata.sql import statement

BATCH_SIZE = 200  # rows stored at once; what was sent after them is compared again after a crash


class Kind(StrEnum):
    """Kinds of what is sent. The value is OpenMetadata's name of the type, where it has one."""

    DATABASE_SERVICE = "databaseService"
    PIPELINE_SERVICE = "pipelineService"
    DATABASE = "database"
    SCHEMA = "databaseSchema"
    CLASSIFICATION = "classification"
    TAG = "tag"
    DOMAIN = "domain"
    DATA_PRODUCT = "dataProduct"
    TABLE = "table"
    PIPELINE = "pipeline"
    TEST_DEFINITION = "testDefinition"
    TEST_CASE = "testCase"
    EDGE = "edge"
    PROFILE = "profile"  # up to which version the profiles and results of a dataset were sent
    STATUS = "status"  # up to which run the statuses of a pipeline were sent


PATHS = {
    Kind.DATABASE_SERVICE: "services/databaseServices",
    Kind.PIPELINE_SERVICE: "services/pipelineServices",
    Kind.DATABASE: "databases",
    Kind.SCHEMA: "databaseSchemas",
    Kind.CLASSIFICATION: "classifications",
    Kind.TAG: "tags",
    Kind.DOMAIN: "domains",
    Kind.DATA_PRODUCT: "dataProducts",
    Kind.TABLE: "tables",
    Kind.PIPELINE: "pipelines",
    Kind.TEST_DEFINITION: "dataQuality/testDefinitions",
    Kind.TEST_CASE: "dataQuality/testCases",
}


# Kinds of which a refused one is tried again the next time: its row has the digest ''.
PENDING = frozenset({Kind.TABLE, Kind.PIPELINE, Kind.TEST_CASE, Kind.EDGE})


@dataclass(frozen=True, slots=True)
class Sent:
    """An entity or edge as last sent; the columns of `catalog.openmetadata_sent`."""

    kind: str
    key: str
    fqn: str
    entity_id: str | None
    sent: dict[str, Any]
    digest: str
    parent: str = ""
    is_own: bool = True
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the catalog and the server's events have been read."""

    position: Position
    read_at: datetime
    events_at: int


@dataclass
class State:
    """The rows of one server. With `is_dry`, nothing is stored."""

    engine: Engine
    organisation: UUID
    server: str
    is_dry: bool = False
    rows: dict[tuple[str, str], Sent] = field(default_factory=dict)
    _waiting: list[Sent] = field(default_factory=list)

    def reached(self) -> Reached | None:
        """Return how far the last complete synchronisation came; None before the first."""
        with transaction(self.engine) as cursor:
            row = cursor.execute(
                "SELECT transaction_id, outbox_id, read_at, events_at FROM catalog.openmetadata_position "
                "WHERE organisation_id = %s AND server = %s",
                [self.organisation, self.server],
            ).fetchone()
        if row is None:
            return None
        return Reached(Position(row["transaction_id"], row["outbox_id"]), row["read_at"], row["events_at"])

    def reach(self, reached: Reached) -> None:
        """Store that everything up to here was sent."""
        self.flush()
        if self.is_dry:
            return
        with transaction(self.engine) as cursor:
            statement("store_position").execute(
                cursor,
                {
                    "organisation": self.organisation,
                    "server": self.server,
                    "transaction_id": reached.position.transaction_id,
                    "outbox_id": reached.position.outbox_id,
                    "read_at": reached.read_at,
                    "events_at": reached.events_at,
                },
            )

    def pending(self) -> tuple[set[UUID], set[UUID]]:
        """Return the datasets and processes of what was refused the last time."""
        with transaction(self.engine) as cursor:
            cursor.execute(
                "SELECT kind, key, parent FROM catalog.openmetadata_sent "
                "WHERE organisation_id = %s AND server = %s AND digest = '' AND kind = ANY (%s)",
                [self.organisation, self.server, list(PENDING)],
            )
            rows = cursor.fetchall()
        processes = {UUID(row["key"]) for row in rows if row["kind"] == Kind.PIPELINE}
        return {UUID(row["parent"] or row["key"]) for row in rows if row["kind"] != Kind.PIPELINE}, processes

    def keys_of(self, kind: Kind, fqns: Iterable[str]) -> list[str]:
        """Return the keys of what was sent under these FQNs."""
        with transaction(self.engine) as cursor:
            cursor.execute(
                "SELECT key FROM catalog.openmetadata_sent "
                "WHERE organisation_id = %s AND server = %s AND kind = %s AND fqn = ANY (%s)",
                [self.organisation, self.server, kind, list(fqns)],
            )
            return [row["key"] for row in cursor]

    def load(self, kinds: Iterable[Kind], parents: Iterable[str] | None = None) -> None:
        """Read the rows of these kinds into memory: all, or those with these parents."""
        of_these = None if parents is None else sorted(parents)
        with transaction(self.engine) as cursor:
            cursor.execute(
                "SELECT kind, key, parent, fqn, entity_id::text, sent, digest, is_own, is_deleted "
                "FROM catalog.openmetadata_sent "
                "WHERE organisation_id = %s AND server = %s AND kind = ANY (%s) "
                "AND (%s::text[] IS NULL OR parent = ANY (%s))",
                [self.organisation, self.server, list(kinds), of_these, of_these],
            )
            for row in cursor:
                self.rows[row["kind"], row["key"]] = Sent(**row)

    def get(self, kind: Kind, key: str) -> Sent | None:
        """Return the row, if it was sent and loaded."""
        return self.rows.get((kind, key))

    def of(self, kind: Kind) -> list[Sent]:
        """Return the loaded rows of a kind."""
        return [each for (of, _), each in self.rows.items() if of == kind]

    def store(self, sent: Sent) -> None:
        """Note what was sent; it is stored with the next batch."""
        self.rows[sent.kind, sent.key] = sent
        self._waiting.append(sent)
        if len(self._waiting) >= BATCH_SIZE:
            self.flush()

    def move(self, former: str, key: str) -> None:
        """Let a dataset continue another with its table, edges and checks there, under its own key."""
        for (kind, old), sent in list(self.rows.items()):
            if former in old or former == sent.parent:
                moved = replace(sent, key=old.replace(former, key), parent=sent.parent.replace(former, key))
                self.forget(Kind(kind), old)
                self.store(moved)

    def flush(self) -> None:
        """Store what was noted."""
        latest = {(each.kind, each.key): asdict(each) for each in self._waiting}
        self._waiting.clear()
        if not latest or self.is_dry:
            return
        with transaction(self.engine) as cursor:
            statement("store_sent").execute(
                cursor,
                {
                    "organisation": self.organisation,
                    "server": self.server,
                    "rows": jsonb(list(latest.values())),
                },
            )

    def forget(self, kind: Kind, key: str) -> None:
        """Remove the row of what was deleted there."""
        self.rows.pop((kind, key), None)
        self._waiting = [each for each in self._waiting if (each.kind, each.key) != (kind, key)]
        if self.is_dry:
            return
        with transaction(self.engine) as cursor:
            cursor.execute(
                "DELETE FROM catalog.openmetadata_sent "
                "WHERE organisation_id = %s AND server = %s AND kind = %s AND key = %s",
                [self.organisation, self.server, kind, key],
            )


def digest(body: object) -> str:
    """Return the digest by which an unchanged body is known."""
    return hashlib.sha256(encoded(body)).hexdigest()


def milliseconds(at: datetime) -> int:
    """Return a time as OpenMetadata counts it."""
    return int(at.astimezone(UTC).timestamp() * 1000)
