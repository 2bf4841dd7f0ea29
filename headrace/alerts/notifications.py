"""The words of messages that are about to leave: what the alert says now, with who is hit and the recipient's link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.redaction import scrubbed, without_values
from headrace.alerts import rows
from headrace.alerts.links import link, secret
from headrace.alerts.records import Alert, Message, Purpose
from headrace.alerts.rules import Links, Recipient
from headrace.alerts.sql import statement
from headrace.alerts.wording import SHOWN, Hit, digest, worded
from headrace.catalog.queries.impact import impact
from headrace.database.ids import organisation, organisation_id
from headrace.settings import settings
from headrace.slas.events import Kind, SubjectType

_FAR = 1000  # steps: as far as it goes
_MERGED = """
SELECT * FROM catalog.alert_message WHERE organisation_id = %s AND digest_id = ANY (%s) ORDER BY due_at, message_id
"""


def words_of(
    engine: Engine, cursor: Cursor[Any], links: Links, messages: Sequence[Message], now: datetime
) -> dict[UUID, Message]:
    """The messages with title and body; one that was tried before says again what it said."""
    fresh = [message for message in messages if message.title is None]
    told = {message.message_id: message for message in messages}
    if not fresh:
        return told
    parameters = {"organisation": organisation_id(), "messages": [message.message_id for message in fresh]}
    found = statement("alerts_of_messages").execute(cursor, parameters).fetchall()
    alerts = {row["alert_id"]: _for_outside(rows.alert_of(row)) for row in found}
    digests = _merged(cursor, [each.message_id for each in fresh if each.purpose is Purpose.DIGEST])
    hits: dict[UUID, Hit] = {}
    key = secret(settings())
    for message in fresh:
        if message.alert_id is None:
            said = digest(
                [(alerts[each.alert_id], each) for each in digests[message.message_id] if each.alert_id]
            )
        else:
            alert = alerts[message.alert_id]
            if alert.alert_id not in hits:
                hits[alert.alert_id] = hit(engine, alert)
            address = _link(links, key, alert, message.recipient, now)
            said = worded(alert, message, links, hit=hits[alert.alert_id], link=address)
        told[message.message_id] = replace(message, title=said.title, body=said.body)
    return told


def hit(engine: Engine, alert: Alert) -> Hit:
    """Who suffers: what the incident lists already, and what is computed from its dataset."""
    named = dict(alert.hit)
    count = 0
    if alert.subject.type is SubjectType.DATASET and alert.subject.id is not None:
        found = impact(engine, alert.subject.id, _FAR, limit=3 * SHOWN)
        count = found.datasets
        for reader in found.readers:
            if reader.kind == "DATASET":
                named.setdefault(reader.key, reader.owners)
    return Hit(tuple(named.items()), max(count, len(named)))


def _for_outside(alert: Alert) -> Alert:
    """What a run says of its failure may hold an address with a password, or rows, and goes to services outside."""
    facts = scrubbed(dict(alert.facts))
    if alert.kind is Kind.RUN_FAILED and facts.get("reason"):
        facts["reason"] = without_values(str(facts["reason"]))
    return replace(alert, facts=facts)


def _link(links: Links, key: str | None, alert: Alert, recipient: Recipient, now: datetime) -> str | None:
    if links.catalog is None or key is None:
        return None
    return link(links.catalog, key, alert.alert_id, organisation(), recipient, now)


def _merged(cursor: Cursor[Any], digests: Sequence[UUID]) -> dict[UUID, list[Message]]:
    found: dict[UUID, list[Message]] = {}
    for row in cursor.execute(_MERGED, [organisation_id(), list(digests)]) if digests else ():
        found.setdefault(row["digest_id"], []).append(rows.message_of(row))
    return found
