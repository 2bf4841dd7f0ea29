"""Pagination: pages and opaque cursors."""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from headrace.access.sensitivity import Public
from headrace.service.http.problems import Refused

MAX_PAGE_SIZE = 500  # rows of a page

T = TypeVar("T")
K = TypeVar("K")

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="How many at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=4000, description="The `next` of the page before; without one, the first page."),
]


class Page(BaseModel, Generic[T]):
    """Some of a list; `next` is the cursor of the page that follows, null at the end."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    items: list[T]
    next: Public[str | None] = Field(description="The cursor of the page that follows; null at the end.")


def cursor_of(*values: object) -> str:
    """The cursor that stands for a row's place in the order."""
    return base64.urlsafe_b64encode(to_json(values)).decode().rstrip("=")


def place_of(cursor: str, kind: type[K]) -> K:
    """The values of a cursor, as a tuple of this kind. Raises Refused for one that was not given out here."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return TypeAdapter(kind).validate_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, ValidationError) as error:
        raise Refused(
            HTTPStatus.BAD_REQUEST,
            "invalid cursor: use the `next` value of a page unchanged",
            field="query.cursor",
        ) from error
