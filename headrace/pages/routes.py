"""The pages of the application: their routes, and what surrounds them."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.sessions import SessionMiddleware

from headrace.context import current_context
from headrace.pages import (
    access,
    approvals,
    datasets,
    design,
    estate,
    links,
    platform,
    policies,
    processes,
    runs,
    sensitive,
    sign_in,
    slas,
    static_files,
    tonight,
)
from headrace.pages.alerts import alerts, incidents
from headrace.pages.alerts import links as alert_links
from headrace.pages.lineage import routes as lineage
from headrace.pages.night import routes as night
from headrace.pages.refusals import ErrorPages
from headrace.pages.sessions import SIGN_IN, SignInRequired, ask_to_sign_in


def include(app: FastAPI) -> None:
    """Add the routes of the pages to those of the API."""
    for module in (
        tonight,
        night,
        datasets,
        runs,
        processes,
        lineage,
        slas,
        alerts,
        alert_links,
        incidents,
        approvals,
        policies,
        sensitive,
        estate,
        access,
        platform,
        design,
        links,
        sign_in,
        static_files,
    ):
        app.include_router(module.router)


def install(app: FastAPI) -> None:
    """Add what the pages need around the application: the state of a sign-in, and pages for errors."""
    settings = current_context().settings
    app.add_middleware(
        SessionMiddleware,
        secret_key=sign_in.state_key(settings),
        session_cookie="headrace_sign_in",
        max_age=sign_in.STATE_SECONDS,
        path=SIGN_IN,
        https_only=settings.service_url.startswith("https://"),
    )
    app.add_middleware(ErrorPages)
    app.add_exception_handler(SignInRequired, ask_to_sign_in)
