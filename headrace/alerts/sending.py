"""Send due notifications; each start and end is recorded, so that a crash in between is followed up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.alerts import rows
from headrace.alerts.limits import SendPlan, is_given_up, new_digest, next_try, plan_sending
from headrace.alerts.notifications import render_notifications
from headrace.alerts.records import NotDelivered, Notification, RenderedNotification
from headrace.alerts.rules import AlertRules, Destination, Recipient
from headrace.alerts.sql import statement
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.database.locks import alone
from headrace.severity import Severity

BATCH_SIZE = 1000  # notifications per query
THREADS = 8  # concurrent destinations: a hanging one does not block the others

Send = Callable[[Destination, str, RenderedNotification], None]
Clock = Callable[[], datetime]


@dataclass(slots=True)
class SendingResult:
    """The result of sending. failed: a sentence for each destination that refused a notification."""

    notifications: int = 0
    failed: list[str] = field(default_factory=list)
    held: int = 0
    busy: bool = False


def by_apprise(destination: Destination, address: str, rendered: RenderedNotification) -> None:
    """Deliver a notification. Raises NotDelivered."""
    from headrace.alerts.delivery import deliver  # takes seconds to import, and most calls send nothing

    deliver(destination, address, rendered)


def send_due(
    engine: Engine, rules: AlertRules, now: Clock, within: timedelta, send: Send = by_apprise
) -> SendingResult:
    """Send due notifications for at most `within`. Only one process sends at a time; busy: another one does.

    A notification being sent when the process died is sent again under the same id. A destination that refuses one is
    skipped until the next call.
    """
    deadline = monotonic() + within.total_seconds()
    sent, away = SendingResult(), set[str]()
    with alone(engine, "sending alerts") as mine, ThreadPoolExecutor(THREADS) as pool:
        sent.busy = not mine
        while mine and monotonic() < deadline:
            due, begun = _begin(engine, rules, now(), away)
            sent.held += due - len(begun)
            if not begun:
                break
            work = partial(_send_all, engine, rules, now, deadline, send)
            for result in pool.map(work, _by_destination(begun)):
                sent.notifications += result.notifications
                sent.failed += result.failed
                away |= result.away
    return sent


def _begin(
    engine: Engine, rules: AlertRules, now: datetime, away: set[str]
) -> tuple[int, list[Notification]]:
    """Return the number of due notifications, and those to send now, rendered and marked as started."""
    with transaction(engine) as cursor:
        organisation = current_context().organisation_id
        parameters = {"organisation": organisation, "now": now, "away": sorted(away), "limit": BATCH_SIZE}
        found = statement("notifications_due").execute(cursor, parameters).fetchall()
        due = [rows.notification_of(row) for row in found]
        if not due:
            return 0, []
        begun: list[Notification] = []
        for recipient, part in _plan(cursor, rules, due, now):
            begun += part.each
            if part.digest:
                begun.append(_digest(cursor, recipient, part, now))
            if part.wait_until is not None:
                leaving_now = {notification.notification_id for notification in (*part.each, *part.digest)}
                held = [m for m in due if m.recipient == recipient and m.notification_id not in leaving_now]
                _wait(cursor, held, part.wait_until)
        sent = render_notifications(cursor, rules.links, begun, now)
        begun = [sent[notification.notification_id] for notification in begun]
        written = [
            {
                "notification_id": notification.notification_id,
                "next_try_at": next_try(notification.tries + 1, now),
                "title": notification.title,
                "body": notification.body,
            }
            for notification in begun
        ]
        statement("notifications_begin").execute(
            cursor, {"organisation": organisation, "begun": jsonb(written)}
        )
    return len(due), begun


def _plan(
    cursor: Cursor[Any], rules: AlertRules, due: Sequence[Notification], now: datetime
) -> Iterable[tuple[Recipient, SendPlan]]:
    """Yield what to send now to each recipient, by the rate limit of its destination."""
    limits = {name: each.limit for name, each in rules.destinations.items()}
    longest = max((limit.within for limit in limits.values()), default=timedelta())
    parameters = {
        "organisation": current_context().organisation_id,
        "destinations": sorted({notification.recipient.destination for notification in due}),
        "since": now - longest,
    }
    sent: dict[Recipient, list[datetime]] = {}
    for row in statement("notifications_sent").execute(cursor, parameters):
        sent.setdefault(Recipient(row["destination"], row["address"]), []).append(row["sent_at"])
    mine: dict[Recipient, list[Notification]] = {}
    for notification in due:
        mine.setdefault(notification.recipient, []).append(notification)
    for recipient, notifications in mine.items():
        limit = limits.get(recipient.destination)
        # A destination that the rules no longer define: the delivery fails with that reason.
        yield (
            recipient,
            plan_sending(notifications, sent.get(recipient, ()), limit, now)
            if limit
            else SendPlan(tuple(notifications)),
        )


def _digest(cursor: Cursor[Any], recipient: Recipient, plan: SendPlan, now: datetime) -> Notification:
    """Store the digest of what the recipient's rate limit does not let through, of this batch and beyond it."""
    made = new_digest(recipient, plan.digest, now)
    organisation = current_context().organisation_id
    row = {
        "notification_id": made.notification_id,
        "destination": recipient.destination,
        "address": recipient.address,
        "severity": made.severity,
    }
    statement("notifications_digest").execute(
        cursor, {"organisation": organisation, "now": now, "digests": jsonb([row])}
    )
    parameters = {
        "organisation": organisation,
        "now": now,
        "digest": made.notification_id,
        "destination": recipient.destination,
        "address": recipient.address,
        "alone": [each.notification_id for each in plan.each],
    }
    (merged,) = statement("notifications_merge").execute(cursor, parameters).fetchall()
    return replace(made, severity=Severity(merged["severity"]))


