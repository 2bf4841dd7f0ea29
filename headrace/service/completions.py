"""The intake: what other systems report over HTTP of their runs and datasets becomes events of the catalog."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headrace.access.authentication import caller_of
from headrace.access.callers import Caller, Permission
from headrace.access.errors import Unauthenticated
from headrace.access.redaction import redact_logs
from headrace.access.tokens import presented
from headrace.autosys.completions.parsing import read_completions
from headrace.catalog.records import RunState
from headrace.catalog.run_events import RunEvent
from headrace.database.connection import connect
from headrace.database.principal import Acting, acting_for
from headrace.errors import CatalogError, CatalogUnavailable, Forbidden
from headrace.events.completions import newest_sequence
from headrace.events.ingestion import UNTAKEABLE, ingest_each
from headrace.events.run_permissions import run_refusals
from headrace.execution.landed.measures import unmeasured
from headrace.settings import settings
from headrace.stores.files.filesystem import is_local, local_path

EVENTS = "/api/v1/events"
HEALTH = "/health"
LARGEST = 16 * 1024 * 1024  # bytes of a body
BATCH = 1000  # events of a transaction
AT_ONCE = 4  # bodies that are stored at the same time; the catalog takes one batch after the other anyway

_LOG = logging.getLogger("headrace.intake")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that is not taken: its line in the body, the field that is wrong, and what is wrong with it."""

    line: int
    field: str | None
    message: str


@dataclass(slots=True)
class Receipt:
    """What became of the documents of a body.

    not_yours: the lines of those that are of other runs than the token that was sent along; whoever has the right one
    may bring them again. warnings: what was taken, and not as it was asked for.
    """

    accepted: int = 0
    repeated: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    not_yours: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def response(self) -> Response:
        """400 where all was rejected, and else 202: also for what was known, and for an array with nothing in it."""
        rejected = [
            {"line": each.line, "field": each.field, "message": each.message}
            for each in sorted(self.rejected, key=lambda each: each.line)
        ]
        body = {
            "accepted": self.accepted,
            "repeated": self.repeated,
            "rejected": rejected,
            **({"not_yours": sorted(self.not_yours)} if self.not_yours else {}),
            "warnings": self.warnings,
        }
        refused = bool(rejected or self.not_yours) and not (self.accepted or self.repeated)
        return JSONResponse(body, 400 if refused else 202)


class TooLarge(Exception):
    """A body of more than LARGEST bytes."""


def app(engine: Callable[[], Engine] = connect) -> Starlette:
    """The ASGI application: POST /api/v1/events, GET /health.

    What is answered with 202 is in the catalog, or, while that cannot be reached, a file in the folder of completions.
    Where there is no such folder on this machine the answer then is 503, and the sender keeps what it has. With the
    setting `intake_token`, events need it as a bearer token, or one of the catalog's own: that of a service that may
    report, or of a run, which reports that run alone.
    """
    intake = _Intake(engine)
    redact_logs("headrace", "uvicorn", "uvicorn.error")
    return Starlette(
        routes=[
            Route(EVENTS, intake.events, methods=["POST"]),
            Route(HEALTH, intake.health, methods=["GET"]),
        ]
    )


class _Intake:
    def __init__(self, engine: Callable[[], Engine]) -> None:
        self.engine = engine
        self.turns = asyncio.Semaphore(AT_ONCE)

    async def events(self, request: Request) -> Response:
        if "Origin" in request.headers:
            # A browser would send it here for whatever page it shows, from a machine that may report.
            return JSONResponse({"message": "web pages do not report"}, 403)
        try:
            caller = await run_in_threadpool(_caller, self.engine, request)
        except Unauthenticated as error:
            return JSONResponse({"message": str(error)}, 401, {"WWW-Authenticate": "Bearer"})
        except Forbidden as error:
            return JSONResponse({"message": str(error)}, 403)
        except CatalogUnavailable as error:
            return _unavailable(error)
        try:
            body = await _body(request)
        except TooLarge:
            return JSONResponse({"message": f"the body has more than {LARGEST:,} bytes: send fewer"}, 413)
        except ClientDisconnect:
            return Response(status_code=400)
        sender = request.client.host if request.client else "somebody"
        try:
            async with self.turns:
                receipt = await run_in_threadpool(receive, self.engine, body, f"intake, {sender}", caller)
        except CatalogUnavailable as error:
            return _unavailable(error)
        return receipt.response()

    async def health(self, _: Request) -> Response:
        try:
            await run_in_threadpool(lambda: newest_sequence(self.engine()))
        except CatalogError as error:
            return JSONResponse({"status": "unavailable", "message": str(error)}, 503)
        return JSONResponse({"status": "ok"})


