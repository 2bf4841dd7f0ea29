"""How an SLA was met, day by day, for a calendar."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from headrace.pages.rendering import duration
from headrace.slas.status import DeadlineOutcome

WEEKS = 13
OUTCOMES = (  # worst first: its count in a day's row, and its words
    (DeadlineOutcome.MISSED, "missed", "missed"),
    (DeadlineOutcome.MET_LATE, "met_late", "met late"),
    (DeadlineOutcome.PAUSED, "paused", "paused"),
    (DeadlineOutcome.MET, "met", "met"),
)


def by_objective(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the rows of each objective, by kind and ordinal."""
    found = defaultdict(list)
    for each in rows:
        found[each["kind"], each["ordinal"]].append(each)
    return dict(found)


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day in the calendar. week: its column; weekday: its row, from Monday. outcome: the worst one; None if nothing
    was due."""

    day: date
    week: int
    weekday: int
    outcome: DeadlineOutcome | None
    words: str


def calendar_days(rows: Sequence[dict[str, Any]], today: date) -> list[CalendarDay]:
    """Return the days of the last weeks, in order."""
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    known = {date.fromisoformat(each["day"]): each for each in rows}
    days = (first + timedelta(days=number) for number in range((today - first).days + 1))
    return [
        CalendarDay(
            day,
            (day - first).days // 7,
            day.weekday(),
            next((outcome for outcome, name, _ in OUTCOMES if known.get(day, {}).get(name)), None),
            f"{day:%A %Y-%m-%d}: {', '.join(_words(known[day])) if day in known else 'nothing due'}",
        )
        for day in days
    ]


def _words(row: dict[str, Any]) -> Iterator[str]:
    several = sum(row[name] for _, name, _ in OUTCOMES) > 1
    for outcome, name, words in OUTCOMES:
        if row[name]:
            late = f" by {duration(row['latest'])}" if outcome is DeadlineOutcome.MET_LATE else ""
            yield f"{f'{row[name]} ' if several else ''}{words}{late}"
