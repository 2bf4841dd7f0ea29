"""The route of policies: the rules of this service's project, and the datasets that do not meet them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.policies.overview import Overview, overview

router = APIRouter(prefix="/api/v1", tags=["policies"])


@router.get("/policies", summary="Show the policies and what does not meet them", response_model=Overview)
def show_policies(engine: Database, caller: Reader) -> Response:
    """Show the rules of the project that this service serves, evaluated on its datasets as they are registered."""
    return shown(engine, caller, overview(engine))
