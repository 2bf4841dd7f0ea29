"""Error responses as problem documents (RFC 9457): the problem, the field, and the solution."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import psycopg
import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from headrace.errors import (
    CatalogError,
    CatalogUnavailable,
    DecisionRefused,
    IdempotencyConflict,
    NotAcknowledged,
    PinRefused,
    RetirementRefused,
    RollbackRefused,
    SchemaOutdated,
    UnknownAlert,
    UnknownCandidate,
    UnknownColumn,
    UnknownDataset,
    UnknownIncident,
    UnknownProcess,
    UnknownRun,
    UnknownScan,
    UnknownSla,
    UnknownVersion,
    VersionExpired,
)
from headrace.events.value_errors import VALUE_ERRORS

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5  # seconds: about as long as a restart of PostgreSQL

_LOG = logging.getLogger("headrace.api")
_NOT_THERE = (
    UnknownAlert,
    UnknownColumn,
    UnknownDataset,
    UnknownIncident,
    UnknownProcess,
    UnknownVersion,
    UnknownRun,
    UnknownScan,
    UnknownSla,
    UnknownCandidate,
)
_IN_THE_WAY = (
    DecisionRefused,
    IdempotencyConflict,
    NotAcknowledged,
    PinRefused,
    RetirementRefused,
    RollbackRefused,
    VersionExpired,
)


class FieldProblem(BaseModel):
    """An invalid field (`body.owners.0`, `query.depth`) and its problem."""

    field: str
    message: str


class Problem(BaseModel):
    """Body of every error response."""

    type: str = "about:blank"
    title: str = Field(description="What the status means.")
    status: int
    detail: str = Field(description="The problem and its solution.")
    instance: str = Field(description="The request path.")
    request_id: str = Field(description="The id of the request in the log.")
    errors: list[FieldProblem] = Field(default=[], description="The invalid fields, if any.")


class RequestRefused(Exception):
    """Error with the status of its response; `field` is the invalid field, if any."""

    def __init__(
        self, status: int, detail: str, *, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.errors = [FieldProblem(field=field, message=detail)] if field else []
        self.headers = dict(headers or {})


def answer(
    scope: Mapping[str, Any],
    status: int,
    detail: str,
    *,
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Create the response to a refused request."""
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=str(scope.get("path", "")),
        request_id=str(scope.get("state", {}).get("request_id", "")),
        errors=list(errors),
    )
    return JSONResponse(problem.model_dump(), status, dict(headers or {}), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Register the error handlers with the application."""
    app.add_exception_handler(RequestRefused, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(CatalogError, _catalog)
    app.add_exception_handler(sa.exc.TimeoutError, _crowded)
    for untakeable in (psycopg.DataError, sa.exc.DataError):
        app.add_exception_handler(untakeable, _invalid_value)


def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestRefused)  # noqa: S101 - registered for it
    return answer(request.scope, error.status, str(error), errors=error.errors, headers=error.headers)


def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    detail = str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND and detail == HTTPStatus.NOT_FOUND.phrase:
        detail = "no such route; /api/v1/docs lists all routes"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.method} is not allowed here; the header Allow lists the methods"
    errors = []
    if (
        error.status_code == HTTPStatus.BAD_REQUEST and error.__cause__ is not None
    ):  # FastAPI's name for any body
        detail = f"the body cannot be read: {str(error.__cause__).partition(' while ')[0][:200]}"
        errors = [FieldProblem(field="body", message=detail)]
    return answer(request.scope, error.status_code, detail, errors=errors, headers=error.headers)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    errors = [
        FieldProblem(
            field=".".join(map(str, each["loc"])), message=str(each["msg"]).removeprefix("Value error, ")
        )
        for each in error.errors()
    ]
    named = "; ".join(f"{each.field}: {each.message}" for each in errors[:5])
    return answer(request.scope, HTTPStatus.UNPROCESSABLE_ENTITY, named, errors=errors)


def _catalog(request: Request, error: Exception) -> JSONResponse:
    # The driver reports a value that is too long for an index as an "operational" error, like a lost connection.
    if isinstance(error, CatalogUnavailable) and isinstance(error.__cause__, VALUE_ERRORS):
        return _invalid_value(request, error.__cause__)
    # The message names the database or the archive: it belongs in the log, not in the response.
    if isinstance(error, SchemaOutdated) or getattr(error, "failure_kind", None) == "INFRASTRUCTURE":
        _LOG.warning("%s", error)
        return unavailable(request.scope)
    return answer(request.scope, _status(error), str(error))


def unavailable(scope: Mapping[str, Any]) -> JSONResponse:
    """Create the response while the catalog's database is unavailable."""
    return answer(
        scope,
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"the catalog is unavailable; nothing was stored. Try again in {RETRY_SECONDS} s",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def _crowded(request: Request, error: Exception) -> JSONResponse:
    _LOG.warning("%s", error)
    return answer(
        request.scope,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "too many concurrent requests; nothing was stored. Try again shortly",
        headers={"Retry-After": "1"},
    )


def _invalid_value(request: Request, error: Exception) -> JSONResponse:
    message = str(getattr(error, "orig", error)).strip().splitlines()[0]
    return answer(request.scope, HTTPStatus.UNPROCESSABLE_ENTITY, f"a value is not accepted: {message}")


def _status(error: Exception) -> HTTPStatus:
    if isinstance(error, _NOT_THERE):
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.CONFLICT if isinstance(error, _IN_THE_WAY) else HTTPStatus.UNPROCESSABLE_ENTITY
