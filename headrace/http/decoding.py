"""Decode JSON bodies; in a batch, an unreadable member does not affect the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from headrace.http.problems import RequestRefused

# The tokens that separate members: a complete string, a bracket, a comma.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A member of a batch that is nested too deeply, or has too long a number, to be parsed."""

    reason: str


def decoded(body: bytes) -> Any:  # noqa: ANN401 - JSON
    """Decode the body. The last of duplicate names in an object counts. Raises Refused with the position of invalid
    JSON."""
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        detail = f"request body is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
    except UnicodeDecodeError as error:
        detail = f"request body is not valid UTF-8: {error.reason}"
    except (ValueError, RecursionError) as error:
        detail = f"the body cannot be read: {_why(error)}"
    raise RequestRefused(HTTPStatus.BAD_REQUEST, detail, field="body")


def decoded_batch(body: bytes) -> Any:  # noqa: ANN401 - JSON
    """Decode a batch like `decoded`, with Unreadable in place of each member that cannot be parsed."""
    try:
        return json.loads(body)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return decoded(body)
    except (ValueError, RecursionError):
        text = body.decode(json.detect_encoding(body)).strip()
        return [_member(each) for each in _members(text)] if text.startswith("[") else decoded(body)


def _member(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _broken() from error
    except (ValueError, RecursionError) as error:
        return Unreadable(_why(error))


def _members(text: str) -> Iterator[str]:
    """Yield the members of the array that is the text. Raises Refused if it is not an array."""
    depth, begin = 0, 1
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        if depth == 0 or (depth == 1 and sign == ","):
            yield text[begin : token.start()]
            begin = token.end()
        if depth == 0:
            break
    if depth or text[begin:]:
        raise _broken()


def _broken() -> RequestRefused:
    return RequestRefused(
        HTTPStatus.BAD_REQUEST, "request body is not valid JSON, beyond mere depth or length", field="body"
    )


def _why(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
