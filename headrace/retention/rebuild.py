"""Making again, from the events as received, all that OpenLineage events come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.database.ids import organisation_id as configured_organisation
from headrace.database.principal import act_as
from headrace.events.openlineage.ingestion import AT_ONCE, lock, owner_of, project
from headrace.events.openlineage.model import AnyEvent
from headrace.events.openlineage.parsing import parse
from headrace.events.openlineage.renames import decide_again
from headrace.retention.sql import statement

_KEPT = """
SELECT event_time, content_hash, payload_json, received_at, historical FROM catalog.run_event
WHERE organisation_id = %s AND intake = 'OPENLINEAGE' AND (event_time, content_hash) > (%s, %s)
ORDER BY event_time, content_hash LIMIT %s
"""
_STEPS = ("rebuild_clear_said", "rebuild_clear_versions", "rebuild_clear_names")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many events it was made from: those in the tables, and those in the archive."""

    events: int
    archived: int


def rebuild(engine: Engine, organisation_id: UUID | None = None) -> Rebuilt:
    """Take away all that OpenLineage events came to, and make it again from them, in one transaction.

    Readers see what there was until what there is now is whole, and a rebuild that is stopped has changed nothing;
    meanwhile events wait. Events of the archive count as well, runs that are archived stay so, and what people decided
    about names is decided again. What declarations, publishes and other systems' reports say is no part of it, and
    stays. A version that somebody pinned or read stays too.

    Raises ArchiveUnavailable, CatalogUnavailable; InvalidEvent for an event that `ingest` would not have kept.
    """
    organisation = organisation_id or configured_organisation()
    with act_as(None), transaction(engine) as cursor:
        owner = owner_of(cursor, organisation)
        lock(cursor, organisation)
        cursor.execute(
            "SELECT run_id FROM catalog.openlineage_run WHERE organisation_id = %s", [organisation]
        )
        hot = [row["run_id"] for row in cursor]
        for step in _STEPS:
            statement(step).execute(cursor, {"organisation": organisation})
        decide_again(cursor, owner)
        counts = []
        for events in (_archived(engine), _kept(cursor, organisation)):
            count = 0
            for some in _batches(events):
                project(cursor, owner, some)
                count += len(some)
            counts.append(count)
        statement("rebuild_leave_archived").execute(cursor, {"organisation": organisation, "hot": hot})
        statement("rebuild_sweep").execute(cursor, {"organisation": organisation})
    return Rebuilt(events=counts[1], archived=counts[0])


def _kept(cursor: Cursor[Any], organisation: UUID) -> Iterator[AnyEvent]:
    after: tuple[datetime | str, str] = ("-infinity", "")
    while True:
        rows = cursor.connection.execute(_KEPT, [organisation, *after, AT_ONCE]).fetchall()
        for time, digest, payload, received_at, historical in rows:
            yield replace(parse(payload, received_at=received_at), digest=digest, historical=historical)
            after = (time, digest)
        if len(rows) < AT_ONCE:
            return


def _archived(engine: Engine) -> Iterator[AnyEvent]:
    from headrace.retention.history import archived_events  # with pyarrow, which only a rebuild needs here

    for event in archived_events(engine):
        if event.intake == "OPENLINEAGE":
            known = parse(dict(event.payload), received_at=event.received_at)
            yield replace(known, historical=event.historical)


def _batches(events: Iterable[AnyEvent]) -> Iterator[list[AnyEvent]]:
    left = iter(events)
    while some := list(islice(left, AT_ONCE)):
        yield some
