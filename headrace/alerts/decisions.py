"""Decide how an event, an acknowledgement or time changes an alert: pure, with the state table in one place.

| alert        | event                       | becomes      | notifications                                        |
|--------------|-----------------------------|--------------|------------------------------------------------------|
| none         | issue with an incident      | OPEN         | all steps of its route                               |
| none         | issue without an incident   | CLOSED       | the first step: there is nothing to wait for         |
| OPEN         | higher severity, or its     | OPEN         | all steps again, replacing pending ones              |
|              | root cause                  |              |                                                      |
| ACKNOWLEDGED | higher severity, or its     | ACKNOWLEDGED | the first step: someone is working on it             |
|              | root cause                  |              |                                                      |
| OPEN, ACK.   | a deadline passes           | unchanged    | the first step of the route of its dataset, without  |
|              |                             |              | those who know that it is affected                   |
| OPEN, ACK.   | the next deadline of the    | unchanged    | the first step of the route of its dataset           |
|              | same dataset passes         |              |                                                      |
| OPEN, ACK.   | anything else               | unchanged    | none: it is not news                                 |
| OPEN         | time since the last step    | OPEN         | all steps again                                      |
| OPEN         | someone acknowledges        | ACKNOWLEDGED | later steps are dropped                              |
| ACKNOWLEDGED | handed over                 | ACKNOWLEDGED | the new holder, if they have a destination           |
| ACKNOWLEDGED | the acknowledgement expires | OPEN         | all steps again                                      |
| OPEN, ACK.   | the incident closes         | CLOSED       | pending ones dropped; past recipients are informed,  |
|              |                             |              | also where no notification could be delivered        |
| OPEN, ACK.   | merged into another         | CLOSED       | the same, naming the other                           |
| OPEN, ACK.   | someone resolves it         | CLOSED       | as when the incident closes, from the next tick      |
| CLOSED       | issue with an incident      | OPEN         | all steps of its route                               |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from headrace.alerts.records import (
    Acknowledgement,
    AcknowledgementAction,
    Alert,
    AlertState,
    Breach,
    Notification,
    NotificationState,
    Purpose,
    notification_id_of,
)
from headrace.alerts.rules import OWNERS, REPEAT_EVERY, AlertRules, Recipient, Step, is_worse
from headrace.errors import NotAcknowledged
from headrace.slas.events import AlertEvent, Kind

RECOVERIES = frozenset({Kind.ON_TRACK, Kind.MET_LATE, Kind.PAUSED, Kind.SENSOR_BACK})
_BREACHES = frozenset({Kind.LATE, Kind.MISSED})
_UNTIL_ACKNOWLEDGED = frozenset({Purpose.ESCALATED, Purpose.REPEATED})


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
    breached = _with_breach(counted, alert_event, rules, now)
    counted = breached.alert
    worse = is_worse(alert_event.severity, known.severity)
    if not worse and not _is_new_root_cause(known, alert_event):
        came_true = known.kind is Kind.AT_RISK and _is_about(known, alert_event)
        alert = _about(counted, alert_event) if came_true else counted
        return Decision(alert, _breach_notifications(breached, notifications, alert_event, rules, now))
    worsened = replace(_about(counted, alert_event), round=known.round + 1)
    if worse:
        worsened = replace(worsened, severity=alert_event.severity)
    acknowledged = known.state is AlertState.ACKNOWLEDGED
    purpose = Purpose.WORSENED if _was_sent(notifications) else Purpose.RAISED
    # The owners notified so far must learn that the problem is larger.
    owners = (*alert_event.subject.owners, *known.subject.owners)
    alert, send = _steps(worsened, purpose, rules, now, owners, first_only=acknowledged)
    return Decision(alert, send, _pending(notifications), f"it became {alert_event.kind}")


def decide_due(
    alert: Alert, notifications: Sequence[Notification], rules: AlertRules, now: datetime
) -> Decision | None:
    """Return the effect of time: the steps start again, or the new holder, or those who learn that it was resolved,
    are notified. None: nothing is due."""
    is_due = alert.next_at is not None and alert.next_at <= now
    if alert.state is AlertState.CLOSED and is_due:
        ended = replace(alert, next_at=None)
        return Decision(ended, _ends(ended, notifications, Purpose.RECOVERED, rules, now))
    if alert.state is AlertState.OPEN and is_due:
        return _repeated(alert, notifications, rules, now)
    if alert.state is not AlertState.ACKNOWLEDGED or alert.acknowledged_by is None:
        return None
    if (expires := _expires(alert, rules)) is not None and expires <= now:
        entry = Acknowledgement(expires, AcknowledgementAction.EXPIRED, alert.acknowledged_by)
        expired = replace(
            alert,
            state=AlertState.OPEN,
            acknowledged_at=None,
            acknowledged_by=None,
            acknowledged_until=None,
            comment=None,
            acknowledgements=(*alert.acknowledgements, entry),
        )
        return _repeated(expired, notifications, rules, now)
    return _notified_holder(alert, alert.acknowledged_by, rules, now) if is_due else None


def acknowledge(
    alert: Alert,
    notifications: Sequence[Notification],
    by: str,
    comment: str | None,
    now: datetime,
    lasts: timedelta | None = None,
) -> Decision:
    """Acknowledge an alert, which stops its escalation until the acknowledgement expires.

    The person who has acknowledged it may do so again, for a longer time. An alert that someone else has acknowledged,
    or a closed one, is unchanged. lasts: None: as long as alerts.yaml says.
    """
    renewed = alert.state is AlertState.ACKNOWLEDGED and alert.acknowledged_by == by
    if alert.state is not AlertState.OPEN and not renewed:
        return Decision(alert)
    taken = _held(alert, AcknowledgementAction.ACKNOWLEDGED, by, by, comment, now, lasts)
    return Decision(taken, (), _pending(notifications, _UNTIL_ACKNOWLEDGED), f"acknowledged by {by}")


def hand_over(
    alert: Alert, by: str, to: str, comment: str | None, now: datetime, lasts: timedelta | None = None
) -> Decision:
    """Hand an acknowledged alert over to another person, who is notified. Raises NotAcknowledged."""
    if alert.state is not AlertState.ACKNOWLEDGED:
        raise NotAcknowledged(
            f"the alert is {alert.state.lower()}: only an acknowledged one can be handed over"
        )
    taken = _held(alert, AcknowledgementAction.HANDED_OVER, by, to, comment, now, lasts)
    return Decision(replace(taken, next_at=now))


def resolve(
    alert: Alert, notifications: Sequence[Notification], by: str, comment: str | None, now: datetime
) -> Decision:
    """Close an alert whose cause its incident still has; anything new about the incident opens it again.

    The next tick informs past recipients. A closed alert is unchanged.
    """
    if alert.state is AlertState.CLOSED:
        return Decision(alert)
    entry = Acknowledgement(now, AcknowledgementAction.RESOLVED, by, by, comment=comment)
    resolved = replace(
        alert,
        state=AlertState.CLOSED,
        closed_at=now,
        next_at=now,
        comment=comment,
        acknowledgements=(*alert.acknowledgements, entry),
        facts={**alert.facts, "ended_by": "RESOLVED", "resolved_by": by},
    )
    return Decision(resolved, (), _pending(notifications), f"resolved by {by}")


def _held(
    alert: Alert,
    action: AcknowledgementAction,
    by: str,
    holder: str,
    comment: str | None,
    now: datetime,
    lasts: timedelta | None,
) -> Alert:
    until = now + lasts if lasts else None
    entry = Acknowledgement(now, action, holder, by, until, comment)
    return replace(
        alert,
        state=AlertState.ACKNOWLEDGED,
        next_at=None,
        acknowledged_at=now,
        acknowledged_by=holder,
        acknowledged_until=until,
        comment=comment,
        acknowledgements=(*alert.acknowledgements, entry),
    )


def _expires(alert: Alert, rules: AlertRules) -> datetime | None:
    if alert.acknowledged_until is not None or alert.acknowledged_at is None:
        return alert.acknowledged_until
    return alert.acknowledged_at + rules.acknowledge_for


def _repeated(
    alert: Alert, notifications: Sequence[Notification], rules: AlertRules, now: datetime
) -> Decision:
    """Start the steps again, for the owners of its subject; notifications still pending are replaced."""
    again = replace(alert, round=alert.round + 1)
    purpose = Purpose.REPEATED if _was_sent(notifications) else Purpose.RAISED
    decided, send = _steps(again, purpose, rules, now, alert.subject.owners, first_only=False)
    return Decision(decided, send, _pending(notifications), "the steps start again")


def _notified_holder(alert: Alert, holder: str, rules: AlertRules, now: datetime) -> Decision:
    due = rules.not_before(alert.severity, now)
    send = tuple(
        _notification(alert, Purpose.HANDED_OVER, 0, recipient, due, now, decided_at=now)
        for recipient in rules.recipients(Step((OWNERS,)), (holder,))
    )
    return Decision(replace(alert, next_at=None), send)


@dataclass(frozen=True, slots=True)
class _BreachedDeadline:
    """The alert with the deadline that an event has broken. is_next: an earlier one of the same dataset was before.

    is_news: False if it is the same one, or if the earlier one was notified a short time before, as of an objective
    with a deadline every few minutes.
    """

    alert: Alert
    is_news: bool = False
    is_next: bool = False


def _with_breach(
    alert: Alert, alert_event: AlertEvent, rules: AlertRules, now: datetime
) -> _BreachedDeadline:
    breach = _breach_of(alert_event, now)
    if breach is None:
        return _BreachedDeadline(alert)
    known = next((each for each in alert.breaches if _objective(each) == _objective(breach)), None)
    if known is None:
        return _BreachedDeadline(replace(alert, breaches=(*alert.breaches, breach)), is_news=True)
    if breach.deadline <= known.deadline:
        return _BreachedDeadline(alert)
    subject = alert_event.subject
    route = rules.route(subject.domain, subject.owners, alert_event.severity, now)
    is_news = known.notified_at + ((route.repeat_every if route else None) or REPEAT_EVERY) <= now
    later = breach if is_news else replace(breach, notified_at=known.notified_at)
    others = (each for each in alert.breaches if each is not known)
    return _BreachedDeadline(replace(alert, breaches=(*others, later)), is_news, is_next=True)


def _breach_of(alert_event: AlertEvent, now: datetime) -> Breach | None:
    facts, subject = alert_event.facts, alert_event.subject
    if alert_event.kind not in _BREACHES or not facts.get("deadline"):
        return None
    return Breach(
        subject.key,
        subject.owners,
        alert_event.kind,
        str(facts.get("objective", "")),
        datetime.fromisoformat(str(facts["deadline"])),
        notified_at=now,
        timezone=facts.get("timezone"),
        partition=facts.get("partition"),
    )


def _objective(breach: Breach) -> tuple[str, str]:
    return breach.key, breach.objective


def _breach_notifications(
    breached: _BreachedDeadline,
    notifications: Sequence[Notification],
    alert_event: AlertEvent,
    rules: AlertRules,
    now: datetime,
) -> tuple[Notification, ...]:
    """Return the notifications of a passed deadline; those decided at one time are one for each recipient.

    A recipient of the alert itself knows what it affects and by when: they are notified of the next deadlines only.
    """
    subject = alert_event.subject
    route = rules.route(subject.domain, subject.owners, alert_event.severity, now)
    if route is None or not breached.is_news:
        return ()
    due = rules.not_before(alert_event.severity, now)
    decided = {each.notification_id: each.subjects for each in notifications}
    informed = {
        each.recipient
        for each in _since_last_end(notifications)
        if (not each.subjects or subject.key in each.subjects)
        and (each.was_attempted or (each.state is NotificationState.PENDING and each.due_at <= due))
    }
    found = []
    for recipient in rules.recipients(route.steps[0], subject.owners):
        if recipient in informed and not breached.is_next:
            continue
        notification = _notification(breached.alert, Purpose.BREACHED, 0, recipient, due, now, decided_at=now)
        subjects = dict.fromkeys((*decided.get(notification.notification_id, ()), subject.key))
        found.append(replace(notification, severity=alert_event.severity, subjects=tuple(subjects)))
    return tuple(found)


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
        acknowledgements=before.acknowledgements if before else (),
    )
    fresh = _with_breach(fresh, alert_event, rules, now).alert
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
        known,
        state=AlertState.CLOSED,
        closed_at=alert_event.at,
        next_at=None,
        event_count=known.event_count + 1,
    )
    purpose, because = Purpose.RECOVERED, "resolved"
    if alert_event.facts.get("ended_by"):
        ending = {name: alert_event.facts.get(name) for name in ("ended_by", "pause")}
        alert = replace(alert, facts={**known.facts, **ending})
    if alert_event.kind is Kind.INCIDENT_MERGED:
        purpose, because = Purpose.JOINED, f"merged into {alert_event.facts.get('part_of')}"
        alert = replace(alert, facts={**known.facts, **alert_event.facts})
    send = _ends(alert, notifications, purpose, rules, now)
    return Decision(alert, send, _pending(notifications), because)


def _ends(
    alert: Alert,
    notifications: Sequence[Notification],
    purpose: Purpose,
    rules: AlertRules,
    now: datetime,
) -> tuple[Notification, ...]:
    """Return the last notifications: one for each recipient that a notification reached or may have reached."""
    attempted = [m for m in _since_last_end(notifications) if m.was_attempted]
    reached = {m.recipient for m in attempted if m.is_delivered}
    due = rules.not_before(alert.severity, now)
    return tuple(
        replace(
            _notification(
                alert, purpose if recipient in reached else Purpose.UNDELIVERED, 0, recipient, due, now
            ),
            subjects=_only_about([m for m in attempted if m.recipient == recipient]),
        )
        for recipient in dict.fromkeys(m.recipient for m in attempted)
    )


def _steps(
    alert: Alert,
    purpose: Purpose,
    rules: AlertRules,
    now: datetime,
    owners: Sequence[str],
    *,
    first_only: bool,
) -> tuple[Alert, tuple[Notification, ...]]:
    """Return the notifications of the matching route. Later steps count from when the first may be sent.

    They start again after the last one; without a route now, when one may match.
    """
    subject = alert.subject
    route = rules.route(subject.domain, subject.owners, alert.severity, now)
    begins = rules.not_before(alert.severity, now)
    repeats, next_at = alert.state is AlertState.OPEN, alert.next_at
    if route is None:
        return replace(alert, route=None, next_at=begins + REPEAT_EVERY if repeats else next_at), ()
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
    last = rules.not_before(alert.severity, begins + route.steps[-1].after)
    if repeats:
        next_at = last + route.repeat_every if route.repeat_every else None
    return replace(alert, route=route.name, next_at=next_at), tuple(notifications)


def _notification(
    alert: Alert,
    purpose: Purpose,
    step: int,
    recipient: Recipient,
    due: datetime,
    now: datetime,
    decided_at: datetime | None = None,
) -> Notification:
    return Notification(
        notification_id=notification_id_of(alert.alert_id, alert.round, step, purpose, recipient, decided_at),
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


def _since_last_end(notifications: Sequence[Notification]) -> list[Notification]:
    """Return the notifications of the alert since it was opened, or opened again."""
    ended = max((each.round for each in notifications if each.purpose.is_end), default=-1)
    return [each for each in notifications if each.round > ended]


def _was_sent(notifications: Sequence[Notification]) -> bool:
    return any(notification.was_attempted for notification in notifications)


def _only_about(notifications: Sequence[Notification]) -> tuple[str, ...]:
    """Return the datasets that all notifications of a recipient were about; none if one was about the alert."""
    if not all(notification.subjects for notification in notifications):
        return ()
    return tuple(dict.fromkeys(key for notification in notifications for key in notification.subjects))


def _pending(
    notifications: Sequence[Notification], purposes: frozenset[Purpose] = frozenset()
) -> tuple[UUID, ...]:
    """Return pending notifications of some purposes, or of all except closing ones."""
    return tuple(
        notification.notification_id
        for notification in notifications
        if notification.state is NotificationState.PENDING
        and (notification.purpose in purposes if purposes else not notification.purpose.is_end)
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
