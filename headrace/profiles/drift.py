"""How far the values of a column have moved between two sets of rows, from their sketches alone.

ks, of numbers, dates and times: the Kolmogorov-Smirnov distance, the greatest difference between the shares of values
that are not above a point, from 0 to 1. It needs no bins, and KLL sketches answer exactly such shares.
psi, of texts and of all that has quantiles: the population stability index, the sum over bins of
(new - old) * ln(new / old), from 0 without a limit. Bins are the most frequent texts and the rest, or the tenths of the
old values. An empty bin counts as a share of 1 in 10,000, as the logarithm needs more than 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from headrace.profiles.measures import is_number, value_text
from headrace.profiles.sketches import ColumnSketches, frequent_of, quantiles_of

if TYPE_CHECKING:
    import datasketches

Method = Literal["ks", "psi"]
# 0.2 is the usual limit of a psi from which a model is looked at again; KLL ranks are right within 0.013.
DEFAULT_THRESHOLD: Mapping[Method, float] = {"ks": 0.1, "psi": 0.2}

_LEAST_SHARE = 0.0001
_COMPARED_TEXTS = 50
_POINTS = 200


class NotComparable(Exception):
    """Values that cannot be compared; the message says why."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A measured difference. change: what changed most, in a sentence."""

    value: float
    change: str


def methods_of(type_: str) -> tuple[Method, ...]:
    """Return the methods that can compare values of a type, by Spark's simple name."""
    if is_number(type_) or type_ in ("date", "timestamp"):
        return ("ks", "psi")
    return ("psi",) if type_ in ("string", "boolean") else ()


def drift(method: Method, new: ColumnSketches, old: ColumnSketches) -> Drift:
    """Return how far the new values are from the old ones. Raises NotComparable, UnreadableSketch, ValueError for a
    method that cannot compare values of the new type."""
    if method not in methods_of(new.type):
        raise ValueError(f"{method} cannot compare values of type {new.type}")
    if methods_of(old.type) != methods_of(new.type):
        raise NotComparable(f"the column is {new.type}, and was {old.type}")
    if not new.value_count or not old.value_count:
        side = "new" if not new.value_count else "earlier"
        raise NotComparable(f"the {side} version has no values in the column")
    if method == "ks":
        return _ks(new, old)
    return _psi(*(_tenths(new, old) if "ks" in methods_of(new.type) else _text_shares(new, old)))


def _ks(new: ColumnSketches, old: ColumnSketches) -> Drift:
    ours, theirs = _quantiles(new), _quantiles(old)
    shares = [place / _POINTS for place in range(_POINTS + 1)]
    points = sorted({sketch.get_quantile(share) for sketch in (ours, theirs) for share in shares})
    now, before = ([sketch.get_rank(point, True) for point in points] for sketch in (ours, theirs))
    place = max(range(len(points)), key=lambda each: abs(now[each] - before[each]))
    return Drift(
        abs(now[place] - before[place]),
        f"{now[place]:.1%} of the values are at most {value_text(points[place], new.type)}, before {before[place]:.1%}",
    )


def _quantiles(sketches: ColumnSketches) -> datasketches.kll_doubles_sketch:
    found = None if sketches.quantiles is None else quantiles_of(sketches.quantiles)
    if found is None or found.is_empty():  # all values are NaN, or versions of different types were merged
        raise NotComparable("a version has no quantiles of the column")
    return found


def _frequent(sketches: ColumnSketches) -> datasketches.frequent_strings_sketch:
    if sketches.frequent is None:
        raise NotComparable("a version has no frequent values of the column")
    return frequent_of(sketches.frequent)


def _tenths(new: ColumnSketches, old: ColumnSketches) -> tuple[list[str], list[float], list[float]]:
    """Return the names and shares of the tenths of the old values."""
    ours, theirs = _quantiles(new), _quantiles(old)
    edges = sorted({theirs.get_quantile(tenth / 10) for tenth in range(1, 10)})
    ends = [str(value_text(edge, new.type)) for edge in edges]
    names = [
        f"at most {ends[0]}",
        *(f"above {low} to {high}" for low, high in pairwise(ends)),
        f"above {ends[-1]}",
    ]
    now, before = ([sketch.get_rank(edge, True) for edge in edges] + [1.0] for sketch in (ours, theirs))
    return names, _steps(now), _steps(before)


def _steps(cumulated: Sequence[float]) -> list[float]:
    return [high - low for low, high in pairwise((0.0, *cumulated))]


def _text_shares(new: ColumnSketches, old: ColumnSketches) -> tuple[list[str], list[float], list[float]]:
    """Return the most frequent texts of either side, the rest last, and their shares."""
    import datasketches

    sides = [(_frequent(each), each.value_count) for each in (new, old)]
    sure = datasketches.frequent_items_error_type.NO_FALSE_POSITIVES
    names: set[str] = set()
    for sketch, _ in sides:
        ranked = sorted(sketch.get_frequent_items(sure), key=lambda item: -item[1])
        names |= {text for text, *_ in ranked[:_COMPARED_TEXTS]}
    ordered = sorted(names)
    now, before = (
        [min(1.0, sketch.get_estimate(name) / count) for name in ordered] for sketch, count in sides
    )
    return (
        [*map(repr, ordered), "any other value"],
        [*now, max(0.0, 1 - sum(now))],
        [*before, max(0.0, 1 - sum(before))],
    )


def _psi(names: Sequence[str], now: Sequence[float], before: Sequence[float]) -> Drift:
    parts = [
        (max(new, _LEAST_SHARE) - max(old, _LEAST_SHARE))
        * math.log(max(new, _LEAST_SHARE) / max(old, _LEAST_SHARE))
        for new, old in zip(now, before, strict=True)
    ]
    place = max(range(len(parts)), key=parts.__getitem__)
    return Drift(sum(parts), f"{now[place]:.1%} of the values are {names[place]}, before {before[place]:.1%}")
