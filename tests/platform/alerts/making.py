"""Alert events, rules and receivers shared by the tests of alerts."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from headrace.alerts.rules import AlertRules, Destination, Hours, Limit, Quiet, Route, Step
from headrace.severity import Severity
from headrace.slas.events import AlertEvent, Kind, Subject, SubjectType

START = datetime(2026, 11, 2, 9, tzinfo=UTC)  # a Monday
OFTEN = Limit(1000, timedelta(hours=1))
SEVERITY = {Kind.AT_RISK: Severity.WARNING, Kind.LATE: Severity.ERROR, Kind.RUN_FAILED: Severity.ERROR}


def at(minutes: float) -> datetime:
    """So many minutes after START."""
    return START + timedelta(minutes=minutes)


def alert_event(
    kind: Kind,
    incident: UUID | None,
    minutes: float = 0,
    key: str = "mart/delays",
    owners: tuple[str, ...] = ("team:data",),
    **facts: Any,
) -> AlertEvent:
    subject = Subject(SubjectType.DATASET, key, None, owners)
    return AlertEvent(kind, SEVERITY.get(kind, Severity.INFO), subject, at(minutes), incident, facts)


def rules(*quiet: Quiet, limit: Limit = OFTEN, url: str = "json://localhost/{}") -> AlertRules:
    """The owner at once, the lead after 30 minutes, on-call after 60."""
    names = ("data", "lead", "on_call")
    return AlertRules(
        destinations={name: Destination(name, url.replace("{}", name), limit) for name in names},
        owners={"team:data": ("data",)},
        routes=(
            Route(
                "late",
                (
                    Step(("owners",)),
                    Step(("lead",), timedelta(minutes=30)),
                    Step(("on_call",), timedelta(minutes=60)),
                ),
                least=Severity.ERROR,
            ),
            Route("rest", (Step(("owners",)),)),
        ),
        quiet=quiet,
    )


def night(least: Severity = Severity.ERROR) -> Quiet:
    return Quiet(Hours(time(22), time(7), ZoneInfo("Europe/London")), least)


def incident() -> UUID:
    return uuid4()
