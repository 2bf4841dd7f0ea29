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

from catalog.completed import newest_sequence
from catalog.database import connect
from catalog.errors import CatalogError, CatalogUnavailable
from catalog.ingestion import UNTAKEABLE, ingest_each
from catalog.records import RunState
from catalog.run_events import RunEvent
from legacy.completions import read_completions
from resources.files import is_local, local_path
from sensors.completion_measures import unmeasured
from settings import settings

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
    """What became of the documents of a body. warnings: what was taken, and not as it was asked for."""

    accepted: int = 0
    repeated: int = 0
    rejected: list[Rejected] = field(default_factory=list)
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
            "warnings": self.warnings,
        }
        return JSONResponse(body, 400 if rejected and not (self.accepted or self.repeated) else 202)


class TooLarge(Exception):
    """A body of more than LARGEST bytes."""


def app(engine: Callable[[], Engine] = connect) -> Starlette:
    """The ASGI application: POST /api/v1/events, GET /health.

    What is answered with 202 is in the catalog, or, while that cannot be reached, a file in the folder of completions.
    Where there is no such folder on this machine the answer then is 503, and the sender keeps what it has. With the
    setting `intake_token`, events need it as a bearer token.
    """
    intake = _Intake(engine)
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
        if not _is_allowed(request):
            return JSONResponse(
                {"message": "the token is missing or wrong: send it as `Authorization: Bearer TOKEN`"},
                401,
                {"WWW-Authenticate": "Bearer"},
            )
        try:
            body = await _body(request)
        except TooLarge:
            return JSONResponse({"message": f"the body has more than {LARGEST:,} bytes: send fewer"}, 413)
        except ClientDisconnect:
            return Response(status_code=400)
        sender = request.client.host if request.client else "somebody"
        try:
            async with self.turns:
                receipt = await run_in_threadpool(receive, self.engine, body, f"intake, {sender}")
        except CatalogUnavailable as error:
            _LOG.warning("%s", error)
            return JSONResponse({"message": str(error)}, 503, {"Retry-After": "30"})
        return receipt.response()

    async def health(self, _: Request) -> Response:
        try:
            await run_in_threadpool(lambda: newest_sequence(self.engine()))
        except CatalogError as error:
            return JSONResponse({"status": "unavailable", "message": str(error)}, 503)
        return JSONResponse({"status": "ok"})


def receive(engine: Callable[[], Engine], body: bytes, source: str) -> Receipt:
    """Store the documents of a body: one of JSON, an array of them, or a line each.

    source: where it came from, for messages. Raises CatalogUnavailable when they can neither be stored nor be put
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
    receipt.warnings += [
        f"{event.origin}: {event.process} is said to be a {event.status} with exit_code {event.exit_code}"
        for event in events
        if event.state is RunState.SUCCESS and event.exit_code and "max_exit_success" not in event.payload
    ]
    for start in range(0, len(events), BATCH):
        try:
            came_to, refused = ingest_each(engine(), events[start : start + BATCH])
        except (CatalogError, SQLAlchemyError, psycopg.Error) as error:
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


def _is_allowed(request: Request) -> bool:
    token = settings().intake_token
    if token is None:
        return True
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    wanted = token.get_secret_value().encode()
    # Starlette reads headers as Latin-1, whatever they are.
    return secrets.compare_digest(given.strip().encode("latin-1"), wanted) and kind.lower() == "bearer"


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
