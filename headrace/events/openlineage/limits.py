"""What the catalog takes of an event at most, and what PostgreSQL cannot hold: reported by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.errors import CatalogError

MAX_EVENT_BYTES = 8 << 20  # of one event
MAX_DEPTH = 100
_MAX_INTEGER_BITS = 13_288  # of a whole number: Python writes none that is longer
_PLAIN = re.compile(r"[\w-]+")
Path = Sequence[str | int]


class InvalidEvent(CatalogError):
    """An event that the spec does not allow, or that says more than the catalog takes. field: as in `Outcome`."""

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason = reason
        self.field = field


def field(path: Path) -> str:
    """A place in an event as text: `run.facets["my.facet"].size`, `inputs[0].name`."""
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
    """The content as one text, whatever order its keys came in.

    Raises InvalidEvent for what is no JSON, cannot be stored, or is more than 8 MiB.
    """
    try:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        data = text.encode()
    except (ValueError, TypeError) as error:  # ValueError: NaN, and half a surrogate pair
        raise _unsayable(body) or InvalidEvent(f"is not valid JSON: {error}") from error
    if "\\u0000" in text and (fault := _unsayable(body)) is not None:
        raise fault
    if len(data) > MAX_EVENT_BYTES:
        largest, size = _largest(body)
        raise InvalidEvent(
            f"the event is {len(data):,} bytes long and the catalog takes {MAX_EVENT_BYTES:,}; {size:,} are these",
            largest,
        )
    return data


def _unsayable(body: object) -> InvalidEvent | None:
    """The first value or key that PostgreSQL's JSON cannot hold."""
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
    """Keys, and values that hold no others; never deeper than MOST_LEVELS."""
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
    """The member that most of the event's bytes are in, as deep as it holds more than half of them."""
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
        if len(path) == 3:  # run.facets.<name>: nobody wants to know more
            break
    return field(path), size


def refuse_depth(body: object) -> None:
    """Raises InvalidEvent for what is nested more than 100 levels deep. Nothing else may look at the event before."""
    level: list[object] = [body]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise InvalidEvent(f"the event is nested more than {MAX_DEPTH} levels deep", _deep_path(body))


def _deep_path(body: object) -> str:
    """The first steps to what is too deep."""
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
