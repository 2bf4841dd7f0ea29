"""Sending what is due: begun is written down before, and its end after, so that whoever dies between is followed up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.alerts import rows
from headrace.alerts.limits import Leaving, is_given_up, leaving, new_digest, next_try
from headrace.alerts.notifications import words_of
from headrace.alerts.records import Message, NotDelivered, Parcel
from headrace.alerts.rules import AlertRules, Destination, Recipient
from headrace.alerts.sql import statement
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
from headrace.database.jsonb import jsonb
from headrace.database.locks import alone

AT_ONCE = 1000  # messages of a look
THREADS = 8  # destinations at once: one that hangs keeps no other waiting

Send = Callable[[Destination, str, Parcel], None]
Clock = Callable[[], datetime]


@dataclass(slots=True)
class Sent:
    """What became of what was due. failed: a sentence for each destination that did not take a message."""

    messages: int = 0
    failed: list[str] = field(default_factory=list)
    held: int = 0
    busy: bool = False


def by_apprise(destination: Destination, address: str, parcel: Parcel) -> None:
    """Hand a message over. Raises NotDelivered."""
    from headrace.alerts.delivery import deliver  # which takes seconds to load, and most looks send nothing

    deliver(destination, address, parcel)


def send_due(
    engine: Engine, rules: AlertRules, now: Clock, within: timedelta, send: Send = by_apprise
) -> Sent:
    """Send what is due, for as long as `within` says. Only one process does at a time; busy: another one does now.

    A message that a process was about to send when it died is sent again, under the same id. A destination that does
    not take a message is left alone until the next call.
    """
    deadline = monotonic() + within.total_seconds()
    sent, away = Sent(), set[str]()
    with alone(engine, "sending alerts") as mine, ThreadPoolExecutor(THREADS) as pool:
        sent.busy = not mine
        while mine and monotonic() < deadline:
            due, begun = _begin(engine, rules, now(), away)
            sent.held += due - len(begun)
            if not begun:
                break
            work = partial(_send_all, engine, rules, now, deadline, send)
            for result in pool.map(work, _by_destination(begun)):
                sent.messages += result.messages
                sent.failed += result.failed
                away |= result.away
    return sent


def _begin(engine: Engine, rules: AlertRules, now: datetime, away: set[str]) -> tuple[int, list[Message]]:
    """How many messages are due, and those of them whose sending begins now, in words and written down as begun."""
    with transaction(engine) as cursor:
        organisation = organisation_id()
        parameters = {"organisation": organisation, "now": now, "away": sorted(away), "limit": AT_ONCE}
        found = statement("alert_messages_due").execute(cursor, parameters).fetchall()
        due = [rows.message_of(row) for row in found]
        if not due:
            return 0, []
        begun: list[Message] = []
        for recipient, part in _plan(cursor, rules, due, now):
            begun += part.each
            if part.in_one:
                begun.append(_digest(cursor, recipient, part.in_one, now))
            if part.wait_until is not None:
                leaving_now = {message.message_id for message in (*part.each, *part.in_one)}
                held = [m for m in due if m.recipient == recipient and m.message_id not in leaving_now]
                _wait(cursor, held, part.wait_until)
        told = words_of(engine, cursor, rules.links, begun, now)
        begun = [told[message.message_id] for message in begun]
        written = [
            {
                "message_id": message.message_id,
                "next_try_at": next_try(message.tries + 1, now),
                "title": message.title,
                "body": message.body,
            }
            for message in begun
        ]
        statement("alert_messages_begin").execute(
            cursor, {"organisation": organisation, "begun": jsonb(written)}
        )
    return len(due), begun


def _plan(
    cursor: Cursor[Any], rules: AlertRules, due: Sequence[Message], now: datetime
) -> Iterable[tuple[Recipient, Leaving]]:
    """What leaves now for each recipient, by the limit of its destination."""
    limits = {name: each.limit for name, each in rules.destinations.items()}
    longest = max((limit.within for limit in limits.values()), default=timedelta())
    parameters = {
        "organisation": organisation_id(),
        "destinations": sorted({message.recipient.destination for message in due}),
        "since": now - longest,
    }
    sent: dict[Recipient, list[datetime]] = {}
    for row in statement("alert_messages_sent").execute(cursor, parameters):
        sent.setdefault(Recipient(row["destination"], row["address"]), []).append(row["sent_at"])
    mine: dict[Recipient, list[Message]] = {}
    for message in due:
        mine.setdefault(message.recipient, []).append(message)
    for recipient, messages in mine.items():
        limit = limits.get(recipient.destination)
        # A destination that the rules no longer name: the try itself says so.
        yield (
            recipient,
            leaving(messages, sent.get(recipient, ()), limit, now) if limit else Leaving(tuple(messages)),
        )


def _digest(cursor: Cursor[Any], recipient: Recipient, messages: Sequence[Message], now: datetime) -> Message:
    made = new_digest(recipient, messages, now)
    organisation = organisation_id()
    row = {
        "message_id": made.message_id,
        "destination": recipient.destination,
        "address": recipient.address,
        "severity": made.severity,
    }
    merged = [{"message_id": each.message_id, "digest_id": made.message_id} for each in messages]
    statement("alert_messages_digest").execute(
        cursor, {"organisation": organisation, "now": now, "digests": jsonb([row])}
    )
    statement("alert_messages_merge").execute(cursor, {"organisation": organisation, "merged": jsonb(merged)})
    return made


def _wait(cursor: Cursor[Any], messages: Sequence[Message], until: datetime) -> None:
    waiting = [{"message_id": each.message_id, "until": until} for each in messages]
    statement("alert_messages_wait").execute(
        cursor, {"organisation": organisation_id(), "waiting": jsonb(waiting)}
    )


def _by_destination(messages: Sequence[Message]) -> list[list[Message]]:
    """Those that were refused least often first: one that nobody will ever take keeps no other waiting."""
    found: dict[str, list[Message]] = {}
    for message in sorted(messages, key=lambda message: message.tries):
        found.setdefault(message.recipient.destination, []).append(message)
    return list(found.values())


@dataclass(slots=True)
class _Result:
    messages: int = 0
    failed: list[str] = field(default_factory=list)
    away: set[str] = field(default_factory=set)


def _send_all(
    engine: Engine, rules: AlertRules, now: Clock, deadline: float, send: Send, messages: Sequence[Message]
) -> _Result:
    """Send messages to one destination, one after the other, up to the first that is not taken."""
    result = _Result()
    for place, message in enumerate(messages):
        name = message.recipient.destination
        if monotonic() >= deadline:
            _unbegun(engine, messages[place:], now())
            break
        try:
            _send(rules, send, message)
        except NotDelivered as reason:
            _end(engine, message, now(), str(reason))
            _unbegun(engine, messages[place + 1 :], next_try(message.tries + 1, now()))
            result.failed.append(f"{name}: {reason}")
            result.away.add(name)
            break
        _end(engine, message, now(), None)
        result.messages += 1
    return result


def _send(rules: AlertRules, send: Send, message: Message) -> None:
    destination = rules.destinations.get(message.recipient.destination)
    if destination is None:
        raise NotDelivered("the rules do not name this destination any more")
    parcel = Parcel(
        message_id=message.message_id,
        thread=message.alert_id or message.message_id,
        title=message.title or "",
        body=message.body or "",
        severity=message.severity,
        ends_thread=message.purpose.is_end,
    )
    send(destination, message.recipient.address, parcel)


def _end(engine: Engine, message: Message, now: datetime, reason: str | None) -> None:
    with transaction(engine) as cursor:
        statement("alert_message_end").execute(
            cursor,
            {
                "organisation": organisation_id(),
                "message": message.message_id,
                "sent": reason is None,
                "failed": is_given_up(message, now),
                "now": now,
                "reason": reason,
            },
        )


def _unbegun(engine: Engine, messages: Sequence[Message], next_try_at: datetime) -> None:
    if not messages:
        return
    with transaction(engine) as cursor:
        statement("alert_messages_unbegun").execute(
            cursor,
            {
                "organisation": organisation_id(),
                "messages": [message.message_id for message in messages],
                "next_try_at": next_try_at,
            },
        )
