"""Limits of an event, and values that PostgreSQL cannot store: reported by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.errors import CatalogError

MAX_EVENT_BYTES = 8 << 20  # bytes per event
MAX_DEPTH = 100
_MAX_INTEGER_BITS = 13_288  # digits of an integer: Python does not format longer ones
_PLAIN = re.compile(r"[\w-]+")
_NESTING = (dict, list)  # a union of the types takes twice the time
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
Path = Sequence[str | int]


class InvalidEvent(CatalogError):
    """An event that violates the spec or exceeds a limit. field: as in `Outcome`."""

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason = reason
        self.field = field


def field(path: Path) -> str:
    """Format a place in an event: `run.facets["my.facet"].size`, `inputs[0].name`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step[:100], ensure_ascii=True)}]"
    return text


def encoded(body: Mapping[str, Any]) -> bytes:
    """Encode the content as canonical text, independent of the order of keys.

    Raises InvalidEvent for what is not JSON, cannot be stored, or exceeds 8 MiB.
    """
    try:
        text = _ENCODER.encode(body)
        data = text.encode()
    except (ValueError, TypeError) as error:  # ValueError: NaN, and an unpaired surrogate
        raise _unstorable(body) or InvalidEvent(f"is not valid JSON: {error}") from error
    if "\\u0000" in text and (fault := _unstorable(body)) is not None:
        raise fault
    if len(data) > MAX_EVENT_BYTES:
        largest, size = _largest(body)
        raise InvalidEvent(
            f"the event is {len(data):,} bytes long; the maximum is {MAX_EVENT_BYTES:,}; this field has {size:,}",
            largest,
        )
    return data


def _unstorable(body: object) -> InvalidEvent | None:
    """Return the first value or key that PostgreSQL's JSON cannot store."""
    for path, value in _scalars(body):
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return InvalidEvent(f"{value} is not a JSON number", field(path))
        if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
            return InvalidEvent("is a number of more than 4,000 digits", field(path))
        if isinstance(value, str):
            if "\0" in value:
                return InvalidEvent("contains the character NUL (\\u0000)", field(path))
            if any("\ud800" <= character <= "\udfff" for character in value):
                return InvalidEvent("contains half of a surrogate pair", field(path))
    return None


def _scalars(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Path, object]]:
    """Yield keys and scalar values; never deeper than the limit."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), key
            yield from _scalars(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars(inner, (*path, index))
    else:
        yield path, value


def _largest(body: Mapping[str, Any]) -> tuple[str, int]:
    """Return the member that contains most of the event's bytes, as deep as it contains more than half of them."""
    path: tuple[str | int, ...] = ()
    value: object = body
    size = 0
    while isinstance(value, dict | list) and value:
        members = list(value.items() if isinstance(value, dict) else enumerate(value))
        sizes = [(len(json.dumps(inner)), key, inner) for key, inner in members]
        largest, key, inner = max(sizes, key=lambda each: each[0])
        if path and largest * 2 < size:
            break
        path, value, size = (*path, key), inner, largest
        if len(path) == 3:  # run.facets.<name>: deep enough for a message
            break
    return field(path), size


def refuse_depth(body: dict[str, Any]) -> None:
    """Raise InvalidEvent for more than 100 levels of nesting. Must be called before anything else walks the event."""
    level: list[Any] = [body]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, _NESTING)
        ]
        if not level:
            return
    raise InvalidEvent(f"the event is nested more than {MAX_DEPTH} levels deep", _deep_path(body))


def _deep_path(body: object) -> str:
    """Return the first steps of the path to the excessive nesting."""
    path: list[str | int] = []
    levels: list[tuple[tuple[str | int, ...], object]] = [((), body)]
    for _ in range(MAX_DEPTH):
        levels = [
            ((*steps, key), inner)
            for steps, value in levels
            if isinstance(value, dict | list)
            for key, inner in (value.items() if isinstance(value, dict) else enumerate(value))
            if isinstance(inner, dict | list)
        ]
    path.extend(levels[0][0][:4])
    return field(path)
