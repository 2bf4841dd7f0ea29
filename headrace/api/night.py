"""The route for the runs and deadlines of a night."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime
from starlette.responses import Response

from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.http.problems import RequestRefused
from headrace.queries.night import Night, night

router = APIRouter(prefix="/api/v1", tags=["processes"])
MAX_LENGTH = timedelta(days=7)


@router.get("/night", summary="Show the runs and deadlines of a time", response_model=Night)
def show_night(
    engine: Database,
    caller: Reader,
    since: Annotated[AwareDatetime, Query(description="From this time: ISO 8601 with a zone.")],
    until: Annotated[AwareDatetime, Query(description="Until this time, at most seven days later.")],
) -> Response:
    """Show the runs of all schedulers that touch the time, and the deadlines in it with their outcome."""
    if not timedelta() < until - since <= MAX_LENGTH:
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"until: must be later than since, by {MAX_LENGTH.days} days at most",
            field="query.until",
        )
    return shown(engine, caller, night(engine, since, until))
