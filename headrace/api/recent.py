"""The route for what happens now and happened lately."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headrace.api.paging import Limit
from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.queries.recent import Recent, recent

router = APIRouter(prefix="/api/v1", tags=["processes"])


@router.get("/recent", summary="Show what runs, failed and arrived", response_model=Recent)
def show_recent(
    engine: Database,
    caller: Reader,
    hours: Annotated[float, Query(gt=0, le=24 * 31, description="How far back to look.")] = 12,
    limit: Limit = 100,
) -> Response:
    """Show running runs, failed runs that were not made good since, and datasets that arrived, newest first."""
    since = datetime.now(UTC) - timedelta(hours=hours)
    return shown(engine, caller, recent(engine, since, limit))
