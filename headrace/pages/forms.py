"""Fields of forms: times in an address, addresses of pages, and fields as the bodies that the API takes."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, TypeVar
from urllib.parse import SplitResult, urlsplit

from fastapi import Form, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError

from headrace.http.problems import RequestRefused

Model = TypeVar("Model", bound=BaseModel)
_YEARS = (
    1900,
    2999,
)  # away from the ends of the calendar, beyond which another zone's time cannot be written


def none_if_empty(value: object) -> object:
    """Return None for the empty field of a form."""
    return None if value == "" else value


def _in_utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    first, last = _YEARS
    if not first <= value.year <= last:
        raise ValueError(f"must be a time in the years {first} to {last}")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# A time in UTC unless it names a zone, in an address or a form; an empty field is none.
_Moment = Annotated[datetime | None, BeforeValidator(none_if_empty), AfterValidator(_in_utc)]
Time = Annotated[_Moment, Query()]
FormTime = Annotated[_Moment, Form()]


def body(model: type[Model], **fields: object) -> Model:
    """Return the fields as the API's body. Raises RequestRefused, naming the first wrong field."""
    try:
        return model(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "form"
        message = str(first["msg"]).removeprefix("Value error, ")
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"{name}: {message}", field=f"body.{name}"
        ) from error


def address_in(header: str | None) -> SplitResult:
    """Return the parts of the address in a header; of none, and of a malformed one, they are empty."""
    try:
        return urlsplit(header or "")
    except ValueError:
        return urlsplit("")


def own_address(address: str) -> str:
    """Return an address of this service, and `/` for any other: a link to here must not lead elsewhere."""
    is_own = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_own else "/"
