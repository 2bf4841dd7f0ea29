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
from headrace.http.problems import RequestRefused

MAX_PAGE_SIZE = 500  # rows per page

T = TypeVar("T")
K = TypeVar("K")

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="Maximum number of items.")]
Cursor = Annotated[
    str | None,
    Query(max_length=4000, description="The `next` of the previous page; the first page if omitted."),
]


class Page(BaseModel, Generic[T]):
    """A page of a list; `next` is the cursor of the next page, null at the end."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    items: list[T]
    next: Public[str | None] = Field(description="The cursor of the next page; null on the last page.")


def cursor_of(*values: object) -> str:
    """Encode a row's position in the order as a cursor."""
    return base64.urlsafe_b64encode(to_json(values)).decode().rstrip("=")


def place_of(cursor: str, kind: type[K]) -> K:
    """Decode a cursor to a tuple of this kind. Raises Refused for a cursor that was not issued here."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return TypeAdapter(kind).validate_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, ValidationError) as error:
        raise RequestRefused(
            HTTPStatus.BAD_REQUEST,
            "invalid cursor: use the `next` value of a page unchanged",
            field="query.cursor",
        ) from error
