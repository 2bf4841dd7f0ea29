"""Policies: the rules of the project, the datasets that do not meet them, and the exceptions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.policies import show_policies
from headrace.api.subjects import Database
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import signed_in

router = APIRouter(include_in_schema=False)


@router.get("/policies")
def show_policies_page(
    request: Request,
    engine: Database,
    caller: Annotated[Caller, Depends(signed_in(Permission.READ))],
    rule: str | None = None,
) -> Response:
    """Show what does not meet the rules, or one of them; then the rules and the exceptions."""
    return page(request, "policies.html", **answered(show_policies(engine, caller)), chosen=rule)
