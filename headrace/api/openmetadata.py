"""The webhook of OpenMetadata."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from headrace.access.errors import Unauthenticated
from headrace.api.subjects import Database
from headrace.context import current_context
from headrace.http.problems import RequestRefused
from headrace.openmetadata.incoming import (
    SIGNATURE,
    ChangeEvent,
    is_signed,
    store_event,
)

router = APIRouter(prefix="/api/v1", tags=["openmetadata"])


class Delivery(BaseModel):
    """The outcome of a delivery."""

    stored: bool = Field(description="It is an event, which the next synchronisation takes into account.")


@router.post(
    "/openmetadata/events",
    summary="Receive a change event of OpenMetadata",
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    },
)
async def receive_event(request: Request, engine: Database) -> Delivery:
    """Receive the webhook of an alert in OpenMetadata. It needs no token: `X-OM-Signature` is checked instead.

    Answers 401 for a signature that was not made with `openmetadata.webhook_secret`, and 404 without that setting.
    Events that do not come, or come twice, do no harm: the synchronisation also polls.
    """
    secret = current_context().settings.openmetadata.webhook_secret
    if secret is None:
        raise RequestRefused(
            HTTPStatus.NOT_FOUND, "no webhook is configured: set HEADRACE_OPENMETADATA__WEBHOOK_SECRET"
        )
    body = await request.body()
    if not is_signed(secret.get_secret_value(), body, request.headers.get(SIGNATURE)):
        raise Unauthenticated(f"{SIGNATURE} is not the signature of this body with the webhook's secret key")
    try:
        event = ChangeEvent.model_validate_json(body)
    except ValidationError:  # the message of its button `Test Destination`
        return Delivery(stored=False)
    await run_in_threadpool(store_event, engine, event)
    return Delivery(stored=True)
