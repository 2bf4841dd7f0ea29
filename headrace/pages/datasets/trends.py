"""Values of a dataset over its versions, for small charts and the sentences that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from headrace.pages.rendering import figure

WIDTH = 300
HEIGHT = 48
_FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
_MARGIN = 3  # within which no line is drawn, so that it is not cut


@dataclass(frozen=True, slots=True)
class Point:
    """A value in a chart. words: the version and the value."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Trend:
    """A chart. lines: of points without a gap between them."""

    name: str
    lines: tuple[tuple[Point, ...], ...]
    sentence: str


def row_trend(rows: Sequence[Mapping[str, Any]]) -> Trend | None:
    """Return how many rows the versions have. rows: of the API, newest first."""
    counts = [each["row_count"] for each in rows]
    return _trend("Rows", rows, [counts], [[None if each is None else f"{each:,}" for each in counts]])


def column_trends(rows: Sequence[Mapping[str, Any]], column: str) -> list[Trend]:
    """Return the share of nulls of a column, and its other measures, if they can be drawn."""
    measures = [_measures(each, column) for each in rows]
    shares = [_share(each, one.get("null_count")) for each, one in zip(rows, measures, strict=True)]
    counts = [one.get("distinct_count") for one in measures]
    trends = (
        _trend("Nulls", rows, [shares], [[None if each is None else f"{each:.1%}" for each in shares]]),
        _trend(
            "Distinct values",
            rows,
            [list(map(_number, counts))],
            [[f"{each:,}" if isinstance(each, int) else None for each in counts]],
        ),
        _lines(
            "Smallest and largest", rows, [[one.get(name) for one in measures] for name in ("min", "max")]
        ),
        _lines("Mean", rows, [[one.get("mean") for one in measures]]),
        _lines(
            "Quarters of the values",
            rows,
            [[_part_of(one, "quantiles", name) for one in measures] for name in ("p25", "p50", "p75")],
        ),
        _lines("Mean length", rows, [[_part_of(one, "length", "mean") for one in measures]]),
    )
    return [each for each in trends if each]


def _lines(name: str, rows: Sequence[Mapping[str, Any]], series: Sequence[Sequence[Any]]) -> Trend | None:
    """Return a chart of values as they are, not from zero."""
    texts = [[figure(value) for value in values] for values in series]
    return _trend(name, rows, [list(map(_number, values)) for values in series], texts, from_zero=False)


def _part_of(measures: Mapping[str, Any], name: str, part: str) -> Any:  # noqa: ANN401 - JSON
    """Return a part of a measure; None if it is unknown or masked."""
    found = measures.get(name)
    return found.get(part) if isinstance(found, Mapping) else None


def _trend(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    series: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[Any]],
    *,
    from_zero: bool = True,
) -> Trend | None:
    """Return a chart with a line for each series; None if fewer than two versions have a value."""
    known = [value for values in series for value in values if value is not None]
    if max(sum(value is not None for value in values) for values in series) < 2:
        return None
    low, high = 0.0 if from_zero else min(known), max(known)
    step = (WIDTH - 2 * _MARGIN) / (len(rows) - 1)
    lines = []
    for values, words in zip(series, texts, strict=True):
        points = [
            None
            if value is None
            else Point(
                round(WIDTH - _MARGIN - step * place, 1),
                round(HEIGHT - _MARGIN - _part(value, low, high) * (HEIGHT - 2 * _MARGIN), 1),
                f"{_named(rows[place])}: {words[place]}",
            )
            for place, value in enumerate(values)
        ]
        lines += [tuple(filter(None, run)) for is_known, run in groupby(points, bool) if is_known]
    return Trend(name, tuple(lines), _sentence(series, texts))


def _part(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _sentence(series: Sequence[Sequence[float | None]], texts: Sequence[Sequence[Any]]) -> str:
    pairs = [
        (value, text)
        for values, words in zip(series, texts, strict=True)
        for value, text in zip(values, words, strict=True)
        if value is not None
    ]
    (low, lowest), (high, highest) = min(pairs, key=_first), max(pairs, key=_first)
    values = f"always {lowest}" if low == high else f"between {lowest} and {highest}"
    return f"{values} in the last {len(series[0])} versions"


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _named(row: Mapping[str, Any]) -> str:
    version = row["version"]
    return str(version["partition"] or version["tag"])


def _measures(row: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    found = row["statistics"].get(column) if isinstance(row["statistics"], Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _share(row: Mapping[str, Any], nulls: object) -> float | None:
    rows = row["row_count"]
    return nulls / rows if isinstance(nulls, int) and rows else None


def _number(value: object) -> float | None:
    """Return a number, date or time as a place on an axis; None for anything else, and what is masked."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (found.replace(tzinfo=UTC) - _FIRST_DAY).total_seconds()
