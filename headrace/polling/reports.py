"""Turn polled rows into reports of runs, in the form of a completion file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from headrace.job_reports.completions.fields import ALIASES, is_empty
from headrace.job_reports.completions.reports import FIELDS
from headrace.polling.polls import Poll
from headrace.polling.reading import PollFailed, Watermark

_TIMES = ("at", "started_at")


def reports(poll: Poll, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the reports of the rows, without those whose status is not one of a run."""
    columns = {column.lower(): field for field, column in poll.fields.items()}
    found = []
    for row in rows:
        report: dict[str, Any] = {"technology": poll.technology, "instance": poll.instance}
        metadata: dict[str, Any] = {}
        for column, value in row.items():
            field = columns.get(column) or ALIASES.get(column, column)
            if field in FIELDS and (column in columns or field not in columns.values()):
                report[field] = _time(poll, value) if field in _TIMES else _json(poll, value)
            elif not is_empty(value):
                metadata[column] = _json(poll, value)
        status = str(report.get("status") or "").strip()
        if status in poll.statuses:
            if poll.statuses[status] is None:
                continue
            report["status"] = poll.statuses[status]
        if metadata and isinstance(report.get("metadata", {}), dict):
            report["metadata"] = {**report.get("metadata", {}), **metadata}
        found.append({name: value for name, value in report.items() if not is_empty(value)})
    return found


def as_file(reports: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the reports as a completion file: one JSON document a line."""
    return "".join(f"{json.dumps(report, ensure_ascii=False)}\n" for report in reports).encode()


def greatest(poll: Poll, rows: Iterable[Mapping[str, Any]], before: Watermark) -> Watermark:
    """Return the greatest watermark of the rows and that before. Raises PollFailed for a missing or odd value."""
    found = before
    for row in rows:
        column = poll.watermark.lower()
        if row.get(column) is None:
            raise PollFailed(
                f"a row has no {poll.watermark}, which `watermark` names; its columns are {', '.join(row)}"
            )
        value = _as(before, row[column], poll)
        if value > found:  # type: ignore[operator]  # of one type
            found = value
    return found


def is_ascending(poll: Poll, rows: Sequence[Mapping[str, Any]], before: Watermark) -> bool:
    """Return True if the rows are in the order of their watermarks."""
    values: list[Any] = [_as(before, row[poll.watermark.lower()], poll) for row in rows]
    return all(one <= other for one, other in pairwise(values))


def _as(before: Watermark, value: Any, poll: Poll) -> Watermark:  # noqa: ANN401 - of a row
    """Return the value as the type of the watermark, which `since` has."""
    if not isinstance(before, datetime):
        try:
            return int(value)
        except (TypeError, ValueError) as error:
            raise PollFailed(
                f"{poll.watermark} is {_cut(value)}, not a whole number as `since` is"
            ) from error
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError as error:
        raise PollFailed(f"{poll.watermark} is {_cut(value)}, not a time as `since` is") from error
    if (moment.tzinfo is None) is not (before.tzinfo is None):
        has, form = (
            ("no", "without one") if moment.tzinfo is None else ("a", "with one, as 2026-01-01T00:00:00Z")
        )
        raise PollFailed(f"{poll.watermark} has {has} time zone: write `since` {form}")
    return moment


def _cut(value: object) -> str:
    return repr(str(value)[:80])


def _time(poll: Poll, value: Any) -> Any:  # noqa: ANN401 - of a row
    """Return a time with its zone; a text in another form than ISO 8601 as it is, for the ingestion to judge."""
    if isinstance(value, str):
        with suppress(ValueError):
            return _json(poll, datetime.fromisoformat(value.strip()))
    return _json(poll, value)


def _json(poll: Poll, value: Any) -> Any:  # noqa: ANN401 - of a row
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=poll.zone)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, bytes):
        return value.hex()
    return value
