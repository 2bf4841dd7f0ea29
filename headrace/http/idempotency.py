"""Idempotency keys: a repeated request gets the first response and does nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header
from psycopg import Cursor
from pydantic_core import to_jsonable_python
from sqlalchemy import Engine
from starlette.responses import JSONResponse

from headrace.access.redaction import scrubbed
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded, jsonb
from headrace.http.problems import RequestRefused

REPLAYED = "Idempotency-Replayed"
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="A text that is unique to the request. A request repeated within a day gets the first response and "
        "changes nothing.",
    ),
]


def once(
    engine: Engine,
    key: str | None,
    request: object,
    act: Callable[[Cursor[Any]], object],
    status: HTTPStatus = HTTPStatus.OK,
) -> JSONResponse:
    """Act and store the response in one transaction, unless the key already has a response.

    request: everything that identifies the request, so that reuse of a key for another request is detected (Refused).
    """
    digest = hashlib.sha256(encoded(request)).hexdigest()
    with transaction(engine) as cursor:
        if key is not None:
            known = cursor.execute("SELECT * FROM catalog.stored_answer(%s)", [key]).fetchone()
            if known is not None:
                if known["request_hash"] != digest:
                    raise RequestRefused(
                        HTTPStatus.UNPROCESSABLE_ENTITY,
                        "this key was used for another request: use a new one for each request",
                        field="header.idempotency-key",
                    )
                return JSONResponse(known["answer"], known["status"], {REPLAYED: "true"})
        answer = scrubbed(to_jsonable_python(act(cursor)))
        if key is not None:
            cursor.execute(
                "SELECT catalog.store_answer(%s, %s, %s, %s)", [key, digest, status.value, jsonb(answer)]
            )
    return JSONResponse(answer, status.value)
