"""Routing rules: who is notified of which alerts, and when. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from headrace.severity import Severity

OWNERS = "owners"  # in a step: the owners of the alert's subject
ANY_OWNER = "*"  # in owners: the default for owners without an entry
_DAY = timedelta(days=1)
_SOME_DAY = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday without a clock change in the days after it
_MAX_CONSECUTIVE_QUIET_PERIODS = 20
REPEAT_EVERY = timedelta(hours=4)
ACKNOWLEDGE_FOR = timedelta(hours=8)  # a shift


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of the week: from `start` to `end` in local time, across midnight if `end` is not after `start`.

    days: those on which they begin, Monday is 0.
    """

    start: time
    end: time
    zone: ZoneInfo
    days: frozenset[int] = frozenset(range(7))

    def until(self, at: datetime) -> datetime | None:
        """Return the end of the hours that contain the moment; None if it is outside."""
        today = at.astimezone(self.zone).date()
        for day in (today - _DAY, today):
            begin = datetime.combine(day, self.start, self.zone)
            end = datetime.combine(day if self.end > self.start else day + _DAY, self.end, self.zone)
            # Compared as instants: within one zone, Python compares local times.
            if day.weekday() in self.days and begin.timestamp() <= at.timestamp() < end.timestamp():
                return end
        return None

    def covers(self, other: Hours) -> bool:
        """Return True if the moments of the other hours are certainly all in these."""
        return (self.start == self.end and len(self.days) == len(range(7))) or self == other


@dataclass(frozen=True, slots=True)
class Quiet:
    """Hours in which only alerts of severity `least` or higher are sent; the others wait for their end."""

    hours: Hours
    least: Severity


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate limit: at most so many notifications within a period; the rest is merged into a digest."""

    at_most: int
    within: timedelta


@dataclass(frozen=True, slots=True)
class Destination:
    """An apprise URL, in which ${NAME} is an environment variable and {owner} an owner's address."""

    name: str
    url: str = field(repr=False)
    limit: Limit

    @property
    def is_personal(self) -> bool:
        """True if its address is the owner's."""
        return "{owner}" in self.url


@dataclass(frozen=True, slots=True)
class Step:
    """Whom to notify if the alert is not acknowledged after this time: destinations, or OWNERS."""

    to: tuple[str, ...]
    after: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Route:
    """Which alerts it matches, and its escalation steps. Empty fields match all.

    repeat_every: how long after the last step the steps begin again; None: never.
    """

    name: str
    steps: tuple[Step, ...]
    domains: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    least: Severity = Severity.INFO
    hours: Hours | None = None
    repeat_every: timedelta | None = REPEAT_EVERY

    def fits(self, domain: str, owners: Sequence[str], severity: Severity, at: datetime) -> bool:
        """Return True if it matches an alert of this domain, these owners and this severity at this moment."""
        return (
            (not self.domains or domain in self.domains)
            and (not self.owners or not self.owners.isdisjoint(owners))
            and is_worse(severity, self.least, or_same=True)
            and (self.hours is None or self.hours.until(at) is not None)
        )

    def covers(self, other: Route) -> bool:
        """Return True if it matches every alert that the other route matches."""
        return (
            (not self.domains or (bool(other.domains) and self.domains >= other.domains))
            and (not self.owners or (bool(other.owners) and self.owners >= other.owners))
            and not is_worse(self.least, other.least)
            and (self.hours is None or (other.hours is not None and self.hours.covers(other.hours)))
        )


@dataclass(frozen=True, slots=True)
class Recipient:
    """One destination, and the address for a personal one."""

    destination: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Links:
    """Links in notifications: the URLs of Dagster's UI and of the catalog."""

    dagster: str | None = None
    catalog: str | None = None


@dataclass(frozen=True, slots=True)
class AlertRules:
    """All routing rules. owners: the destinations of each owner. heartbeat: a URL to ping while alerting works.

    acknowledge_for: how long an acknowledgement without a duration lasts.
    """

    destinations: dict[str, Destination] = field(default_factory=dict)
    owners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    quiet: tuple[Quiet, ...] = ()
    links: Links = Links()
    heartbeat: str | None = field(default=None, repr=False)
    acknowledge_for: timedelta = ACKNOWLEDGE_FOR

    def route(self, domain: str, owners: Sequence[str], severity: Severity, at: datetime) -> Route | None:
        """Return the first matching route; None if no one is to be notified."""
        return next((route for route in self.routes if route.fits(domain, owners, severity, at)), None)

    def recipients(self, step: Step, owners: Sequence[str]) -> tuple[Recipient, ...]:
        """Return the recipients of a step, without duplicates."""
        found: dict[Recipient, None] = {}
        for name in step.to:
            if name != OWNERS:
                found[Recipient(name)] = None
                continue
            for owner in owners:
                for destination in self.owners.get(owner, self.owners.get(ANY_OWNER, ())):
                    if not self.destinations[destination].is_personal:
                        found[Recipient(destination)] = None
                    elif "@" in owner:
                        found[Recipient(destination, owner)] = None
        return tuple(found)

    def not_before(self, severity: Severity, at: datetime) -> datetime:
        """Return the earliest time to send an alert of this severity: now, or the end of quiet hours."""
        for _ in range(_MAX_CONSECUTIVE_QUIET_PERIODS):
            ends = [
                end
                for quiet in self.quiet
                if is_worse(quiet.least, severity) and (end := quiet.hours.until(at)) is not None
            ]
            if not ends:
                break
            at = max(ends).astimezone(at.tzinfo)
        return at


def never_ends(quiet: Sequence[Quiet], severity: Severity) -> bool:
    """Return True if quiet hours hold an alert of this severity back for a whole week."""
    held = [each.hours for each in quiet if is_worse(each.least, severity)]
    at = _SOME_DAY
    while at < _SOME_DAY + 8 * _DAY:
        ends = [end for hours in held if (end := hours.until(at)) is not None]
        if not ends:
            return False
        at = max(ends).astimezone(UTC)
    return True


def is_worse(severity: Severity, other: Severity, *, or_same: bool = False) -> bool:
    """Return True if the first severity is the higher one."""
    return severity > other or (or_same and severity == other)
