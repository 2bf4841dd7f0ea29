"""Text of a notification: event, time, cause, affected datasets and deadlines, next step, links. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.alerts.records import AcknowledgementAction, Alert, AlertState, Breach, Notification, Purpose
from headrace.alerts.rules import Links
from headrace.slas.events import Kind, SubjectType
from headrace.slas.status import OUT_OF_ORDER, OUTAGE, SlaStatus

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
    Purpose.REPEATED: "Still unresolved: ",
    Purpose.BREACHED: "",
    Purpose.HANDED_OVER: "Handed over to you: ",
    Purpose.RECOVERED: "Recovered: ",
    Purpose.UNDELIVERED: "Recovered: ",
    Purpose.JOINED: "Part of {part_of}: ",
}
_OVER = (Purpose.RECOVERED, Purpose.UNDELIVERED)
_ENDED = {
    "PAUSED": "Paused: ",
    "SLA_CHANGED": "SLA changed: ",
    "RETIRED": "Retired: ",
    "RESOLVED": "Resolved: ",
}
_LATE_NEWS = "This is the first notification about this alert that reached you."


@dataclass(frozen=True, slots=True)
class AffectedSubject:
    """An affected dataset or process, with its next deadline that is not met."""

    key: str
    owners: tuple[str, ...] = ()
    deadline: datetime | None = None
    timezone: str | None = None
    status: SlaStatus | None = None
    type: SubjectType = SubjectType.DATASET


@dataclass(frozen=True, slots=True)
class AffectedSubjects:
    """The affected subjects, next deadline first, their total number, and the runbook of the alert's subject."""

    named: tuple[AffectedSubject, ...] = ()
    count: int = 0
    runbook: str | None = None


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
    affected: AffectedSubjects = AffectedSubjects(),
    link: str | None = None,
) -> NotificationText:
    """Render a notification that is sent at `now`. link: where its recipient opens and acknowledges the alert."""
    if breaches := _breaches(alert, notification):
        return _render_breaches(alert, notification, breaches, links, now, affected, link)
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
        ("Deadlines", _deadlines(affected) if not over else None),
        ("Acknowledged", _acknowledged(alert)),
        ("Runbook", affected.runbook if not over else None),
        ("Note", _LATE_NEWS if notification.purpose is Purpose.UNDELIVERED else None),
        ("Next", None if over else " ".join(_merge_notice(facts) if merged else _advice(alert))),
    ]
    found = [*_links(alert.subject.key, alert, links), *_alert_link(alert, link, ends=over or merged)]
    return _text(head, lines, found)


def _render_breaches(
    alert: Alert,
    notification: Notification,
    breaches: Sequence[Breach],
    links: Links,
    now: datetime,
    affected: AffectedSubjects,
    link: str | None,
) -> NotificationText:
    """Render a notification about deadlines that passed in an incident, to the owners of their datasets."""
    over = notification.purpose in _OVER
    merged = notification.purpose is Purpose.JOINED
    first = breaches[0]
    advice = [f"`headrace sla explain {first.key}` shows what it waits for."]
    causes = [] if alert.subject.key == first.key else [sentence(alert, now)]
    causes += [cause] if (cause := _cause(alert.facts)) else []
    owners = dict.fromkeys(owner for each in breaches for owner in each.owners)
    lines = [
        (
            "What",
            " ".join(_breach(each, over=over) for each in breaches[:MAX_LISTED])
            + (f" And {len(breaches) - MAX_LISTED:,} more." if len(breaches) > MAX_LISTED else "")
            + (f" {_ending(alert)}" if over else "")
            + (f" It is now part of {alert.facts.get('part_of')}." if merged else ""),
        ),
        ("Cause", " ".join(causes)),
        ("Owners", ", ".join(owners) or "none"),
        ("Acknowledged", _acknowledged(alert)),
        ("Runbook", affected.runbook if not over else None),
        ("Note", _LATE_NEWS if notification.purpose is Purpose.UNDELIVERED else None),
        ("Next", None if over else " ".join(_merge_notice(alert.facts) if merged else advice)),
    ]
    found = [*_links(first.key, alert, links), *_alert_link(alert, link, ends=over or merged)]
    return _text(_title(alert, notification), lines, found)


def _text(title: str, lines: Sequence[tuple[str, str | None]], links: Sequence[str]) -> NotificationText:
    body = "\n".join(_one_line(f"{name}: {text}", MAX_LINE_LENGTH) for name, text in lines if text)
    return NotificationText(_one_line(title), "\n\n".join([body, *(["\n".join(links)] if links else [])]))


