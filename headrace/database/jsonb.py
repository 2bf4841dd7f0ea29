"""Encode Python values as JSON that PostgreSQL accepts: no NaN, no NUL characters, times and ids as text."""

from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb
from pydantic_core import to_json


def jsonb(value: object) -> Jsonb:
    """Return a psycopg parameter of type jsonb. Raises pydantic_core.PydanticSerializationError for values without
    JSON form."""
    return Jsonb(value, dumps=encoded)


def encoded(value: object) -> bytes:
    """Encode dataclasses, mappings, datetimes, decimals, UUIDs and enums as JSON text; NaN and infinity become strings.

    jsonb cannot store the character NUL, which becomes U+FFFD; bytes are base64.
    """
    text = to_json(value, inf_nan_mode="strings", bytes_mode="base64", fallback=_plain)
    return text.replace(b"\\u0000", b"\\ufffd")


def _plain(value: object) -> dict[Any, Any]:
    """Convert a mapping that is not a dict; raise for anything else, which is an error of the caller."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be encoded as JSON")
