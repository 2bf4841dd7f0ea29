"""The health of the platform: database, sensors, alerting, and what waits to be delivered."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.health import show_platform
from headrace.api.subjects import Database
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import signed_in

router = APIRouter(include_in_schema=False)


@router.get("/platform")
def show_platform_page(
    request: Request, engine: Database, caller: Annotated[Caller, Depends(signed_in(Permission.OPERATE))]
) -> Response:
    """Show whether the platform works, and what waits."""
    return page(request, "platform.html", **answered(show_platform(engine, caller)))
