"""Decide how an alert event or an acknowledgement changes an alert: pure, with the state table in one place.

| alert        | event                       | becomes      | notifications                                        |
|--------------|-----------------------------|--------------|------------------------------------------------------|
| none         | issue with an incident      | OPEN         | all steps of its route                               |
| none         | issue without an incident   | CLOSED       | the first step: there is nothing to wait for         |
| OPEN         | higher severity, or its     | OPEN         | all steps again, replacing pending ones              |
|              | root cause                  |              |                                                      |
| ACKNOWLEDGED | higher severity, or its     | ACKNOWLEDGED | the first step: someone is working on it             |
|              | root cause                  |              |                                                      |
| OPEN, ACK.   | no higher severity          | unchanged    | none: it is not news                                 |
| OPEN         | someone acknowledges        | ACKNOWLEDGED | later steps are dropped                              |
| OPEN, ACK.   | the incident closes         | CLOSED       | pending ones dropped; past recipients are informed,  |
|              |                             |              | also where no notification could be delivered        |
| OPEN, ACK.   | merged into another         | CLOSED       | the same, naming the other                           |
| CLOSED       | issue with an incident      | OPEN         | all steps of its route                               |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from headrace.alerts.records import (
    Alert,
    AlertState,
    Notification,
    NotificationState,
    Purpose,
    notification_id_of,
)
from headrace.alerts.rules import AlertRules, Recipient, is_worse
from headrace.slas.events import AlertEvent, Kind

RECOVERIES = frozenset({Kind.ON_TRACK, Kind.MET_LATE, Kind.PAUSED, Kind.SENSOR_BACK})


@dataclass(frozen=True, slots=True)
class Decision:
    """The updated alert, the notifications to send, and those to drop, with the reason."""

    alert: Alert
    send: tuple[Notification, ...] = ()
    drop: tuple[UUID, ...] = ()
    because: str = ""


def decide(
    alert_id: UUID,
    known: Alert | None,
    notifications: Sequence[Notification],
    alert_event: AlertEvent,
    rules: AlertRules,
    now: datetime,
) -> Decision | None:
    """Return the effect of an alert event. None: no notification is needed.

    Args: alert_id: the alert that the event belongs to. known: the alert so far, None if it is new. notifications: all
        of its notifications. alert_event: the event. rules: the routing rules. now: the current time.
    """
    if alert_event.kind in (Kind.INCIDENT_CLOSED, Kind.INCIDENT_MERGED):
        return _closed(known, notifications, alert_event, rules, now) if known else None
    if known is None or known.state is AlertState.CLOSED:
        if alert_event.kind in RECOVERIES or (known is not None and known.incident_id is None):
            return None
        return _opened(alert_id, known, alert_event, rules, now)
    counted = replace(known, event_count=known.event_count + 1, affected=_affected(known, alert_event))
    if alert_event.kind in RECOVERIES:
        return Decision(counted)
    worse = is_worse(alert_event.severity, known.severity)
    if not worse and not _is_new_root_cause(known, alert_event):
        came_true = known.kind is Kind.AT_RISK and _is_about(known, alert_event)
        return Decision(_about(counted, alert_event) if came_true else counted)
    worsened = replace(_about(counted, alert_event), round=known.round + 1)
    if worse:
        worsened = replace(worsened, severity=alert_event.severity)
    sent = any(notification.was_attempted for notification in notifications)
    acknowledged = known.state is AlertState.ACKNOWLEDGED
    purpose = Purpose.WORSENED if sent else Purpose.RAISED
    # The owners notified so far must learn that the problem is larger.
    owners = (*alert_event.subject.owners, *known.subject.owners)
    alert, send = _steps(worsened, purpose, rules, now, owners, first_only=acknowledged)
    return Decision(alert, send, _pending(notifications), f"it became {alert_event.kind}")


def acknowledge(
    alert: Alert, notifications: Sequence[Notification], by: str, comment: str | None, now: datetime
) -> Decision:
    """Acknowledge an alert, which stops its escalation. An acknowledged or closed alert is unchanged."""
    if alert.state is not AlertState.OPEN:
        return Decision(alert)
    taken = replace(
        alert, state=AlertState.ACKNOWLEDGED, acknowledged_at=now, acknowledged_by=by, comment=comment
    )
    return Decision(taken, (), _pending(notifications, Purpose.ESCALATED), f"acknowledged by {by}")


def _opened(
    alert_id: UUID, before: Alert | None, alert_event: AlertEvent, rules: AlertRules, now: datetime
) -> Decision:
    fresh = Alert(
        alert_id=alert_id,
        incident_id=alert_event.incident_id,
        subject=alert_event.subject,
        kind=alert_event.kind,
        severity=alert_event.severity,
        state=AlertState.OPEN if alert_event.incident_id else AlertState.CLOSED,
        at=alert_event.at,
        opened_at=now,
        facts=alert_event.facts,
        round=before.round + 1 if before else 0,
        event_count=before.event_count + 1 if before else 1,
        closed_at=None if alert_event.incident_id else now,
    )
    owners = alert_event.subject.owners
    alert, send = _steps(
        fresh, Purpose.RAISED, rules, now, owners, first_only=alert_event.incident_id is None
    )
    return Decision(alert, send)


def _closed(
    known: Alert,
    notifications: Sequence[Notification],
    alert_event: AlertEvent,
    rules: AlertRules,
    now: datetime,
) -> Decision | None:
    if known.state is AlertState.CLOSED:
        return None
    alert = replace(
        known, state=AlertState.CLOSED, closed_at=alert_event.at, event_count=known.event_count + 1
    )
    purpose, because = Purpose.RECOVERED, "resolved"
    if alert_event.facts.get("ended_by"):
        ending = {name: alert_event.facts.get(name) for name in ("ended_by", "pause")}
        alert = replace(alert, facts={**known.facts, **ending})
    if alert_event.kind is Kind.INCIDENT_MERGED:
        purpose, because = Purpose.JOINED, f"merged into {alert_event.facts.get('part_of')}"
        alert = replace(alert, facts={**known.facts, **alert_event.facts})
    ended = max((m.round for m in notifications if m.purpose.is_end), default=-1)
    attempted = [m for m in notifications if m.was_attempted and m.round > ended]
    reached = {m.recipient for m in attempted if m.is_delivered}
    due = rules.not_before(known.severity, now)
    send = tuple(
        _notification(alert, purpose if recipient in reached else Purpose.UNDELIVERED, 0, recipient, due, now)
        for recipient in dict.fromkeys(m.recipient for m in attempted)
    )
    return Decision(alert, send, _pending(notifications), because)


def _steps(
    alert: Alert,
    purpose: Purpose,
    rules: AlertRules,
    now: datetime,
    owners: Sequence[str],
    *,
    first_only: bool,
) -> tuple[Alert, tuple[Notification, ...]]:
    """Return the notifications of the matching route. Later steps count from when the first may be sent."""
    subject = alert.subject
    route = rules.route(subject.domain, subject.owners, alert.severity, now)
    if route is None:
        return replace(alert, route=None), ()
    begins = rules.not_before(alert.severity, now)
    notifications = [
        _notification(
            alert,
            Purpose.ESCALATED if number else purpose,
            number,
            recipient,
            rules.not_before(alert.severity, begins + step.after),
            now,
        )
        for number, step in enumerate(route.steps[:1] if first_only else route.steps)
        for recipient in rules.recipients(step, owners)
    ]
    return replace(alert, route=route.name), tuple(notifications)


def _notification(
    alert: Alert, purpose: Purpose, step: int, recipient: Recipient, due: datetime, now: datetime
) -> Notification:
    return Notification(
        notification_id=notification_id_of(alert.alert_id, alert.round, step, purpose, recipient),
        alert_id=alert.alert_id,
        recipient=recipient,
        purpose=purpose,
        severity=alert.severity,
        due_at=due,
        decided_at=now,
        step=step,
        round=alert.round,
        next_try_at=due,
    )


def _pending(notifications: Sequence[Notification], purpose: Purpose | None = None) -> tuple[UUID, ...]:
    """Return pending notifications of one purpose, or of all except closing ones."""
    return tuple(
        notification.notification_id
        for notification in notifications
        if notification.state is NotificationState.PENDING
        and (notification.purpose is purpose if purpose else not notification.purpose.is_end)
    )


def _affected(known: Alert, alert_event: AlertEvent) -> dict[str, tuple[str, ...]]:
    """Return the other subjects of the incident."""
    if alert_event.subject.key == known.subject.key or alert_event.kind in RECOVERIES:
        return dict(known.affected)
    return {**known.affected, alert_event.subject.key: alert_event.subject.owners}


def _about(alert: Alert, alert_event: AlertEvent) -> Alert:
    """Return the alert with this event as its subject; the previous subject becomes affected."""
    subject = alert_event.subject
    affected = {**alert.affected, alert.subject.key: alert.subject.owners}
    affected.pop(subject.key, None)
    return replace(
        alert,
        subject=subject,
        kind=alert_event.kind,
        at=alert_event.at,
        facts=alert_event.facts,
        affected=affected,
    )


def _is_about(alert: Alert, alert_event: AlertEvent) -> bool:
    return (alert.subject.type, alert.subject.key) == (alert_event.subject.type, alert_event.subject.key)


def _is_new_root_cause(known: Alert, alert_event: AlertEvent) -> bool:
    """Return True if the event is the root cause and new to this alert."""
    return (
        bool(alert_event.facts.get("is_cause"))
        and not _is_about(known, alert_event)
        and alert_event.subject.key not in known.affected
    )
