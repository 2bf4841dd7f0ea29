"""Fields of forms as the bodies that the API takes."""

from __future__ import annotations

from http import HTTPStatus
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from headrace.http.problems import RequestRefused

Model = TypeVar("Model", bound=BaseModel)


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
