"""Rate limits of a destination and pauses between tries: decide what may be sent now. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from headrace.alerts.records import Notification, Purpose
from headrace.alerts.rules import Limit, Recipient

FIRST_PAUSE = timedelta(seconds=5)
MAX_PAUSE = timedelta(minutes=15)
GIVE_UP_AFTER = timedelta(hours=24)  # age after the due time, and
MIN_TRIES = (
    10  # minimum number of tries, so that notifications do not expire untried during an outage of the sender
)


@dataclass(frozen=True, slots=True)
class SendPlan:
    """Notifications to send unchanged, those to merge into a digest, and until when the others wait."""

    each: tuple[Notification, ...] = ()
    digest: tuple[Notification, ...] = ()
    wait_until: datetime | None = None


def plan_sending(
    due: Sequence[Notification], sent: Sequence[datetime], limit: Limit, now: datetime
) -> SendPlan:
    """Plan which of a recipient's due notifications to send now. sent: when earlier ones were sent to them.

    Retries come first and unchanged, since the recipient may have received them; so do digests, since the merged
    notifications would otherwise be lost; then the most severe.
    """
    counted = sorted(at for at in sent if at > now - limit.within)
    free = limit.at_most - len(counted)
    ordered = sorted(
        due,
        key=lambda notification: (
            not _is_unchanged(notification),
            -notification.severity.rank,
            notification.due_at,
        ),
    )
    if len(ordered) <= free:
        return SendPlan(tuple(ordered))
    if free <= 0:
        return SendPlan(wait_until=counted[0] + limit.within)
    again = [notification for notification in ordered if _is_unchanged(notification)]
    alone = ordered[: max(free - 1, min(len(again), free))]
    rest = ordered[len(alone) :]
    if len(alone) == free:  # retries use the limit up
        first = min([*counted, now])
        return SendPlan(tuple(alone), wait_until=first + limit.within)
    return SendPlan(tuple(alone), tuple(rest))


def is_given_up(notification: Notification, now: datetime) -> bool:
    """Return True if the failed try was the last one."""
    return now >= notification.due_at + GIVE_UP_AFTER and notification.tries + 1 >= MIN_TRIES


def next_try(tries: int, now: datetime) -> datetime:
    """Return the time of the next try after this many tries."""
    doubled: int = 2 ** min(tries - 1, 20)
    return now + min(FIRST_PAUSE * doubled, MAX_PAUSE)


def new_digest(recipient: Recipient, notifications: Sequence[Notification], now: datetime) -> Notification:
    """Return the digest of these notifications."""
    return Notification(
        notification_id=uuid4(),
        alert_id=None,
        recipient=recipient,
        purpose=Purpose.DIGEST,
        severity=max(each.severity for each in notifications),
        due_at=now,
        decided_at=now,
        next_try_at=now,
    )


def _is_unchanged(notification: Notification) -> bool:
    return notification.tries > 0 or notification.purpose is Purpose.DIGEST
