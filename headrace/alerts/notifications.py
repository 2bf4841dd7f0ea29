"""Render the notifications about to be sent: current facts, affected datasets, the link to the alert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.access.redaction import scrubbed, without_values
from headrace.alerts import rows
from headrace.alerts.affected import affected
from headrace.alerts.links import link, secret
from headrace.alerts.records import Alert, Notification, Purpose
from headrace.alerts.rules import Links
from headrace.alerts.sql import statement
from headrace.alerts.wording import AffectedSubjects, digest, render
from headrace.context import current_context
from headrace.slas.events import Kind

_MERGED = """
SELECT * FROM catalog.notification WHERE organisation_id = %s AND digest_id = ANY (%s) ORDER BY due_at, notification_id
"""


def render_notifications(
    cursor: Cursor[Any], links: Links, notifications: Sequence[Notification], now: datetime
) -> dict[UUID, Notification]:
    """Return the notifications with title and body; one that may have been received keeps its text."""
    fresh = [notification for notification in notifications if notification.title is None]
    sent = {notification.notification_id: notification for notification in notifications}
    if not fresh:
        return sent
    parameters = {
        "organisation": current_context().organisation_id,
        "notifications": [notification.notification_id for notification in fresh],
    }
    found = statement("alerts_of_notifications").execute(cursor, parameters).fetchall()
    alerts = {row["alert_id"]: _for_outside(rows.alert_of(row)) for row in found}
    digests = _merged(cursor, [each.notification_id for each in fresh if each.purpose is Purpose.DIGEST])
    affected_by_alert: dict[UUID, AffectedSubjects] = {}
    key = secret(current_context().settings)
    for notification in fresh:
        if notification.alert_id is None:
            rendered = digest(
                [
                    (alerts[each.alert_id], each)
                    for each in digests[notification.notification_id]
                    if each.alert_id
                ],
                links,
                now,
            )
        else:
            alert = alerts[notification.alert_id]
            if alert.alert_id not in affected_by_alert:
                affected_by_alert[alert.alert_id] = affected(cursor, alert)
            address = (
                link(links.catalog, key, notification.notification_id, now) if links.catalog and key else None
            )
            rendered = render(
                alert, notification, links, now, affected=affected_by_alert[alert.alert_id], link=address
            )
        sent[notification.notification_id] = replace(notification, title=rendered.title, body=rendered.body)
    return sent


def _for_outside(alert: Alert) -> Alert:
    """Redact a failure message: it may contain a password in a URL, or row values, and is sent to external services."""
    facts = scrubbed(dict(alert.facts))
    if alert.kind is Kind.RUN_FAILED and facts.get("reason"):
        facts["reason"] = without_values(str(facts["reason"]))
    return replace(alert, facts=facts)


def _merged(cursor: Cursor[Any], digests: Sequence[UUID]) -> dict[UUID, list[Notification]]:
    found: dict[UUID, list[Notification]] = {}
    for row in cursor.execute(_MERGED, [current_context().organisation_id, list(digests)]) if digests else ():
        found.setdefault(row["digest_id"], []).append(rows.notification_of(row))
    return found
