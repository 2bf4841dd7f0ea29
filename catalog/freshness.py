"""Whether a dataset is fresh: its declared SLA against the time of its newest published version, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim
from pydantic import BaseModel, ConfigDict, Field

_MINUTE = timedelta(minutes=1)
# Longer than any clock change: within the hour that a night has twice, cronsim may answer from its other half.
_CLOCK_CHANGE = timedelta(hours=3)
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class FreshnessState(StrEnum):
    """How a dataset stands against its SLA."""

    FRESH = "FRESH"
    DUE = "DUE"  # in time so far, and inside the warning that the SLA asks for
    LATE = "LATE"
    NEVER = "NEVER"  # nothing has been published yet


@dataclass(frozen=True, slots=True)
class Freshness:
    """The state at one moment; `deadline` is when it turns LATE, or since when it has been."""

    state: FreshnessState
    deadline: datetime


class Sla(BaseModel):
    """An SLA as the catalog keeps it: a cron of deadlines in a zone, or a maximum age.

    within: how long before a deadline a publish counts as made for it; None: since the deadline before.
    """

    model_config = ConfigDict(frozen=True)

    deadline: str | None = None
    timezone: str = "UTC"
    within: timedelta | None = Field(default=None, alias="within_seconds")
    warn_before: timedelta | None = Field(default=None, alias="warn_before_seconds")
    max_age: timedelta | None = Field(default=None, alias="max_age_seconds")
    warn_after: timedelta | None = Field(default=None, alias="warn_after_seconds")


def freshness(sla: Mapping[str, Any], published_at: datetime | None, now: datetime) -> Freshness | None:
    """How a dataset stands at `now`, or None when its SLA promises nothing.

    Args:
        sla: the SLA as the catalog keeps it, lengths of time in seconds.
        published_at: when its newest published version was published; None before the first.
        now: the moment to judge, timezone-aware.
    """
    promise = Sla.model_validate(sla)
    if promise.deadline is not None:
        return _by_deadline(promise, promise.deadline, published_at, now)
    if promise.max_age is not None:
        return _by_age(promise.max_age, promise.warn_after, published_at, now)
    return None


def deadlines(cron: str, timezone: str, now: datetime) -> tuple[datetime, datetime]:
    """The last deadline at or before `now` and the first after it, in UTC.

    A time that the night of a clock change leaves out counts right after the gap; one that it has twice counts once.
    """
    expression = MACROS.get(cron.strip().lower(), cron)
    zone = ZoneInfo(timezone)
    forwards = CronSim(expression, now.astimezone(zone))
    backwards = CronSim(expression, (now + _CLOCK_CHANGE).astimezone(zone), reverse=True)
    upcoming = next(moment for each in forwards if (moment := each.astimezone(UTC)) > now)
    passed = next(moment for each in backwards if (moment := each.astimezone(UTC)) <= now)
    return passed, upcoming


def _by_deadline(sla: Sla, cron: str, published_at: datetime | None, now: datetime) -> Freshness:
    passed, upcoming = deadlines(cron, sla.timezone, now)
    if published_at is None:
        return Freshness(FreshnessState.NEVER, passed)
    before, _ = deadlines(cron, sla.timezone, passed - _MINUTE)
    if published_at < (passed - sla.within if sla.within else before):
        return Freshness(FreshnessState.LATE, passed)
    made_for_upcoming = published_at >= (upcoming - sla.within if sla.within else passed)
    warned = sla.warn_before is not None and now >= upcoming - sla.warn_before
    if warned and not made_for_upcoming:
        return Freshness(FreshnessState.DUE, upcoming)
    return Freshness(FreshnessState.FRESH, upcoming)


def _by_age(
    max_age: timedelta, warn_after: timedelta | None, published_at: datetime | None, now: datetime
) -> Freshness:
    if published_at is None:
        return Freshness(FreshnessState.NEVER, now)
    expires = published_at + max_age
    if now >= expires:
        return Freshness(FreshnessState.LATE, expires)
    if warn_after is not None and now >= published_at + warn_after:
        return Freshness(FreshnessState.DUE, expires)
    return Freshness(FreshnessState.FRESH, expires)
