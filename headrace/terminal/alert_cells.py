"""Alerts in the terminal: their history, and cells of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.terminal.output import facts, show, table

if TYPE_CHECKING:
    from headrace.alerts.queries import History
    from headrace.alerts.records import Alert, Notification
    from headrace.alerts.rules import Recipient


def show_history(found: History) -> None:
    """Show an alert with its events, acknowledgements and notifications."""
    from headrace.api.links import links_to

    one = found.alert
    show(
        facts(
            [
                ("alert", one.alert_id),
                ("about", subject_text(one)),
                ("what", one.kind),
                ("state", one.state),
                ("since", one.at),
                ("why", one.facts.get("reason")),
                ("owners", one.subject.owners),
                ("also affected", tuple(one.affected)),
                ("route", one.route or "no route matches: no one is notified"),
                ("acknowledged by", one.acknowledged_by),
                ("at", one.acknowledged_at),
                ("until", one.acknowledged_until),
                ("comment", one.comment),
                ("steps start again at", one.next_at),
                ("closed at", one.closed_at),
                ("page", links_to("alerts", str(one.alert_id)).page),
            ]
        )
    )
    if found.alert_events:
        rows = [
            (each.alert_event.at, each.alert_event.kind, each.alert_event.subject.key)
            for each in found.alert_events
        ]
        show(table(["time", "event", "subject"], rows))
    if one.acknowledgements:
        history_rows = [
            (each.at, each.action, each.by, each.holder, each.until, each.comment)
            for each in one.acknowledgements
        ]
        show(table(["time", "acknowledgement", "by", "holder", "until", "comment"], history_rows))
    if found.notifications:
        header = ["notification", "to", "state", "due", "sent", "#tries", "reason"]
        show(table(header, [notification_cells(each) for each in found.notifications]))


def holder(alert: Alert) -> str:
    """Return who has acknowledged an alert, and until when."""
    until = f" until {alert.acknowledged_until:%Y-%m-%d %H:%M}Z" if alert.acknowledged_until else ""
    return f"{alert.acknowledged_by}{until}"


def subject_text(alert: Alert) -> str:
    """Return the dataset or process of an alert, with its partition."""
    partition = alert.facts.get("partition")
    return f"{alert.subject.key} [{partition}]" if partition else alert.subject.key


def recipient_text(recipient: Recipient) -> str:
    """Return a destination with its address."""
    return f"{recipient.destination} ({recipient.address})" if recipient.address else recipient.destination


def notification_cells(notification: Notification) -> tuple[object, ...]:
    """Return the row of a notification."""
    return (
        notification.purpose,
        recipient_text(notification.recipient),
        notification.state,
        notification.due_at,
        notification.sent_at,
        notification.tries,
        notification.reason,
    )
