"""Columns that may have personal data, with confidence and reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from headrace.personal_data.kinds import KINDS, Kind

MIN_CONFIDENCE = 0.5  # of a suggestion, unless another is asked for
_MIN_VALUES = 5  # distinct ones, for a judgement by values
_MAX_FIRST_VALUES = 30  # values; if most of them are of another kind, the others are not tested
_SHARE_OF_KIND = 0.8  # share of the values that are of the kind
_SHARE_OF_OTHERS = 0.1  # a share that refutes a name
_REFUTED_FACTOR = 0.3  # factor of the confidence of a name that the values refute
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TEXTUAL = re.compile(r"string|varchar.*|char.*|tinyint|smallint|int|bigint|decimal\(\d+,0\)|date")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A column that may have personal data. kind: in words; confidence: from 0 to 1; reason: without any value."""

    column: str
    kind: str
    confidence: float
    reason: str


def suggestions(
    columns: Mapping[str, str], rows: Iterable[Mapping[str, object]], min_confidence: float = MIN_CONFIDENCE
) -> list[Suggestion]:
    """Return the most likely kind of each column that may have personal data, in the order of the columns.

    columns: Spark's types by name. rows: a sample, with values or their text.
    """
    values: dict[str, set[str]] = {name: set() for name in columns}
    for row in rows:
        for name, found in values.items():
            if (value := row.get(name)) is not None and str(value).strip():
                found.add(str(value).strip())
    likely = (
        _likeliest(name, type, sorted(values[name], key=_mixed))
        for name, type in columns.items()
        if type != "boolean"
    )
    return [each for each in likely if each is not None and each.confidence >= min_confidence]


def _mixed(value: str) -> int:
    """Return the place of a value in an order that has nothing to do with values, and is always the same."""
    return crc32(value.encode())


def _likeliest(name: str, type: str, values: Sequence[str]) -> Suggestion | None:
    words = "_".join(word.lower() for word in _WORD.findall(name))
    read = values if _TEXTUAL.fullmatch(type) else []
    found = [each for kind in KINDS if (each := _judged(name, words, kind, read)) is not None]
    return max(found, key=lambda each: each.confidence, default=None)


def _judged(name: str, words: str, kind: Kind, values: Sequence[str]) -> Suggestion | None:
    match = kind.name.search(words)
    confidence = kind.by_name if match else 0.0
    reasons = [f"its name contains {match[0].strip('_')}"] if match else []
    if kind.matches is not None and len(values) >= _MIN_VALUES:
        first = values[:_MAX_FIRST_VALUES]
        tested = values if sum(map(kind.matches, first)) >= len(first) / 2 else first
        count = sum(map(kind.matches, tested))
        share = count / len(tested)
        if share >= _SHARE_OF_KIND:
            by_value = kind.by_value if kind.by_value else (0.5 if match else 0.0)
            confidence = 1 - (1 - confidence) * (1 - by_value * share)
            reasons.append(f"{count:,} of {len(tested):,} values are {kind.what}")
        elif match and share < _SHARE_OF_OTHERS:
            confidence *= _REFUTED_FACTOR
            reasons.append(f"but {len(tested) - count:,} of {len(tested):,} values are not {kind.what}")
    return Suggestion(name, kind.label, round(confidence, 2), "; ".join(reasons)) if confidence else None
