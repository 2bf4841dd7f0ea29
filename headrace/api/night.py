"""Routes for a night: its runs and deadlines, and its plan."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime
from starlette.responses import Response

from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.estates.night_plan import NightPlan, night_plan
from headrace.http.problems import RequestRefused
from headrace.queries.night import MAX_RUNS, Night, night

router = APIRouter(prefix="/api/v1", tags=["processes"])
MAX_LENGTH = timedelta(days=7)


Since = Annotated[AwareDatetime, Query(description="From this time: ISO 8601 with a zone.")]
Until = Annotated[AwareDatetime, Query(description="Until this time, at most seven days later.")]


@router.get("/night", summary="Show the runs and deadlines of a time", response_model=Night)
def show_night(
    engine: Database,
    caller: Reader,
    since: Since,
    until: Until,
    q: Annotated[
        str, Query(max_length=500, description="Only of processes with this in their key, in any case.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS, description="Maximum number of runs.")] = MAX_RUNS,
) -> Response:
    """Show the runs of all schedulers that touch the time, and the deadlines in it with their outcome."""
    _refuse_wrong(since, until)
    return shown(engine, caller, night(engine, since, until, q, limit))


@router.get(
    "/night/plan", summary="Show the expected runs and the critical path of a time", response_model=NightPlan
)
def show_night_plan(
    engine: Database,
    caller: Reader,
    since: Since,
    until: Until,
    target: Annotated[
        str | None,
        Query(
            max_length=4000,
            description="The process whose end is explained; by default the one with the most urgent deadline, or "
            "the last one.",
        ),
    ] = None,
) -> Response:
    """Show the newest or expected run of each process, how much later each could end, and the critical path.

    Jobs of Autosys are expected by their schedules and conditions, other processes as a week ago.
    """
    _refuse_wrong(since, until)
    return shown(engine, caller, night_plan(engine, since, until, datetime.now(UTC), target))


def _refuse_wrong(since: datetime, until: datetime) -> None:
    if not timedelta() < until - since <= MAX_LENGTH:
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"until: must be later than since, by {MAX_LENGTH.days} days at most",
            field="query.until",
        )
