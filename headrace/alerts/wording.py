"""Text of a notification: event, time, cause, affected datasets, next step, links. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from headrace.alerts.records import Alert, Notification, Purpose
from headrace.alerts.rules import Links
from headrace.slas.events import Kind, SubjectType
from headrace.slas.status import OUTAGE

MAX_LISTED = 10  # affected datasets, and alerts in a digest
MAX_LINE_LENGTH = 1000  # characters of a line, and
MAX_TITLE_LENGTH = 200
_IS = {
    Kind.AT_RISK: "is at risk of being late",
    Kind.LATE: "is late",
    Kind.MISSED: "was never delivered",
    Kind.RUN_FAILED: "failed",
    Kind.CHECK_FAILED: "failed a check",
    Kind.UNUSUAL_ROW_COUNT: "has an unusual row count",
    Kind.SCHEMA_CHANGED: "changed its schema",
    Kind.SENSOR_SILENT: "has stopped ticking",
}
_WAS = {
    Kind.AT_RISK: "was at risk of being late",
    Kind.LATE: "was late",
    Kind.SENSOR_SILENT: "did not tick",
}
_TITLES = {
    Purpose.RAISED: "",
    Purpose.WORSENED: "Now ",
    Purpose.ESCALATED: "Not acknowledged: ",
    Purpose.RECOVERED: "Recovered: ",
    Purpose.UNDELIVERED: "Recovered: ",
    Purpose.JOINED: "Part of {part_of}: ",
}
_OVER = (Purpose.RECOVERED, Purpose.UNDELIVERED)
_ENDED = {"PAUSED": "Paused: ", "SLA_CHANGED": "SLA changed: "}
_LATE_NEWS = "This is the first notification of it that could be delivered to you."


@dataclass(frozen=True, slots=True)
class Affected:
    """Affected datasets, nearest first, as (key, owners), and their total number."""

    named: tuple[tuple[str, tuple[str, ...]], ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class NotificationText:
    """The text of a notification."""

    title: str
    body: str


def render(
    alert: Alert,
    notification: Notification,
    links: Links,
    now: datetime,
    *,
    affected: Affected = Affected(),
    link: str | None = None,
) -> NotificationText:
    """Render a notification that is sent at `now`. link: where its recipient acknowledges with one click."""
    over = notification.purpose in _OVER
    merged = notification.purpose is Purpose.JOINED
    facts = alert.facts
    head = _title(alert, notification)
    lines = [
        (
            "What",
            f"{_subject(alert)} {_was(alert) if over else _is(alert)}."
            + (f" {_ending(alert)}" if over else "")
            + (f" It is now part of {facts.get('part_of')}." if merged else ""),
        ),
        ("Since", _since(alert, now)),
        ("Cause", _cause(facts)),
        ("Expected", _expected(facts) if not over else None),
        ("Owners", ", ".join(alert.subject.owners) or "none"),
        ("Also affected", _affected(affected)),
        ("Acknowledged", f"by {alert.acknowledged_by}" if alert.acknowledged_by else None),
        ("Note", _LATE_NEWS if notification.purpose is Purpose.UNDELIVERED else None),
        ("Next", None if over else " ".join(_merge_notice(facts) if merged else _advice(alert))),
    ]
    parts = ["\n".join(_one_line(f"{name}: {text}", MAX_LINE_LENGTH) for name, text in lines if text)]
    found = [*_links(alert, links)]
    if not (over or merged) and alert.incident_id is not None and alert.acknowledged_by is None:
        found.append(f"Acknowledge: {link or f'headrace alerts ack {alert.alert_id}'}")
    parts += ["\n".join(found)] if found else []
    return NotificationText(_one_line(head), "\n\n".join(parts))


def sentence(alert: Alert, now: datetime) -> str:
    """Describe the event and its time in one line."""
    return _one_line(f"{_subject(alert)} {_is(alert)}, since {_since(alert, now)}.")


def digest(reported: Sequence[tuple[Alert, Notification]], now: datetime) -> NotificationText:
    """Combine several notifications into one that is sent at `now`."""
    lines = [
        _one_line(f"{_title(alert, notification)}, {_since(alert, now)}")
        for alert, notification in reported[:MAX_LISTED]
    ]
    more = [f"and {len(reported) - MAX_LISTED} more"] if len(reported) > MAX_LISTED else []
    body = "\n".join(
        [
            "More alerts than the rate limit allows:",
            "",
            *lines,
            *more,
            "",
            "Next: run `headrace alerts list`.",
        ]
    )
    ended = all(notification.purpose.is_end for _, notification in reported)
    return NotificationText(f"{len(reported):,} more alerts{' have ended' if ended else ''}", body)


def _title(alert: Alert, notification: Notification) -> str:
    before = _TITLES[notification.purpose].replace(
        "{part_of}", str(alert.facts.get("part_of", "another alert"))
    )
    if notification.purpose in _OVER:
        before = _ENDED.get(str(alert.facts.get("ended_by")), before)
    return f"{before}{alert.kind} {_subject(alert)}"


def _ending(alert: Alert) -> str:
    """Say why it is over: because it recovered, was paused, or is no longer agreed."""
    at = _at(alert.closed_at)
    match alert.facts.get("ended_by"):
        case "PAUSED":
            pause = str(alert.facts.get("pause") or "a pause")
            by = f"by the {pause}" if pause.startswith(OUTAGE) else f"({pause})"
            return f"Paused {_sentence(by)} Since {at}, nothing is expected."
        case "SLA_CHANGED":
            return f"At {at} the SLA was changed; the former deadline was not met."
        case _:
            return f"Resolved at {at}."


def _subject(alert: Alert) -> str:
    partition = alert.facts.get("partition")
    name = alert.subject.key if alert.subject.type is SubjectType.DATASET else _named(alert)
    return f"{name} [{partition}]" if partition else name


def _named(alert: Alert) -> str:
    return f"{alert.subject.type.lower()} {alert.subject.key}"


def _is(alert: Alert) -> str:
    return _IS.get(alert.kind, f"is {alert.kind.lower().replace('_', ' ')}")


def _was(alert: Alert) -> str:
    return _WAS.get(alert.kind, _is(alert))


def _since(alert: Alert, now: datetime) -> str:
    deadline = _time(alert.facts.get("deadline"))
    due = f", due {_at(deadline)}" if deadline and deadline != alert.at else ""
    return f"{_at(alert.at)} ({_span(now - alert.at)}){due}"


def _cause(facts: Mapping[str, Any]) -> str | None:
    reported = [_sentence(str(facts["reason"]))] if facts.get("reason") else []
    if facts.get("waits_for"):
        minutes = facts.get("by_minutes")
        longer = f", for {float(minutes):.0f} minutes" if isinstance(minutes, int | float) else ""
        reported.append(f"Waiting for {facts['waits_for']}{longer}.")
    if facts.get("log_location"):
        reported.append(f"Log: {facts['log_location']}")
    return " ".join(reported) or None


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _expected(facts: Mapping[str, Any]) -> str | None:
    expected = _time(facts.get("expected_at"))
    if expected is None:
        return None
    first, last = _time(facts.get("expected_from")), _time(facts.get("expected_to"))
    between = f", between {_at(first)} and {_at(last)}" if first and last else ""
    miss_probability = facts.get("miss_probability")
    miss = (
        f"; the probability of a miss is {miss_probability:.0%}"
        if isinstance(miss_probability, int | float)
        else ""
    )
    return f"{_at(expected)}{between}{miss}"


def _affected(affected: Affected) -> str | None:
    if not affected.count:
        return None
    named = [f"{key} ({', '.join(owners)})" if owners else key for key, owners in affected.named[:MAX_LISTED]]
    more = affected.count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _advice(alert: Alert) -> Iterator[str]:
    facts, key = alert.facts, alert.subject.key
    run = facts.get("run_id")
    match alert.kind:
        case Kind.AT_RISK | Kind.LATE | Kind.MISSED:
            if alert.subject.type is SubjectType.DATASET:
                yield f"`headrace sla explain {key}` shows what it waits for."
            if run:
                yield f"`headrace why {run}` explains its run."
        case Kind.RUN_FAILED:
            yield f"`headrace why {run}` explains it." if run else "Check its log, then retry it."
        case Kind.CHECK_FAILED:
            yield f"If the check blocks, readers keep the previous version. `headrace show {key}` shows what failed."
        case Kind.UNUSUAL_ROW_COUNT | Kind.SCHEMA_CHANGED:
            yield f"Ask its producer whether this is intended; `headrace show {key}` shows the versions."
        case Kind.SENSOR_SILENT:
            yield "Check Automation in Dagster's UI, and that Dagster's daemon is running."


def _merge_notice(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe a merge: the other alert must be acknowledged too, since the person may not be working on its cause."""
    there = facts.get("part_of_id")
    yield f"`headrace alerts ack {there}` acknowledges it; `headrace alerts show {there}` shows it."


def _links(alert: Alert, links: Links) -> Iterator[str]:
    run = alert.facts.get("dagster_run_id")
    if links.dagster and run:
        yield f"Run: {links.dagster}/runs/{quote(str(run))}"
    if alert.subject.type is SubjectType.DATASET:
        key = quote(alert.subject.key)
        if links.dagster:
            yield f"Asset: {links.dagster}/assets/{key}"
        if links.catalog:
            yield f"Catalog: {links.catalog}/api/v1/dataset/{key}"


def _time(value: object) -> datetime | None:
    """Parse a time in the facts, which are JSON. An invalid one must not stop the notification."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def _at(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}Z" if moment else "an unknown time"


def _span(length: timedelta) -> str:
    minutes = int(length.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    return f"{minutes} min ago" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min ago"


def _one_line(text: str, longest: int = MAX_TITLE_LENGTH) -> str:
    """Remove line breaks: a name or reason must not begin another mail header, or another line of the message."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