def _wait(cursor: Cursor[Any], notifications: Sequence[Notification], until: datetime) -> None:
    pending = [{"notification_id": each.notification_id, "until": until} for each in notifications]
    statement("notifications_postpone").execute(
        cursor, {"organisation": current_context().organisation_id, "pending": jsonb(pending)}
    )


def _by_destination(notifications: Sequence[Notification]) -> list[list[Notification]]:
    """Group by destination, those with the fewest refusals first, so that an undeliverable one does not delay
    others."""
    found: dict[str, list[Notification]] = {}
    for notification in sorted(notifications, key=lambda notification: notification.tries):
        found.setdefault(notification.recipient.destination, []).append(notification)
    return list(found.values())


@dataclass(slots=True)
class _Result:
    notifications: int = 0
    failed: list[str] = field(default_factory=list)
    away: set[str] = field(default_factory=set)


def _send_all(
    engine: Engine,
    rules: AlertRules,
    now: Clock,
    deadline: float,
    send: Send,
    notifications: Sequence[Notification],
) -> _Result:
    """Send the notifications of one destination, in order, up to the first that is refused."""
    result = _Result()
    for place, notification in enumerate(notifications):
        name = notification.recipient.destination
        if monotonic() >= deadline:
            _unstarted(engine, notifications[place:], now())
            break
        try:
            _send(rules, send, notification)
        except NotDelivered as reason:
            _end(engine, notification, now(), str(reason))
            _unstarted(engine, notifications[place + 1 :], next_try(notification.tries + 1, now()))
            result.failed.append(f"{name}: {reason}")
            result.away.add(name)
            break
        _end(engine, notification, now(), None)
        result.notifications += 1
    return result


def _send(rules: AlertRules, send: Send, notification: Notification) -> None:
    destination = rules.destinations.get(notification.recipient.destination)
    if destination is None:
        raise NotDelivered("alerts.yaml no longer has this destination")
    rendered = RenderedNotification(
        notification_id=notification.notification_id,
        thread=notification.alert_id or notification.notification_id,
        title=notification.title or "",
        body=notification.body or "",
        severity=notification.severity,
        ends_thread=notification.purpose.is_end,
    )
    send(destination, notification.recipient.address, rendered)


def _end(engine: Engine, notification: Notification, now: datetime, reason: str | None) -> None:
    with transaction(engine) as cursor:
        statement("notification_end").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "notification": notification.notification_id,
                "sent": reason is None,
                "failed": is_given_up(notification, now),
                "now": now,
                "reason": reason,
            },
        )


def _unstarted(engine: Engine, notifications: Sequence[Notification], next_try_at: datetime) -> None:
    if not notifications:
        return
    with transaction(engine) as cursor:
        statement("notifications_undo_begin").execute(
            cursor,
            {
                "organisation": current_context().organisation_id,
                "notifications": [notification.notification_id for notification in notifications],
                "next_try_at": next_try_at,
            },
        )
