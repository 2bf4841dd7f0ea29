"""What follows from a happening, or from somebody's word, for an alert: pure, a table of states in one place.

| alert        | happens                     | becomes      | messages                                             |
|--------------|-----------------------------|--------------|------------------------------------------------------|
| none         | something bad, an incident  | OPEN         | all steps of its route                               |
| none         | something bad, no incident  | CLOSED       | the first step: there is nothing to wait for         |
| OPEN         | something worse             | OPEN         | all steps anew, in place of those that wait          |
| ACKNOWLEDGED | something worse             | ACKNOWLEDGED | the first step: somebody is at it                    |
| OPEN, ACK.   | nothing worse               | as it was    | none: it is no news                                  |
| OPEN         | somebody acknowledges       | ACKNOWLEDGED | later steps are dropped                              |
| OPEN, ACK.   | the incident closes         | CLOSED       | what waits is dropped; who has been told is told     |
| CLOSED       | something bad, an incident  | OPEN         | all steps of its route                               |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from catalog.alerts.records import Alert, AlertState, Message, MessageState, Purpose, message_id_of
from catalog.alerts.rules import AlertRules, Recipient, is_worse
from catalog.sla.happenings import Happening, Kind

HARMLESS = frozenset({Kind.ON_TRACK, Kind.MET_LATE, Kind.PAUSED, Kind.SENSOR_BACK})


@dataclass(frozen=True, slots=True)
class Decision:
    """The alert as it is from now on, the messages to send, and those that are not to be sent any more, with why."""

    alert: Alert
    send: tuple[Message, ...] = ()
    drop: tuple[UUID, ...] = ()
    because: str = ""


def decide(
    alert_id: UUID,
    known: Alert | None,
    messages: Sequence[Message],
    happening: Happening,
    rules: AlertRules,
    now: datetime,
) -> Decision | None:
    """What a happening comes to. None: nothing that anybody needs to know.

    Args:
        alert_id: the alert that the happening belongs to.
        known: that alert as it stands, None when there is none yet.
        messages: all of its messages.
        happening: what happened.
        rules: who is told.
        now: when it is decided.
    """
    if happening.kind is Kind.INCIDENT_CLOSED:
        return _closed(known, messages, happening, rules, now) if known else None
    if known is None or known.state is AlertState.CLOSED:
        if happening.kind in HARMLESS or (known is not None and known.incident_id is None):
            return None
        return _opened(alert_id, known, happening, rules, now)
    counted = replace(known, happenings=known.happenings + 1, hit=_hit(known, happening))
    if happening.kind in HARMLESS or not is_worse(happening.severity, known.severity):
        return Decision(counted)
    worse = replace(
        counted,
        severity=happening.severity,
        kind=happening.kind,
        at=happening.at,
        facts=happening.facts,
        round=known.round + 1,
    )
    told = any(message.has_told for message in messages)
    acknowledged = known.state is AlertState.ACKNOWLEDGED
    purpose = Purpose.WORSENED if told else Purpose.RAISED
    alert, send = _steps(worse, purpose, rules, now, first_only=acknowledged)
    return Decision(alert, send, _waiting(messages), f"it became {happening.kind}")


def acknowledge(
    alert: Alert, messages: Sequence[Message], by: str, comment: str | None, now: datetime
) -> Decision:
    """Somebody is at it: nothing escalates any more. One that is acknowledged or closed stays as it is."""
    if alert.state is not AlertState.OPEN:
        return Decision(alert)
    taken = replace(
        alert, state=AlertState.ACKNOWLEDGED, acknowledged_at=now, acknowledged_by=by, comment=comment
    )
    return Decision(taken, (), _waiting(messages, Purpose.ESCALATED), f"acknowledged by {by}")


def _opened(
    alert_id: UUID, before: Alert | None, happening: Happening, rules: AlertRules, now: datetime
) -> Decision:
    fresh = Alert(
        alert_id=alert_id,
        incident_id=happening.incident_id,
        subject=happening.subject,
        kind=happening.kind,
        severity=happening.severity,
        state=AlertState.OPEN if happening.incident_id else AlertState.CLOSED,
        at=happening.at,
        opened_at=now,
        facts=happening.facts,
        round=before.round + 1 if before else 0,
        happenings=before.happenings + 1 if before else 1,
        closed_at=None if happening.incident_id else now,
    )
    alert, send = _steps(fresh, Purpose.RAISED, rules, now, first_only=happening.incident_id is None)
    return Decision(alert, send)


def _closed(
    known: Alert, messages: Sequence[Message], happening: Happening, rules: AlertRules, now: datetime
) -> Decision | None:
    if known.state is AlertState.CLOSED:
        return None
    alert = replace(known, state=AlertState.CLOSED, closed_at=happening.at, happenings=known.happenings + 1)
    recovered = max((m.round for m in messages if m.purpose is Purpose.RECOVERED), default=-1)
    told = dict.fromkeys(m.recipient for m in messages if m.has_told and m.round > recovered)
    due = rules.not_before(known.severity, now)
    send = tuple(_message(alert, Purpose.RECOVERED, 0, recipient, due, now) for recipient in told)
    return Decision(alert, send, _waiting(messages), "it is over")


def _steps(
    alert: Alert, purpose: Purpose, rules: AlertRules, now: datetime, *, first_only: bool
) -> tuple[Alert, tuple[Message, ...]]:
    """The messages of the route that fits now. Later steps count from when the first may leave."""
    subject = alert.subject
    route = rules.route(subject.domain, subject.owners, alert.severity, now)
    if route is None:
        return replace(alert, route=None), ()
    begins = rules.not_before(alert.severity, now)
    messages = [
        _message(
            alert,
            Purpose.ESCALATED if number else purpose,
            number,
            recipient,
            rules.not_before(alert.severity, begins + step.after),
            now,
        )
        for number, step in enumerate(route.steps[:1] if first_only else route.steps)
        for recipient in rules.recipients(step, subject.owners)
    ]
    return replace(alert, route=route.name), tuple(messages)


def _message(
    alert: Alert, purpose: Purpose, step: int, recipient: Recipient, due: datetime, now: datetime
) -> Message:
    return Message(
        message_id=message_id_of(alert.alert_id, alert.round, step, purpose, recipient),
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


def _waiting(messages: Sequence[Message], purpose: Purpose | None = None) -> tuple[UUID, ...]:
    """Those that wait, of one purpose or of all but recoveries."""
    return tuple(
        message.message_id
        for message in messages
        if message.state is MessageState.WAITING
        and (message.purpose is purpose if purpose else message.purpose is not Purpose.RECOVERED)
    )


def _hit(known: Alert, happening: Happening) -> dict[str, tuple[str, ...]]:
    """The other subjects of the incident."""
    if happening.subject.key == known.subject.key or happening.kind in HARMLESS:
        return dict(known.hit)
    return {**known.hit, happening.subject.key: happening.subject.owners}
