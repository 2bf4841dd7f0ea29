"""Upcoming deadlines as an iCalendar feed (RFC 5545)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from icalendar import Calendar, Event
from pydantic import ValidationError
from sqlalchemy import Engine

from headrace.access.redaction import redacted
from headrace.database.connection import transaction
from headrace.slas import calendars
from headrace.slas.calendars import Calendars, UnknownCalendar
from headrace.slas.deadlines import NoDeadline, following, partition_of
from headrace.slas.objectives import Clock, ObjectiveKind, terms
from headrace.slas.queries import SlaObjectiveStatus, sla_statuses

_MAX_EVENTS = 2000  # maximum events in a feed
_LENGTH = timedelta(minutes=15)  # duration of an event; calendars do not show events without one


def deadline_feed(
    engine: Engine, now: datetime, ahead: timedelta, *, domain: str | None = None, owner: str | None = None
) -> bytes:
    """Return the deadlines of deliveries in the coming period as an .ics file, 2,000 at most."""
    with transaction(engine) as cursor:
        known = calendars.load(cursor)
    kinds = (ObjectiveKind.DELIVERY,)
    objectives = sla_statuses(engine, kinds=kinds, domain=domain, owner=owner, limit=_MAX_EVENTS)
    feed = Calendar()
    feed.add("prodid", "-//Headrace//SLA deadlines//EN")
    feed.add("version", "2.0")
    feed.add("x-wr-calname", "Headrace deadlines")
    events = sorted(
        (
            (moment, objective, partition)
            for objective in objectives
            for moment, partition in _moments(objective, known, now, ahead)
        ),
        key=lambda event: (event[0], event[1].key, event[1].ordinal),
    )
    for moment, objective, partition in events[:_MAX_EVENTS]:
        feed.add_component(_event(moment, objective, partition, now))
    return bytes(feed.to_ical())


def _moments(
    objective: SlaObjectiveStatus, known: Calendars, now: datetime, ahead: timedelta
) -> Iterator[tuple[datetime, str]]:
    try:
        clock = terms(objective.kind, objective.definition)
        assert isinstance(clock, Clock)  # noqa: S101 - a delivery has no other terms
        moment = now
        for _ in range(_MAX_EVENTS):
            moment = following(clock, known, moment)
            if moment > now + ahead:
                return
            yield moment, partition_of(clock, known, moment)
    except (NoDeadline, UnknownCalendar, ValidationError):
        return  # the reason is in its status


def _event(moment: datetime, objective: SlaObjectiveStatus, partition: str, now: datetime) -> Event:
    event = Event()
    event.add("uid", f"{objective.key}/{objective.ordinal}/{moment:%Y%m%dT%H%M%SZ}@headrace")
    event.add("dtstamp", now)
    event.add("dtstart", moment)
    event.add("dtend", moment + _LENGTH)
    event.add("summary", f"{objective.key}{f' {partition}' if partition else ''} due")
    lines = [f"Owners: {', '.join(objective.owners)}" if objective.owners else "No owner."]
    if objective.deadline == moment:
        lines.append(f"{objective.state.value.replace('_', ' ').capitalize()}: {objective.reason}.")
        if objective.expected_at is not None:
            lines.append(f"Expected at {objective.expected_at:%H:%M} UTC.")
    event.add("description", redacted("\n".join(lines)))
    return event
