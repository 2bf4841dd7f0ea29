"""Receivers on this machine, and an engine that records events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from benchmarks.receivers import Receiver, http_receiver, mail_receiver
from headrace.alerts.outbox import decide_next
from headrace.alerts.rules import AlertRules
from headrace.alerts.sending import SendingResult, send_due
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.slas.events import AlertEvent, record
from tests.platform.alerts.making import at

LONG = timedelta(seconds=60)


@pytest.fixture
def http() -> Iterator[Receiver]:
    with http_receiver() as receiver:
        yield receiver


@pytest.fixture
def mail() -> Iterator[Receiver]:
    with mail_receiver() as receiver:
        yield receiver


@pytest.fixture
def opened(engine: Engine) -> Callable[[], UUID]:
    """Opens an incident, as the engine that judges SLAs does; its id."""

    def open_one() -> UUID:
        found = uuid4()
        with transaction(engine) as cursor:
            cursor.execute(
                "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                [current_context().organisation_id, current_context().organisation],
            )
            cursor.execute(
                "INSERT INTO catalog.incident (incident_id, organisation_id, cause_type, cause_key, reason, severity, "
                "opened_at) VALUES (%s, %s, 'DATASET', %s, 'it is late', 'ERROR', now())",
                [found, current_context().organisation_id, str(found)],
            )
        return found

    return open_one


@pytest.fixture
def happen(engine: Engine) -> Callable[..., None]:
    """Store alert events in one transaction."""

    def store(*alert_events: AlertEvent) -> None:
        with transaction(engine) as cursor:
            record(cursor, alert_events, alert_events[0].at)

    return store


@pytest.fixture
def tick(engine: Engine) -> Callable[[AlertRules, float], SendingResult]:
    """Process all events and send due notifications, so many minutes after START."""

    def tick(rules: AlertRules, minutes: float) -> SendingResult:
        while decide_next(engine, rules, at(minutes)).alert_events:
            pass
        return send_due(engine, rules, lambda: at(minutes), LONG)

    return tick
