"""Detect silent sensors from their heartbeats (`headrace.alerts.heartbeat`)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from psycopg import Cursor

from headrace.context import current_context
from headrace.severity import Severity
from headrace.slas.causes import Issue
from headrace.slas.events import AlertEvent, Kind, Subject, SubjectType
from headrace.slas.incidents import Incidents


def detect_silent_sensors(cursor: Cursor[Any], incidents: Incidents, now: datetime) -> list[AlertEvent]:
    """Return events for sensors that stopped ticking, and those that tick again; each silence is an incident.

    If the SLA sensor itself was down, silence counts from when it resumed.
    """
    cursor.execute(
        "SELECT sensor, ticked_at, silent_after, incident_id FROM catalog.heartbeat "
        "JOIN catalog.sla_tick USING (organisation_id) WHERE organisation_id = %s AND ticked_at IS NOT NULL "
        "AND CASE WHEN incident_id IS NULL "
        "THEN greatest(ticked_at, steady_since) + silent_after * interval '1 second' < %s "
        "ELSE ticked_at + silent_after * interval '1 second' >= %s END ORDER BY sensor",
        [current_context().organisation_id, now, now],
    )
    events: list[AlertEvent] = []
    for row in cursor.fetchall():
        subject = Subject(SubjectType.SENSOR, row["sensor"])
        last = row["ticked_at"].isoformat()
        if row["incident_id"] is None:
            since = row["ticked_at"] + timedelta(seconds=row["silent_after"])
            reason = f"no tick since {row['ticked_at']:%Y-%m-%d %H:%M:%S} UTC"
            incident = incidents.at(Issue(subject, since, reason, Severity.ERROR))
            facts = {"reason": reason, "last_tick": last}
            events.append(AlertEvent(Kind.SENSOR_SILENT, Severity.ERROR, subject, since, incident, facts))
        else:
            incident = row["incident_id"]
            events.append(
                AlertEvent(
                    Kind.SENSOR_BACK, Severity.INFO, subject, row["ticked_at"], incident, {"last_tick": last}
                )
            )
    return events


def note(cursor: Cursor[Any], events: list[AlertEvent]) -> None:
    """Record which sensors are silent, after their incidents are stored."""
    for each in events:
        cursor.execute(
            "UPDATE catalog.heartbeat SET incident_id = %s WHERE organisation_id = %s AND sensor = %s",
            [
                each.incident_id if each.kind is Kind.SENSOR_SILENT else None,
                current_context().organisation_id,
                each.subject.key,
            ],
        )