def _breach(breach: Breach, *, over: bool) -> str:
    at = _at(breach.deadline, breach.timezone)
    subject = _with_partition(breach.key, breach.partition)
    state = _WAS.get(breach.kind, _IS[breach.kind]) if over else _IS[breach.kind]
    return f"{subject} {state}; it was due {at}."


def sentence(alert: Alert, now: datetime) -> str:
    """Describe the event and its time in one line."""
    return _one_line(f"{_subject(alert)} {_is(alert)}, since {_since(alert, now)}.")


def digest(reported: Sequence[tuple[Alert, Notification]], links: Links, now: datetime) -> NotificationText:
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
            f"Alerts: {links.catalog}/alerts" if links.catalog else "Next: run `headrace alerts list`.",
        ]
    )
    ended = all(notification.purpose.is_end for _, notification in reported)
    return NotificationText(f"{len(reported):,} more alerts{' have ended' if ended else ''}", body)


def _title(alert: Alert, notification: Notification) -> str:
    before = _before(alert, notification)
    breaches = _breaches(alert, notification)
    if not breaches:
        return f"{before}{alert.kind} {_subject(alert)}"
    first, more = breaches[0], f" and {len(breaches) - 1:,} more" if len(breaches) > 1 else ""
    return f"{before}{first.kind} {_with_partition(first.key, first.partition)}{more}"


def _breaches(alert: Alert, notification: Notification) -> list[Breach]:
    """Return the broken deadlines that the notification is about; none if it is about the alert's subject."""
    return [each for each in alert.breaches if each.key in notification.subjects]


def _before(alert: Alert, notification: Notification) -> str:
    before = _TITLES[notification.purpose].replace(
        "{part_of}", str(alert.facts.get("part_of", "another alert"))
    )
    if notification.purpose in _OVER:
        before = _ENDED.get(str(alert.facts.get("ended_by")), before)
    return before


def _ending(alert: Alert) -> str:
    """Say why it is over: because it recovered, was paused, or is no longer agreed."""
    at = _at(alert.closed_at, alert.facts.get("timezone"))
    match alert.facts.get("ended_by"):
        case "PAUSED":
            pause = str(alert.facts.get("pause") or "a pause")
            by = f"by the {pause}" if pause.startswith(OUTAGE) else f"({pause})"
            return f"Paused {_sentence(by)} Since {at}, no delivery is expected."
        case "SLA_CHANGED":
            return f"At {at} the SLA was changed; the former deadline was not met."
        case "RETIRED":
            return f"At {at} {_subject(alert)} was retired; its SLA no longer applies."
        case "RESOLVED":
            comment = f": {_sentence(alert.comment)}" if alert.comment else "."
            return f"Resolved by {alert.facts.get('resolved_by')} at {at}{comment}"
        case _:
            return f"Resolved at {at}."


def _subject(alert: Alert) -> str:
    name = alert.subject.key if alert.subject.type is SubjectType.DATASET else _named(alert)
    return _with_partition(name, alert.facts.get("partition"))


def _with_partition(name: str, partition: object) -> str:
    return f"{name} [{partition}]" if partition else name


def _named(alert: Alert) -> str:
    return f"{alert.subject.type.lower()} {alert.subject.key}"


def _is(alert: Alert) -> str:
    return _IS.get(alert.kind, f"is {alert.kind.lower().replace('_', ' ')}")


def _was(alert: Alert) -> str:
    return _WAS.get(alert.kind, _is(alert))


def _since(alert: Alert, now: datetime) -> str:
    deadline, zone = _time(alert.facts.get("deadline")), alert.facts.get("timezone")
    due = f", due {_at(deadline, zone)}" if deadline and deadline != alert.at else ""
    return f"{_at(alert.at, zone)}, {_span(now - alert.at)}{due}"


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
    zone = facts.get("timezone")
    between = f", between {_at(first, zone)} and {_at(last, zone)}" if first and last else ""
    miss_probability = facts.get("miss_probability")
    miss = (
        f"; the probability of missing the deadline is {miss_probability:.0%}"
        if isinstance(miss_probability, int | float)
        else ""
    )
    return f"{_at(expected, zone)}{between}{miss}"


