"""The state of the platform itself: database, sensors, what waits to be delivered, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Annotated

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, Sensitive
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.migrations import HEAD
from headrace.queries.sql import statement


@dataclass(frozen=True, slots=True)
class SensorState:
    """A sensor with its last tick. failure: the error of its last ticks, if they failed."""

    sensor: Public[str]
    ticked_at: datetime | None
    failed_at: datetime | None
    failure: Annotated[str | None, Sensitive.ERROR]
    is_silent: bool


@dataclass(frozen=True, slots=True)
class OutboxReader:
    """A reader of the outbox, and the number of entries that wait for it."""

    reader: Public[str]
    read_at: datetime
    waiting: int


@dataclass(frozen=True, slots=True)
class PlatformState:
    """The state of the platform for one organisation.

    revision, expected_revision: of the database's schema, and the one that this platform needs.
    pending_materializations: not reported to Dagster yet. oldest_run_at: of the runs that are not archived.
    """

    platform_version: Public[str]
    server_version: Public[str]
    byte_size: int
    revision: Public[str]
    expected_revision: Public[str]
    last_event_at: datetime | None
    events_of_a_day: int
    pending_materializations: int
    oldest_pending_at: datetime | None
    archived_at: datetime | None
    oldest_run_at: datetime | None
    sensors: tuple[SensorState, ...]
    outbox_readers: tuple[OutboxReader, ...]


def platform_state(engine: Engine) -> PlatformState:
    """Return the state of the platform."""
    parameters = {"organisation": current_context().organisation_id}
    with transaction(engine) as cursor:
        row = statement("platform/database").execute(cursor, parameters).fetchone()
        sensors = statement("platform/sensors").execute(cursor, parameters).fetchall()
        readers = statement("platform/outbox_readers").execute(cursor, parameters).fetchall()
    assert row is not None  # noqa: S101 - a query without FROM has one row
    return PlatformState(
        **row,
        platform_version=version("headrace"),
        expected_revision=HEAD,
        sensors=tuple(SensorState(**each) for each in sensors),
        outbox_readers=tuple(OutboxReader(**each) for each in readers),
    )
