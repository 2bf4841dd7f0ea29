"""The night as a timeline of all schedulers: what ran, runs and is due, and how it differs from another night."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from headrace.api.night import show_night
from headrace.api.subjects import Database
from headrace.pages.forms import Time
from headrace.pages.night import timeline
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)
MAX_ROWS = 300  # drawn at once; the filter finds the others


@router.get("/night")
def show_night_page(
    request: Request,
    engine: Database,
    caller: Viewer,
    since: Time = None,
    hours: Annotated[int, Query(ge=1, le=168)] = 24,
    compare: Time = None,
    q: Annotated[str, Query(max_length=500)] = "",
    boxes: Annotated[Literal["folded"] | None, Query()] = None,
) -> Response:
    """Show the runs and deadlines of a time, by process; without one, of the last hours and the next ones."""
    now = datetime.now(UTC)
    length = timedelta(hours=hours)
    begin = since or (now - length * 3 / 4).replace(minute=0, second=0, microsecond=0)
    night = answered(show_night(engine, caller, begin, begin + length))
    other = answered(show_night(engine, caller, compare, compare + length)) if compare else None
    rows = [row for row in timeline.rows(night, now, other) if _matches(row, q.casefold())]
    return page(
        request,
        "night.html",
        night=night,
        rows=rows[:MAX_ROWS],
        count=len(rows),
        ticks=timeline.ticks(begin, begin + length),
        now_at=(now - begin) / length * timeline.WIDTH,
        since=begin,
        hours=hours,
        compare=compare,
        earlier=begin - length,
        later=begin + length,
        q=q,
        folded=boxes == "folded",
    )


def _matches(row: timeline.Row, words: str) -> bool:
    return words in row.key.casefold() or any(_matches(member, words) for member in row.members)
