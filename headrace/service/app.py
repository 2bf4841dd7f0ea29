"""The service's application: routes and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import FastAPI
from sqlalchemy import Engine

from headrace import pages
from headrace.api import (
    access,
    alerts,
    audit,
    candidates,
    completions,
    document,
    estate,
    events,
    health,
    lineage,
    night,
    openmetadata,
    policies,
    processes,
    recent,
    slas,
)
from headrace.api.datasets import (
    columns,
    datasets,
    differences,
    materialization,
    pointers,
    profiles,
    proposed_changes,
    registrations,
    retirement,
    rows,
    search,
    sensitive,
)
from headrace.context import current_context
from headrace.gates import Moment, is_gated
from headrace.http import problems, security
from headrace.http.bodies import Bodies
from headrace.http.coalescing import EventQueues
from headrace.http.etags import ETags
from headrace.http.head_requests import Heads
from headrace.http.limits import Limits
from headrace.http.metrics import Metrics, RequestObserver

_THREADS = 14  # concurrent database requests: slightly fewer than the engine has connections


def create_app(engine: Engine) -> FastAPI:
    """Create the ASGI application over the catalog of the engine.

    Raises CatalogUnavailable if the database cannot be reached, or cannot enforce row-level security.
    """
    security.require_roles(engine)
    app = assembled()
    connect(app, engine)
    return app


def assembled() -> FastAPI:
    """Create the routes with everything around them, without a catalog.

    Raises UnguardedRoute for a route without a permission.
    """
    app = routed()
    metrics = Metrics()
    app.state.metrics = metrics
    app.add_middleware(ETags)
    app.add_middleware(Heads)
    app.add_middleware(Bodies)
    app.add_middleware(security.AuthenticatedBodies)
    app.add_middleware(Limits, rate=current_context().settings.requests_per_second)
    app.add_middleware(RequestObserver, metrics=metrics)
    problems.install(app)
    pages.install(app)
    security.install(app)
    return app


def connect(app: FastAPI, engine: Engine) -> None:
    """Let an application serve the catalog of the engine, which is migrated and enforces row-level security."""
    app.state.engine = engine
    app.state.event_queues = EventQueues(engine)
    security.connect(app, engine)


def routed() -> FastAPI:
    """Create the routes and the OpenAPI document, without a catalog."""
    app = FastAPI(
        title="Headrace catalog",
        version=version("headrace"),
        description="Datasets, versions, lineage and SLAs; accepts events of any OpenLineage producer.",
        openapi_url="/api/v1/openapi.json",
        docs_url="/api/v1/docs",
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        lifespan=_lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    # Routes are matched in order, and a dataset's key may have any number of segments, so more specific routes come
    # first. The routes that are called hundreds of times per second come before all others.
    for module in (
        events,
        completions,
        health,
        slas,
        alerts,
        audit,
        access,
        candidates,
        estate,
        recent,
        night,
        search,
        registrations,
        openmetadata,
        policies,
        proposed_changes,
        lineage,
        columns,
        sensitive,
        processes,
        pointers,
        materialization,
        rows,
        differences,
        profiles,
        retirement,
        datasets,
    ):
        app.include_router(module.router)
    pages.include(app)
    document.install(app)
    return app


@asynccontextmanager
async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    await anyio.to_thread.run_sync(is_gated, Moment.EVENT)  # reads the policies before the first event
    yield
