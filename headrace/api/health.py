"""Health and metrics routes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from sqlalchemy import Engine
from starlette.responses import PlainTextResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public
from headrace.alerts.heartbeat import alerting_status
from headrace.api.responses import shown
from headrace.api.subjects import Database
from headrace.context import current_context
from headrace.database.connection import revision
from headrace.database.migrations import HEAD
from headrace.errors import CatalogUnavailable, Forbidden
from headrace.http.metrics import Metrics
from headrace.http.problems import Problem, answer, unavailable
from headrace.http.security import requires
from headrace.queries.platform import PlatformState, platform_state

router = APIRouter(tags=["service"])
OPERATE = requires(Permission.OPERATE)


class Health(BaseModel):
    """The health of the service."""

    status: Public[Literal["ok"]] = "ok"


@dataclass(frozen=True, slots=True)
class AlertingState:
    """Alerts and notifications by state. undecided: events without a decision; failed: notifications given up."""

    open: int
    acknowledged: int
    undecided: int
    overdue: int
    failed: int


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """The state of the platform and of its alerting."""

    platform: PlatformState
    alerting: AlertingState


@router.get("/health/live", summary="Liveness")
async def live() -> Health:
    """Answer as long as the process is alive."""
    return Health()


@router.get(
    "/health/ready",
    summary="Readiness",
    response_model=Health,
    responses={HTTPStatus.SERVICE_UNAVAILABLE.value: {"model": Problem}},
)
def ready(request: Request, engine: Database) -> Response | Health:
    """Answer 503 while the database is unavailable, or its schema version differs from the service's."""
    try:
        found = revision(engine)
    except CatalogUnavailable:
        return unavailable(request.scope)
    return Health() if found == HEAD else unavailable(request.scope)


@router.get(
    "/health/alerts",
    summary="Alerting health",
    response_model=Health,
    responses={HTTPStatus.SERVICE_UNAVAILABLE.value: {"model": Problem}},
)
def alerting(request: Request, engine: Database) -> Response | Health:
    """Answer 503 while the SLA sensor or the alerts sensor fails, or has no recent heartbeat.

    The error itself is not shown, as this route needs no token; `headrace alerts list` shows it.
    """
    try:
        found = alerting_status(engine, datetime.now(UTC))
    except CatalogUnavailable:
        return unavailable(request.scope)
    failing = [life.sensor for life in found.sensors if life.failed_at]
    if failing:
        detail = f"every tick of {' and '.join(failing)} fails: see `headrace alerts list`"
        return answer(request.scope, HTTPStatus.SERVICE_UNAVAILABLE, detail)
    silent = [life.sensor for life in found.sensors if life.is_silent]
    if silent:
        detail = f"no heartbeat from {' and '.join(silent)}: no notifications are sent"
        return answer(request.scope, HTTPStatus.SERVICE_UNAVAILABLE, detail)
    return Health()


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    response_class=PlainTextResponse,
)
def metrics(request: Request, engine: Database, caller: Annotated[Caller, Depends(OPERATE)]) -> Response:
    """Return requests and events by result, response times, and the status of alerting.

    They count the requests of every organisation, and so are for operators of the service's own.
    """
    configured = current_context().settings.organisation
    if caller.organisation != configured:
        raise Forbidden(
            f"the metrics count all organisations: they take {Permission.OPERATE} in {configured}"
        )
    measures: Metrics = request.app.state.metrics
    _measure_alerts(engine, measures)
    return Response(generate_latest(measures.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/api/v1/platform", summary="Show the state of the platform", response_model=PlatformAnswer)
def show_platform(engine: Database, caller: Annotated[Caller, Depends(OPERATE)]) -> Response:
    """Show versions, sensors, alerting, and what waits to be delivered."""
    found = alerting_status(engine, datetime.now(UTC))
    alerting = AlertingState(found.open, found.acknowledged, found.undecided, found.overdue, found.failed)
    return shown(engine, caller, PlatformAnswer(platform_state(engine), alerting))


def _measure_alerts(engine: Engine, measures: Metrics) -> None:
    now = datetime.now(UTC)
    found = alerting_status(engine, now)
    counts = {
        "open": found.open,
        "acknowledged": found.acknowledged,
        "undecided": found.undecided,
        "overdue": found.overdue,
        "given up": found.failed,
    }
    for name, count in counts.items():
        measures.alerts.labels(name).set(count)
    for life in found.sensors:
        silence = (now - life.ticked_at).total_seconds() if life.ticked_at else float("inf")
        measures.silence.labels(life.sensor).set(silence)
