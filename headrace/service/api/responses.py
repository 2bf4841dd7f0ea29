"""JSON responses: catalog rows, masked for the caller, with secrets redacted for everyone.

NaN and infinity, which JSON lacks, are written as text.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json, to_json, to_jsonable_python
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.access.redaction import has_secrets, scrubbed
from headrace.service.masking import masked


def shown(engine: Engine, caller: Caller, answer: object, about: str | None = None) -> Response:
    """Return the response as the caller may see it. about: the dataset or process that it describes, if any."""
    document = to_jsonable_python(answer, inf_nan_mode="strings")
    return _written(masked(engine, caller, document, about))


def shown_whole(answer: object) -> Response:
    """Return the response without masking: for large lists of keys, ids and counts, which are never sensitive."""
    return _written(answer)


def _written(answer: Any) -> Response:  # noqa: ANN401 - JSON, or what becomes it
    body = to_json(answer, inf_nan_mode="strings")
    if has_secrets(body.decode()):
        body = to_json(scrubbed(from_json(body)))
    return Response(body, media_type="application/json")
