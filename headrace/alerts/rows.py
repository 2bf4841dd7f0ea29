"""Convert database rows to alerts, notifications and alert events, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from headrace.alerts.records import (
    Acknowledgement,
    Alert,
    AlertState,
    Breach,
    Notification,
    NotificationState,
    Purpose,
)
from headrace.alerts.rules import Recipient
from headrace.database.jsonb import jsonb
from headrace.severity import Severity
from headrace.slas.events import AlertEvent, Kind, Subject, SubjectType

Row = Mapping[str, Any]
_BREACHES = TypeAdapter(tuple[Breach, ...])
_ACKNOWLEDGEMENTS = TypeAdapter(tuple[Acknowledgement, ...])


def alert_event_of(row: Row) -> AlertEvent:
    """Return the alert event in a row."""
    return AlertEvent(
        Kind(row["kind"]),
        Severity(row["severity"]),
        _subject(row),
        row["at"],
        row["incident_id"],
        row["facts"],
    )


def alert_of(row: Row) -> Alert:
    """Return the alert in a row."""
    return Alert(
        alert_id=row["alert_id"],
        incident_id=row["incident_id"],
        subject=_subject(row),
        kind=Kind(row["kind"]),
        severity=Severity(row["severity"]),
        state=AlertState(row["state"]),
        at=row["at"],
        opened_at=row["opened_at"],
        facts=row["facts"],
        affected={key: tuple(owners) for key, owners in row["affected"].items()},
        breaches=_BREACHES.validate_python(row["breaches"]),
        route=row["route"],
        round=row["round"],
        event_count=row["event_count"],
        next_at=row["next_at"],
        closed_at=row["closed_at"],
        acknowledged_at=row["acknowledged_at"],
        acknowledged_by=row["acknowledged_by"],
        acknowledged_until=row["acknowledged_until"],
        comment=row["comment"],
        acknowledgements=_ACKNOWLEDGEMENTS.validate_python(row["acknowledgements"]),
    )


def notification_of(row: Row) -> Notification:
    """Return the notification in a row."""
    return Notification(
        notification_id=row["notification_id"],
        alert_id=row["alert_id"],
        recipient=Recipient(row["destination"], row["address"]),
        purpose=Purpose(row["purpose"]),
        severity=Severity(row["severity"]),
        due_at=row["due_at"],
        decided_at=row["decided_at"],
        step=row["step"],
        round=row["round"],
        subjects=tuple(row["subjects"]),
        state=NotificationState(row["state"]),
        tries=row["tries"],
        next_try_at=row["next_try_at"],
        sent_at=row["sent_at"],
        reason=row["reason"],
        digest_id=row["digest_id"],
        title=row["title"],
        body=row["body"],
    )


def alerts_parameter(alerts: Iterable[Alert]) -> object:
    """Return alerts as the parameter of the statement that stores them."""
    return jsonb(
        [
            {
                "alert_id": each.alert_id,
                "incident_id": each.incident_id,
                "subject_type": each.subject.type,
                "subject": each.subject.key,
                "subject_id": each.subject.id,
                "owners": each.subject.owners,
                "kind": each.kind,
                "severity": each.severity,
                "state": each.state,
                "at": each.at,
                "opened_at": each.opened_at,
                "facts": each.facts,
                "affected": each.affected,
                "breaches": each.breaches,
                "route": each.route,
                "round": each.round,
                "event_count": each.event_count,
                "next_at": each.next_at,
                "closed_at": each.closed_at,
                "acknowledged_at": each.acknowledged_at,
                "acknowledged_by": each.acknowledged_by,
                "acknowledged_until": each.acknowledged_until,
                "comment": each.comment,
                "acknowledgements": each.acknowledgements,
            }
            for each in alerts
        ]
    )


def notifications_parameter(notifications: Iterable[Notification]) -> object:
    """Return new notifications as the parameter of the statement that stores them."""
    return jsonb(
        [
            {
                "notification_id": each.notification_id,
                "alert_id": each.alert_id,
                "destination": each.recipient.destination,
                "address": each.recipient.address,
                "purpose": each.purpose,
                "severity": each.severity,
                "step": each.step,
                "round": each.round,
                "subjects": each.subjects,
                "due_at": each.due_at,
                "decided_at": each.decided_at,
            }
            for each in notifications
        ]
    )


def _subject(row: Row) -> Subject:
    return Subject(
        SubjectType(row["subject_type"]),
        row["subject"],
        row["dataset_id"] or row["process_id"],
        tuple(row["owners"]),
    )
