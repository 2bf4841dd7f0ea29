"""Business calendars by name: an exchange (XLON), a country or subdivision (GB, US-NY), or a scanned estate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from headrace.context import current_context

if TYPE_CHECKING:
    from psycopg import Cursor

SATURDAY = 5  # as a number of `date.weekday`


class UnknownCalendar(ValueError):
    """No business calendar has this name."""


class Calendar(Protocol):
    """A calendar of business days."""

    def is_open(self, day: date) -> bool:
        """Return True on a business day."""


@dataclass(frozen=True, slots=True)
class Calendars:
    """All calendars: those of scanned estates by (instance, name), which precede those of the libraries."""

    imported: Mapping[tuple[str, str], frozenset[date]] = field(default_factory=dict)

    def named(self, name: str, instance: str = "") -> Calendar:
        """Return the calendar of this name: the instance's own, one of any instance, an exchange's, a country's.

        Raises UnknownCalendar listing the available ones.
        """
        own = self.imported.get((instance, name))
        if own is None:
            own = next((days for (_, known), days in sorted(self.imported.items()) if known == name), None)
        return _Days(own) if own is not None else library_calendar(name)


def load(cursor: Cursor[Any]) -> Calendars:
    """Load the calendars of all scanned estates."""
    cursor.execute(
        "SELECT instance, name, days FROM catalog.business_calendar WHERE organisation_id = %s",
        [current_context().organisation_id],
    )
    return Calendars({(row["instance"], row["name"]): frozenset(row["days"]) for row in cursor.fetchall()})


@dataclass(frozen=True, slots=True)
class _Days:
    days: frozenset[date]

    def is_open(self, day: date) -> bool:
        return day in self.days


@dataclass(frozen=True, slots=True)
class _Country:
    holidays: Any  # holidays.HolidayBase, a dict that fills itself on access

    def is_open(self, day: date) -> bool:
        return day.weekday() < SATURDAY and day not in self.holidays


@dataclass(slots=True)
class _Exchange:
    """Sessions of an exchange; beyond the library's range, every weekday that its rules do not close."""

    sessions: frozenset[date]
    first: date
    last: date
    code: str

    def is_open(self, day: date) -> bool:
        if not self.first <= day <= self.last:
            raise UnknownCalendar(
                f"the calendar of {self.code} is known from {self.first} to {self.last} only, not on {day}"
            )
        return day in self.sessions


@cache
def library_calendar(name: str) -> Calendar:
    """Return the calendar of an exchange, country or subdivision. Raises UnknownCalendar."""
    import holidays

    country, _, subdivision = name.partition("-")
    if country in holidays.list_supported_countries():
        try:
            return _Country(holidays.country_holidays(country, subdiv=subdivision or None))
        except NotImplementedError as error:
            raise UnknownCalendar(f"no calendar {name!r}: {error}") from error
    import exchange_calendars

    if name not in exchange_calendars.get_calendar_names():
        raise UnknownCalendar(
            f"unknown calendar {name!r}: use the code of an exchange (XLON), of a country or subdivision (GB, US-NY), "
            "or the name of a calendar of a scanned estate"
        )
    today = date.today()  # noqa: DTZ011 - how far the library is asked for, not what is judged
    calendar = exchange_calendars.get_calendar(
        name, start=today.replace(month=1, day=1) - timedelta(days=6 * 365)
    )
    sessions = frozenset(session.date() for session in calendar.sessions)
    return _Exchange(sessions, min(sessions), max(sessions), name)