def receive(engine: Callable[[], Engine], body: bytes, source: str, caller: Caller | None = None) -> Receipt:
    """Store the documents of a body: one of JSON, an array of them, or a line each.

    source: where it came from, for messages. caller: who has sent a token of the catalog's own along, and reports what
    that allows. Raises CatalogUnavailable when they can neither be stored nor be put
    into the folder of completions: the sender has to come again.
    """
    if not body.strip():
        return Receipt(rejected=[Rejected(1, None, "the body is empty")])
    try:
        read = read_completions(body, source, name="", at=datetime.now(UTC))
    except UNTAKEABLE as error:
        return Receipt(rejected=[Rejected(1, None, f"cannot be taken in: {type(error).__name__}: {error}")])
    receipt = Receipt(
        rejected=[Rejected(each.line or 1, each.attribute, each.message) for each in read.errors]
    )
    events = unmeasured(
        read.events, "no file is read for a report over HTTP; drop it into the completions folder"
    )
    if caller is not None:
        events = _allowed(engine(), caller, events, receipt)
    receipt.warnings += [
        f"{event.origin}: {event.process} is said to be a {event.status} with exit_code {event.exit_code}"
        for event in events
        if event.state is RunState.SUCCESS and event.exit_code and "max_exit_success" not in event.payload
    ]
    for start in range(0, len(events), BATCH):
        try:
            with acting_for(_acting(caller)):
                came_to, refused = ingest_each(engine(), events[start : start + BATCH])
        except (CatalogError, SQLAlchemyError, psycopg.Error) as error:
            if caller is not None:  # a file would not say who it was
                raise CatalogUnavailable(str(error)) from error
            left = events[start:]
            _drop(left, error)
            receipt.accepted += len(left)
            break
        receipt.accepted += came_to.new
        receipt.repeated += came_to.repeated
        receipt.warnings += came_to.not_measured
        receipt.rejected += [Rejected(_line(event), None, why) for event, why in refused]
    return receipt


def _drop(events: Sequence[RunEvent], error: Exception) -> None:
    """Put events where the completions sensor finds them. Raises CatalogUnavailable where it looks on no disk here."""
    location = settings().completions_location
    if not is_local(location):
        raise CatalogUnavailable(str(error)) from error
    name = f"intake-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid4().hex[:12]}.json"
    hidden = local_path(location) / f".{name}"
    try:
        hidden.parent.mkdir(parents=True, exist_ok=True)
        with hidden.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(dict(event.payload)) + "\n" for event in events)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(hidden.with_name(name))
    except OSError as problem:
        raise CatalogUnavailable(f"{error} Nor can {location} be written to: {problem.strerror}.") from error
    _LOG.warning("%d events wait in %s, as %s", len(events), hidden.with_name(name), error)


def _line(event: RunEvent) -> int:
    _, _, line = (event.origin or "").rpartition(":")
    return int(line) if line.isdecimal() else 1


def _caller(engine: Callable[[], Engine], request: Request) -> Caller | None:
    """Who has sent a token of the catalog's own; None for who is let in without one.

    Raises Unauthenticated, Forbidden for one that may not report, CatalogUnavailable.
    """
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    given = given.strip()
    if kind.lower() == "bearer" and presented(given) is not None:
        caller = caller_of(engine(), None, given)
        caller.require(Permission.REPORT)
        return caller
    token = settings().intake_token
    # Starlette reads headers as Latin-1, whatever they are.
    if token is None or (
        kind.lower() == "bearer"
        and secrets.compare_digest(given.encode("latin-1"), token.get_secret_value().encode())
    ):
        return None
    raise Unauthenticated("the token is missing or wrong: send it as `Authorization: Bearer TOKEN`")


def _allowed(engine: Engine, caller: Caller, events: list[RunEvent], receipt: Receipt) -> list[RunEvent]:
    """The events that are the caller's to report; the receipt tells of the others."""
    with acting_for(_acting(caller)):
        refusals = run_refusals(engine, caller, events)
    for event, refusal in zip(events, refusals, strict=True):
        if refusal is not None and refusal.of_another_run:
            receipt.not_yours.append(_line(event))
            receipt.warnings.append(f"{event.origin}: {refusal.reason}")
        elif refusal is not None:
            receipt.rejected.append(Rejected(_line(event), None, refusal.reason))
    return [event for event, refusal in zip(events, refusals, strict=True) if refusal is None]


def _acting(caller: Caller | None) -> Acting | None:
    if caller is None:
        return None
    return Acting(caller.organisation_id, caller.organisation, caller.subject)


def _unavailable(error: CatalogUnavailable) -> Response:
    _LOG.warning("%s", error)
    return JSONResponse({"message": str(error)}, 503, {"Retry-After": "30"})


async def _body(request: Request) -> bytes:
    """The body. Raises TooLarge before more of it is read than may be."""
    announced = request.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) > LARGEST:
        raise TooLarge
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise TooLarge
    return bytes(body)
