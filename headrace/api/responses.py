"""JSON responses: catalog rows, masked for the caller, with secrets redacted for everyone.

NaN and infinity, which JSON lacks, are written as text.
"""

from __future__ import annotations

from pydantic_core import from_json, to_json
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.access.redaction import has_secrets, scrubbed
from headrace.catalog.masking import visible


def shown(engine: Engine, caller: Caller, answer: object, about: str | None = None) -> Response:
    """Return the rows as the caller may see them. about: the key of the dataset or process that they are about."""
    body = to_json(visible(engine, caller, answer, about), inf_nan_mode="strings")
    if has_secrets(body.decode()):
        body = to_json(scrubbed(from_json(body)))
    return Response(body, media_type="application/json")
