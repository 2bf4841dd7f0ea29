"""Routes that ingest events: OpenLineage's two endpoints, and the adapters' shorter form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public
from headrace.gates import Moment, is_gated
from headrace.http.coalescing import EventQueues
from headrace.http.decoding import Unreadable, decoded, decoded_batch
from headrace.http.metrics import Metrics
from headrace.http.openlineage_adapters import AdapterEvent, openlineage_events
from headrace.http.problems import RequestRefused
from headrace.http.security import requires
from headrace.openlineage.gates import gated
from headrace.openlineage.ingestion import read_events
from headrace.openlineage.model import Outcome, Result
from headrace.openlineage.permissions import refusals, report_of, reports_everything, without_foreign_facets

T = TypeVar("T")
router = APIRouter(prefix="/api/v1", tags=["events"])
REPORT = requires(Permission.REPORT)
Reporter = Annotated[Caller, Depends(REPORT)]
Historical = Annotated[bool, Query(description="Load as history: trigger no runs and no alerts.")]
MAX_BATCH_EVENTS = 10_000  # events per batch
_SHORT = 64 * 1024  # bytes per body
_EVENT = [{"$ref": f"#/components/schemas/{name}"} for name in ("RunEvent", "DatasetEvent", "JobEvent")]


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class EventResult(BaseModel):
    """Outcome of an event. run_id: the run that it belongs to, if any."""

    result: Result
    run_id: UUID | None
    warnings: Public[list[str]] = Field(
        default=[], description="What was changed before the event was stored."
    )


class BatchSummary(BaseModel):
    """The number of events by outcome."""

    received: int
    successful: int
    failed: int
    retriable: int
    non_retriable: int


class FailedEvent(BaseModel):
    """A rejected event of a batch. field: the path within the event."""

    index: int = Field(description="Its index in the batch, from 0.")
    reason: Public[str]
    retriable: bool = Field(description="The event may be accepted if it is sent again unchanged.")
    field: Public[str | None] = None


class BatchAnswer(BaseModel):
    """Outcome of a batch, as defined by the OpenLineage spec."""

    status: Public[Literal["success", "partial_success"]]
    summary: BatchSummary
    failed_events: list[FailedEvent]
    warnings: Public[list[str]] = Field(
        default=[], description="What was changed before events were stored, each with the event's index."
    )


@router.post(
    "/lineage",
    summary="Report an OpenLineage event",
    operation_id="postRunEvent",
    response_model=EventResult,
    response_model_exclude_defaults=True,
    openapi_extra=_body({"oneOf": _EVENT}),
)
async def report_event(request: Request, caller: Reporter, historical: Historical = False) -> EventResult:
    """Store a RunEvent, DatasetEvent or JobEvent, optionally gzipped. A repeated event changes nothing and gets the
    same response."""
    event = await _read(request, decoded)
    [outcome] = await _stored(request, caller, [event], historical, as_one=True)
    return _result(outcome)


@router.post(
    "/lineage/batch",
    summary="Report OpenLineage events",
    operation_id="postEventBatch",
    response_model=BatchAnswer,
    response_model_exclude_defaults=True,
    openapi_extra=_body({"type": "array", "items": {"oneOf": _EVENT}, "maxItems": MAX_BATCH_EVENTS}),
)
async def report_batch(request: Request, caller: Reporter, historical: Historical = False) -> BatchAnswer:
    """Store a batch. Valid events are stored regardless of the others; invalid ones are reported by index with the
    reason."""
    events = await _read(request, decoded_batch)
    if not isinstance(events, list):
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY, "a batch is a JSON array of events", field="body"
        )
    if len(events) > MAX_BATCH_EVENTS:
        raise RequestRefused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"a batch has {MAX_BATCH_EVENTS:,} events at most",
            field="body",
        )
    outcomes = await _stored(request, caller, events, historical)
    failed = [each for each in outcomes if each.result is Result.REFUSED]
    retriable = sum(each.retriable for each in failed)
    return BatchAnswer(
        status="partial_success" if failed else "success",
        summary=BatchSummary(
            received=len(events),
            successful=len(events) - len(failed),
            failed=len(failed),
            retriable=retriable,
            non_retriable=len(failed) - retriable,
        ),
        failed_events=[
            FailedEvent(
                index=each.index,
                reason=_reason(each),
                retriable=each.retriable,
                field=each.field or None,
            )
            for each in failed
        ],
        warnings=[f"[{each.index}] {warning}" for each in outcomes for warning in each.warnings],
    )


@router.post(
    "/run_event",
    summary="Report a run as an adapter",
    response_model=EventResult,
    response_model_exclude_defaults=True,
)
async def report_run(
    request: Request, caller: Reporter, event: AdapterEvent, historical: Historical = False
) -> EventResult:
    """Store a run event in the adapters' form: times within `run`, plain values for facets, no producer and no
    schemaURL."""
    outcomes = await _stored(request, caller, openlineage_events(event), historical, as_one=True)
    refused = [each for each in outcomes if each.result is Result.REFUSED]
    return _result(refused[0] if refused else outcomes[-1])


async def _stored(
    request: Request, caller: Caller, events: Sequence[object], historical: bool, *, as_one: bool = False
) -> list[Outcome]:
    """Store the events and return their outcomes in order; events that the caller may not report are rejected.

    as_one: they were sent as one event. Raises Refused if the caller may not report any of them.
    """
    queues: EventQueues = request.app.state.event_queues
    metrics: Metrics = request.app.state.metrics
    wrong = [each.reason if isinstance(each, Unreadable) else None for each in events]
    if not reports_everything(caller):
        forbidden = await run_in_threadpool(_forbidden, queues, caller, events)
        if as_one and (reason := next(filter(None, forbidden), None)):
            raise RequestRefused(HTTPStatus.FORBIDDEN, reason)
        wrong = [one or other for one, other in zip(wrong, forbidden, strict=True)]
    allowed = [index for index, reason in enumerate(wrong) if reason is None]
    # Authorized before they wait for their transaction, while PostgreSQL handles others.
    permitted = [events[index] for index in allowed]
    if not reports_everything(caller):
        permitted = await run_in_threadpool(without_foreign_facets, queues.engine, caller, permitted)
    read = await _read(request, lambda _: read_events(permitted, historical=historical))
    if is_gated(Moment.EVENT):
        read = await run_in_threadpool(gated, queues.engine, caller, read)
    stored = read.outcomes(await queues.store(read.good, historical=historical))
    outcomes = [
        Outcome(index, Result.REFUSED, reason) for index, reason in enumerate(wrong) if reason is not None
    ]
    outcomes += [replace(outcome, index=index) for index, outcome in zip(allowed, stored, strict=True)]
    for result, count in Counter(each.result for each in outcomes).items():
        metrics.events.labels(result.lower()).inc(count)
    return sorted(outcomes, key=lambda each: each.index)


def _forbidden(queues: EventQueues, caller: Caller, events: Sequence[object]) -> list[str | None]:
    return refusals(queues.engine, caller, [report_of(event) for event in events])


def _result(outcome: Outcome) -> EventResult:
    """Return the outcome. Raises Refused for an event that was rejected."""
    if outcome.result is Result.REFUSED:
        status = HTTPStatus.SERVICE_UNAVAILABLE if outcome.retriable else HTTPStatus.UNPROCESSABLE_ENTITY
        raise RequestRefused(
            status, _reason(outcome), field=f"body.{outcome.field}" if outcome.field else "body"
        )
    return EventResult(result=outcome.result, run_id=outcome.run_id, warnings=list(outcome.warnings))


def _reason(outcome: Outcome) -> str:
    return f"{outcome.field}: {outcome.reason}" if outcome.field else str(outcome.reason)


async def _read(request: Request, read: Callable[[bytes], T]) -> T:
    """Parse the body with `read`; a short body in this thread, which is faster than handing it to another one."""
    body = await request.body()
    return read(body) if len(body) < _SHORT else await run_in_threadpool(read, body)
