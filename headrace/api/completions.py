"""Routes that receive completion reports over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public
from headrace.api.subjects import Database
from headrace.catalog.records import RunState
from headrace.catalog.run_events import RunEvent
from headrace.events.value_errors import VALUE_ERRORS
from headrace.http.problems import MEDIA_TYPE, Problem
from headrace.http.security import requires_or_local
from headrace.job_reports.completions.parsing import read_completions
from headrace.job_reports.ingestion import ingest_each
from headrace.job_reports.permissions import run_refusals
from headrace.job_reports.reported_names import with_processes
from headrace.landed.measures import unmeasured

router = APIRouter(prefix="/api/v1", tags=["events"])
BATCH_SIZE = 1000  # events per transaction
MAX_CONCURRENT_BODIES = 4  # concurrent writers; the catalog ingests one batch after another anyway
Reporter = Annotated[Caller, Depends(requires_or_local(Permission.REPORT))]
_turns = asyncio.Semaphore(MAX_CONCURRENT_BODIES)


class RejectedDocument(BaseModel):
    """A document that was not stored."""

    line: int = Field(description="Its line in the body, from 1.")
    field: Public[str | None] = Field(description="The invalid field.")
    message: Public[str]


class Receipt(BaseModel):
    """Outcome of the documents of a body."""

    accepted: int = 0
    repeated: int = Field(default=0, description="Documents that were stored before.")
    rejected: list[RejectedDocument] = []
    forbidden: list[int] = Field(
        default=[],
        description="Lines of runs that this token may not report; send them again with the right one.",
    )
    warnings: Public[list[str]] = Field(default=[], description="Problems of documents that were stored.")

    @property
    def is_refused(self) -> bool:
        """True if no document of the body was stored."""
        return bool(self.rejected or self.forbidden) and not (self.accepted or self.repeated)


class RefusedReceipt(Problem, Receipt):
    """A problem document with the receipt of a body that was refused as a whole."""


@router.post(
    "/events",
    summary="Report runs and datasets of legacy jobs",
    operation_id="postCompletions",
    response_model=Receipt,
    status_code=HTTPStatus.ACCEPTED,
    responses={HTTPStatus.BAD_REQUEST.value: {"model": RefusedReceipt}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "application/x-ndjson": {"schema": {"type": "string"}},
            },
        }
    },
)
async def report_completions(request: Request, caller: Reporter, engine: Database) -> Response:
    """Store completion reports: one JSON document, an array, or one per line, with the fields of a completion file.

    Answers 202 if at least one document was stored now or before, 400 if none was.
    """
    body = await request.body()
    source = f"HTTP, {request.client.host if request.client else 'unknown host'}"
    async with _turns:
        receipt = await run_in_threadpool(receive, engine, body, source, caller)
    if not receipt.is_refused:
        return JSONResponse(receipt.model_dump(), HTTPStatus.ACCEPTED)
    count = len(receipt.rejected) + len(receipt.forbidden)
    refusal = RefusedReceipt(
        title=HTTPStatus.BAD_REQUEST.phrase,
        status=HTTPStatus.BAD_REQUEST,
        detail=f"none of {count} documents was stored; see `rejected` and `forbidden`",
        instance=request.url.path,
        request_id=str(getattr(request.state, "request_id", "")),
        **receipt.model_dump(),
    )
    return JSONResponse(refusal.model_dump(), HTTPStatus.BAD_REQUEST, media_type=MEDIA_TYPE)


def receive(engine: Engine, body: bytes, source: str, caller: Caller) -> Receipt:
    """Store the documents of a body that the caller may report.

    source: the origin, for messages. Raises CatalogUnavailable if the database is lost: the sender keeps the body and
    sends it again, which stores nothing twice.
    """
    if not body.strip():
        return Receipt(rejected=[_rejected(1, None, "the body is empty")])
    try:
        read = read_completions(body, source, name="", at=datetime.now(UTC))
    except VALUE_ERRORS as error:
        return Receipt(rejected=[_rejected(1, None, f"cannot be read: {type(error).__name__}: {error}")])
    receipt = Receipt(
        rejected=[_rejected(each.line or 1, each.attribute, each.message) for each in read.errors]
    )
    events = unmeasured(read.events, "files cannot be measured over HTTP; write a completion file instead")
    events, unclear = with_processes(engine, events)
    receipt.rejected += [_rejected(_line(event), "process", why) for event, why in unclear]
    events = _allowed(engine, caller, events, receipt)
    receipt.warnings += [
        f"{event.origin}: {event.process} is reported as {event.status} with exit_code {event.exit_code}"
        for event in events
        if event.state is RunState.SUCCESS and event.exit_code and "max_exit_success" not in event.payload
    ]
    for start in range(0, len(events), BATCH_SIZE):
        ingested, refused = ingest_each(engine, events[start : start + BATCH_SIZE])
        receipt.accepted += ingested.new
        receipt.repeated += ingested.repeated
        receipt.warnings += ingested.not_measured
        receipt.rejected += [_rejected(_line(event), None, why) for event, why in refused]
    receipt.rejected.sort(key=lambda each: each.line)
    receipt.forbidden.sort()
    return receipt


def _rejected(line: int, field: str | None, message: str) -> RejectedDocument:
    return RejectedDocument(line=line, field=field, message=message)


def _line(event: RunEvent) -> int:
    _, _, line = (event.origin or "").rpartition(":")
    return int(line) if line.isdecimal() else 1


def _allowed(engine: Engine, caller: Caller, events: Sequence[RunEvent], receipt: Receipt) -> list[RunEvent]:
    """Return the events that the caller may report; the receipt names the others."""
    allowed: list[RunEvent] = []
    for event, refusal in zip(events, run_refusals(engine, caller, events), strict=True):
        if refusal is None:
            allowed.append(event)
        elif refusal.of_another_run:
            receipt.forbidden.append(_line(event))
            receipt.warnings.append(f"{event.origin}: {refusal.reason}")
        else:
            receipt.rejected.append(_rejected(_line(event), None, refusal.reason))
    return allowed