def _affected(affected: AffectedSubjects) -> str | None:
    if not affected.count:
        return None
    named = [
        f"{each.key} ({', '.join(each.owners)})" if each.owners else each.key
        for each in affected.named[:MAX_LISTED]
    ]
    more = affected.count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _deadlines(affected: AffectedSubjects) -> str | None:
    """List by when the affected subjects are due, or since when they are late."""
    due = [each for each in affected.named if each.deadline]
    return "; ".join(
        f"{each.key} {'late since' if each.status in OUT_OF_ORDER - {SlaStatus.AT_RISK} else 'by'} "
        f"{_at(each.deadline, each.timezone)}"
        for each in due[:MAX_LISTED]
    )


def _acknowledged(alert: Alert) -> str | None:
    """Say who is working on it, or that they no longer are."""
    last = alert.acknowledgements[-1] if alert.acknowledgements else None
    if alert.acknowledged_by is None:
        if (
            last is None
            or last.action is not AcknowledgementAction.EXPIRED
            or alert.state is not AlertState.OPEN
        ):
            return None
        return f"no longer; the acknowledgement of {last.holder} expired at {_at(last.at)}"
    until = f" until {_at(alert.acknowledged_until)}" if alert.acknowledged_until else ""
    handed_over = (
        f", handed over by {last.by}" if last and last.action is AcknowledgementAction.HANDED_OVER else ""
    )
    comment = f": {alert.comment}" if alert.comment else ""
    return f"by {alert.acknowledged_by}{until}{handed_over}{comment}"


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


def _links(key: str, alert: Alert, links: Links) -> Iterator[str]:
    """Yield the pages of Dagster's UI and of the catalog: the run that failed, the dataset, its SLA."""
    run = alert.facts.get("dagster_run_id")
    if links.dagster and run:
        yield f"Run: {links.dagster}/runs/{quote(str(run))}"
    if links.dagster and (key != alert.subject.key or alert.subject.type is SubjectType.DATASET):
        yield f"Asset: {links.dagster}/assets/{quote(key)}"
    if links.catalog:
        yield from _catalog_pages(key, alert, links.catalog)


def _catalog_pages(key: str, alert: Alert, catalog: str) -> Iterator[str]:
    run, whole = alert.facts.get("run_id"), alert.facts.get("part_of_id")
    match alert.kind:
        case _ if key != alert.subject.key:
            yield f"SLA: {catalog}/slas/{quote(key)}"
        case Kind.AT_RISK | Kind.LATE | Kind.MISSED:
            yield f"SLA: {catalog}/slas/{quote(key)}"
        case Kind.RUN_FAILED if run:
            yield f"Failed run: {catalog}/runs/{quote(str(run))}"
        case Kind.CHECK_FAILED | Kind.UNUSUAL_ROW_COUNT | Kind.SCHEMA_CHANGED:
            yield f"Dataset: {catalog}/datasets/{quote(key)}"
    if whole:
        yield f"Part of: {catalog}/alerts/{quote(str(whole))}"


def _alert_link(alert: Alert, link: str | None, *, ends: bool) -> Iterator[str]:
    """Yield how to acknowledge the alert if no one has, otherwise only where it is shown."""
    if not ends and alert.incident_id is not None and alert.acknowledged_by is None:
        yield f"Acknowledge: {link or f'headrace alerts ack {alert.alert_id}'}"
    elif link:
        yield f"Alert: {link}"


def _time(value: object) -> datetime | None:
    """Parse a time in the facts, which are JSON. An invalid one must not stop the notification."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def _at(moment: datetime | None, timezone: object = None) -> str:
    """Format a moment in UTC and, if it is known, in the time zone of the SLA."""
    if moment is None:
        return "an unknown time"
    utc = moment.astimezone(UTC)
    if not isinstance(timezone, str) or (zone := _zone(timezone)) is None:
        return f"{utc:%Y-%m-%d %H:%M}Z"
    local = moment.astimezone(zone)
    return f"{utc:%Y-%m-%d %H:%M}Z ({local:{'%H:%M' if local.date() == utc.date() else '%Y-%m-%d %H:%M'}} {timezone})"


def _zone(name: str) -> ZoneInfo | None:
    """Return a zone; None for UTC, and for a name that this machine does not know, which must not stop the message."""
    try:
        return None if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _span(length: timedelta) -> str:
    minutes = int(length.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    return f"{minutes} min ago" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min ago"


def _one_line(text: str, longest: int = MAX_TITLE_LENGTH) -> str:
    """Remove line breaks: a name or reason must not begin another mail header, or another line of the message."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
