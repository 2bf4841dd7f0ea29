"""Routes for whoever watches over the service: whether it lives, whether it can work, and its measures."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Depends, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from catalog.access.callers import Permission
from catalog.api.observing import Metrics
from catalog.api.problems import Problem, unavailable
from catalog.api.security import requires
from catalog.api.subjects import Database
from catalog.database import revision
from catalog.errors import CatalogUnavailable
from catalog.migrations import HEAD

router = APIRouter(tags=["service"])
OPERATE = requires(Permission.OPERATE)


class Health(BaseModel):
    """That the service is well."""

    status: Literal["ok"] = "ok"


@router.get("/health/live", summary="Say that the service lives")
async def live() -> Health:
    """Answers as long as the process does."""
    return Health()


@router.get(
    "/health/ready",
    summary="Say whether the service can work",
    response_model=Health,
    responses={HTTPStatus.SERVICE_UNAVAILABLE.value: {"model": Problem}},
)
def ready(request: Request, engine: Database) -> Response | Health:
    """Answers 503 while the catalog's database is away, or is of another version than the service."""
    try:
        found = revision(engine)
    except CatalogUnavailable:
        return unavailable(request.scope)
    return Health() if found == HEAD else unavailable(request.scope)


@router.get(
    "/metrics",
    summary="Measures for Prometheus",
    response_class=PlainTextResponse,
    dependencies=[Depends(OPERATE)],
)
def metrics(request: Request) -> Response:
    """Requests and events by what became of them, and how long answers took."""
    measures: Metrics = request.app.state.metrics
    return Response(generate_latest(measures.registry), media_type=CONTENT_TYPE_LATEST)
