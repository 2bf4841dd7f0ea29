"""What may leave now: the limit of a destination, and the pauses between tries. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from headrace.alerts.records import Message, Purpose
from headrace.alerts.rules import Limit, Recipient
from headrace.slas.events import Urgency

FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=15)
GIVES_UP = timedelta(hours=24)  # after it was due, and
FEWEST_TRIES = (
    10  # after a time in which nothing was sent, it is no reason to give up that so much time has passed
)
_ORDER = list(Urgency)


@dataclass(frozen=True, slots=True)
class Leaving:
    """The messages that leave as they are, those that are told in one, and until when the others wait."""

    each: tuple[Message, ...] = ()
    in_one: tuple[Message, ...] = ()
    wait_until: datetime | None = None


def leaving(due: Sequence[Message], sent: Sequence[datetime], limit: Limit, now: datetime) -> Leaving:
    """What of the messages that are due to one recipient leaves now; sent: when others left for him.

    Those that were tried before come first and as they were, since he may have had them, and so do those that tell
    others in one, since nobody would tell these; of the rest the gravest.
    """
    counted = sorted(at for at in sent if at > now - limit.within)
    free = limit.at_most - len(counted)
    ordered = sorted(
        due, key=lambda message: (not _is_as_it_was(message), -_ORDER.index(message.severity), message.due_at)
    )
    if len(ordered) <= free:
        return Leaving(tuple(ordered))
    if free <= 0:
        return Leaving(wait_until=counted[0] + limit.within)
    again = [message for message in ordered if _is_as_it_was(message)]
    alone = ordered[: max(free - 1, min(len(again), free))]
    rest = ordered[len(alone) :]
    if len(alone) == free:  # all that may leave has to leave as it was
        first = min([*counted, now])
        return Leaving(tuple(alone), wait_until=first + limit.within)
    return Leaving(tuple(alone), tuple(rest))


def is_given_up(message: Message, now: datetime) -> bool:
    """Whether the try that failed just now was its last one."""
    return now >= message.due_at + GIVES_UP and message.tries + 1 >= FEWEST_TRIES


def next_try(tries: int, now: datetime) -> datetime:
    """When to try again after so many tries."""
    doubled: int = 2 ** min(tries - 1, 20)
    return now + min(FIRST_PAUSE * doubled, LONGEST_PAUSE)


def new_digest(recipient: Recipient, messages: Sequence[Message], now: datetime) -> Message:
    """The message that tells these in one."""
    return Message(
        message_id=uuid4(),
        alert_id=None,
        recipient=recipient,
        purpose=Purpose.DIGEST,
        severity=max((each.severity for each in messages), key=_ORDER.index),
        due_at=now,
        decided_at=now,
        next_try_at=now,
    )


def _is_as_it_was(message: Message) -> bool:
    return message.tries > 0 or message.purpose is Purpose.DIGEST
