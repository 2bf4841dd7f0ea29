"""The OpenAPI document: FastAPI's own, plus OpenLineage event schemas and error responses."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from headrace.http.problems import MEDIA_TYPE, Problem
from headrace.openlineage.facet_schemas import core

_REFUSALS = {
    "400": "The request is malformed.",
    "401": "The token is missing or invalid.",
    "403": "The caller lacks the permission.",
    "404": "Not found.",
    "409": "Conflict: already decided, declared or in progress.",
    "413": "The body is too large.",
    "415": "The content type is not supported.",
    "422": "A value is invalid.",
    "429": "Too many requests.",
    "503": "The catalog is unavailable; try again.",
}


def install(app: FastAPI) -> None:
    """Make the application serve this document."""
    document: dict[str, Any] | None = None

    def made() -> dict[str, Any]:
        nonlocal document
        document = document or _document(app)
        return document

    app.openapi = made  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document["components"]["schemas"]
    schemas |= _event_schemas()
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["Problem"].pop("$defs", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"] |= {status: _refusal(reported) for status, reported in _REFUSALS.items()}
    return document


def _refusal(reported: str) -> dict[str, Any]:
    return {
        "description": reported,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _event_schemas() -> dict[str, Any]:
    """Return the definitions of the spec, with references rewritten to this document."""
    text = json.dumps(core()).replace('"#/$defs/', '"#/components/schemas/')
    definitions: dict[str, Any] = json.loads(text)["$defs"]
    return definitions
