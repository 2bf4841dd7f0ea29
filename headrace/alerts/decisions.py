"""What follows from a happening, or from somebody's word, for an alert: pure, a table of states in one place.

| alert        | happens                     | becomes      | messages                                             |
|--------------|-----------------------------|--------------|------------------------------------------------------|
| none         | something bad, an incident  | OPEN         | all steps of its route                               |
| none         | something bad, no incident  | CLOSED       | the first step: there is nothing to wait for         |
| OPEN         | something worse, or what    | OPEN         | all steps anew, in place of those that wait          |
|              | it turns out to come from   |              |                                                      |
| ACKNOWLEDGED | something worse, or that    | ACKNOWLEDGED | the first step: somebody is at it                    |
| OPEN, ACK.   | nothing worse               | as it was    | none: it is no news                                  |
| OPEN         | somebody acknowledges       | ACKNOWLEDGED | later steps are dropped                              |
| OPEN, ACK.   | the incident closes         | CLOSED       | what waits is dropped; who has been told is told     |
| OPEN, ACK.   | another goes on with it     | CLOSED       | the same, with which one                             |
| CLOSED       | something bad, an incident  | OPEN         | all steps of its route                               |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from headrace.alerts.records import Alert, AlertState, Message, MessageState, Purpose, message_id_of
from headrace.alerts.rules import AlertRules, Recipient, is_worse
from headrace.slas.events import Happening, Kind

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
    if happening.kind in (Kind.INCIDENT_CLOSED, Kind.INCIDENT_MERGED):
        return _closed(known, messages, happening, rules, now) if known else None
    if known is None or known.state is AlertState.CLOSED:
        if happening.kind in HARMLESS or (known is not None and known.incident_id is None):
            return None
        return _opened(alert_id, known, happening, rules, now)
    counted = replace(known, happenings=known.happenings + 1, hit=_hit(known, happening))
    if happening.kind in HARMLESS:
        return Decision(counted)
    worse = is_worse(happening.severity, known.severity)
    if not worse and not _is_found_to_be_the_cause(known, happening):
        came_true = known.kind is Kind.AT_RISK and _is_about(known, happening)
        return Decision(_about(counted, happening) if came_true else counted)
    graver = replace(_about(counted, happening), round=known.round + 1)
    if worse:
        graver = replace(graver, severity=happening.severity)
    told = any(message.has_told for message in messages)
    acknowledged = known.state is AlertState.ACKNOWLEDGED
    purpose = Purpose.WORSENED if told else Purpose.RAISED
    # Who owns what was told of before has to know that it is more than that.
    owners = (*happening.subject.owners, *known.subject.owners)
    alert, send = _steps(graver, purpose, rules, now, owners, first_only=acknowledged)
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
    owners = happening.subject.owners
    alert, send = _steps(fresh, Purpose.RAISED, rules, now, owners, first_only=happening.incident_id is None)
    return Decision(alert, send)


def _closed(
    known: Alert, messages: Sequence[Message], happening: Happening, rules: AlertRules, now: datetime
) -> Decision | None:
    if known.state is AlertState.CLOSED:
        return None
    alert = replace(known, state=AlertState.CLOSED, closed_at=happening.at, happenings=known.happenings + 1)
    purpose, because = Purpose.RECOVERED, "it is over"
    if happening.kind is Kind.INCIDENT_MERGED:
        purpose, because = Purpose.JOINED, f"it goes on as part of {happening.facts.get('part_of')}"
        alert = replace(alert, facts={**known.facts, **happening.facts})
    ended = max((m.round for m in messages if m.purpose.is_end), default=-1)
    told = dict.fromkeys(m.recipient for m in messages if m.has_told and m.round > ended)
    due = rules.not_before(known.severity, now)
    send = tuple(_message(alert, purpose, 0, recipient, due, now) for recipient in told)
    return Decision(alert, send, _waiting(messages), because)


def _steps(
    alert: Alert,
    purpose: Purpose,
    rules: AlertRules,
    now: datetime,
    owners: Sequence[str],
    *,
    first_only: bool,
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
        for recipient in rules.recipients(step, owners)
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
    """Those that wait, of one purpose or of all but those that tell of an end."""
    return tuple(
        message.message_id
        for message in messages
        if message.state is MessageState.WAITING
        and (message.purpose is purpose if purpose else not message.purpose.is_end)
    )


def _hit(known: Alert, happening: Happening) -> dict[str, tuple[str, ...]]:
    """The other subjects of the incident."""
    if happening.subject.key == known.subject.key or happening.kind in HARMLESS:
        return dict(known.hit)
    return {**known.hit, happening.subject.key: happening.subject.owners}


def _about(alert: Alert, happening: Happening) -> Alert:
    """The alert, now about this happening; what it was about is hit by it."""
    subject = happening.subject
    hit = {**alert.hit, alert.subject.key: alert.subject.owners}
    hit.pop(subject.key, None)
    return replace(
        alert, subject=subject, kind=happening.kind, at=happening.at, facts=happening.facts, hit=hit
    )


def _is_about(alert: Alert, happening: Happening) -> bool:
    return (alert.subject.type, alert.subject.key) == (happening.subject.type, happening.subject.key)


def _is_found_to_be_the_cause(known: Alert, happening: Happening) -> bool:
    """Whether what all of it comes from has not been heard of in this alert before."""
    return (
        bool(happening.facts.get("is_cause"))
        and not _is_about(known, happening)
        and happening.subject.key not in known.hit
    )
