"""The night as a timeline of all schedulers: what ran, runs and is due, and how it differs from another night."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from headrace.api.night import show_night, show_night_plan
from headrace.api.subjects import Database
from headrace.pages.forms import Time, none_if_empty
from headrace.pages.night import timeline
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)
_MAX_HOURS = 168
Minute = Annotated[int, Field(ge=0, le=60 * _MAX_HOURS)]
_MAX_SUGGESTED = 100  # processes with a deadline
_MAX_RUNS = 2000  # of a night
MAX_ROWS = 300  # drawn at once; the filter finds the others


@router.get("/night")
def show_night_page(
    request: Request,
    engine: Database,
    caller: Viewer,
    since: Time = None,
    hours: Annotated[int, Query(ge=1, le=_MAX_HOURS)] = 24,
    compare: Time = None,
    q: Annotated[str, Query(max_length=500)] = "",
    boxes: Annotated[Literal["folded"] | None, Query()] = None,
    minute: Annotated[Minute | None, BeforeValidator(none_if_empty), Query()] = None,
    plan: bool = False,
    target: Annotated[str, Query(max_length=4000)] = "",
) -> Response:
    """Show the runs and deadlines of a time, by process; without one, of the last hours and the next ones.

    minute: as it was so many minutes after the beginning. plan: with the expected runs and the critical path to the
    target, which take longer to find.
    """
    now = datetime.now(UTC)
    length = timedelta(hours=hours)
    begin = since or (now - length * 3 / 4).replace(minute=0, second=0, microsecond=0)
    night = answered(show_night(engine, caller, begin, begin + length, q, _MAX_RUNS))
    other = answered(show_night(engine, caller, compare, compare + length, q, _MAX_RUNS)) if compare else None
    at = None if minute is None else min(begin + timedelta(minutes=minute), begin + length, now)
    planned = None
    if at is not None:
        night = timeline.as_of(night, at)
    elif plan:
        planned = answered(show_night_plan(engine, caller, begin, begin + length, target.strip() or None))
    rows = [row for row in timeline.rows(night, at or now, other, planned) if _matches(row, q.casefold())]
    return page(
        request,
        "night.html",
        night=night,
        rows=rows[:MAX_ROWS],
        count=len(rows),
        ticks=timeline.ticks(begin, begin + length),
        now_at=((at or now) - begin) / length * timeline.WIDTH,
        since=begin,
        hours=hours,
        compare=compare,
        earlier=begin - length,
        later=begin + length,
        q=q,
        folded=boxes == "folded",
        at=at,
        minute=minute,
        newest_minute=int(min(length, max(now - begin, timedelta())) / timedelta(minutes=1)),
        states=Counter(run["state"] for run in night["runs"]),
        plan=planned,
        target=target,
        due=sorted({key for each in night["deadlines"] for key in each["process_keys"]})[:_MAX_SUGGESTED],
    )


def _matches(row: timeline.Row, words: str) -> bool:
    return words in row.key.casefold() or any(_matches(member, words) for member in row.members)
