"""Answers: rows of the catalog as JSON, without what the caller may not see.

NaN and infinity, which JSON does not have, are written as texts.
"""

from __future__ import annotations

from pydantic_core import to_json, to_jsonable_python
from sqlalchemy import Engine
from starlette.responses import Response

from catalog.access.callers import Caller
from catalog.access.masking import masked


def shown(engine: Engine, caller: Caller, answer: object, about: str | None = None) -> Response:
    """The answer as the caller may see it. about: the dataset or process that it is about, where it is about one."""
    document = to_jsonable_python(answer, inf_nan_mode="strings")
    body = to_json(masked(engine, caller, document, about))
    return Response(body, media_type="application/json")


def shown_whole(answer: object) -> Response:
    """The answer as it is: for keys, ids and counts in large numbers, among which nothing has to be looked for."""
    return Response(to_json(answer, inf_nan_mode="strings"), media_type="application/json")
