"""Row checks as Spark conditions that are true where a row fails.

They have the semantics of pandera's checks with these names: a null passes all but `not_null`. pandera counts rows that
do not meet a condition, one Spark job per check; a condition can be counted during the write.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Check
from headrace.checks.custom_checks import CHECKS
from headrace.checks.summary import Bounds
from headrace.spark.errors import InvalidCheck
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_TEXT = ("string", "char", "varchar")
_ORDERED = _NUMBERS + _TIMES
_ENUMERABLE = (*_ORDERED, *_TEXT, "binary")
_COMPARED = (*_ENUMERABLE, "boolean")

_Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of check of single values.

    types: of the columns that it is defined for; empty: every type. condition: by which pandera's check of that name
    filters. holds: whether every value between a lowest and a highest passes; None if bounds prove nothing.
    """

    types: tuple[str, ...]
    required: frozenset[str]
    condition: Callable[[Column, _Parameters], Column]
    optional: frozenset[str] = frozenset()
    holds: Callable[[Any, Any, _Parameters], bool] | None = None


_KINDS: Mapping[str, _Kind] = {
    "equal_to": _Kind(_COMPARED, frozenset({"value"}), lambda value, p: value == p["value"]),
    "not_equal_to": _Kind(_COMPARED, frozenset({"value"}), lambda value, p: value != p["value"]),
    "greater_than": _Kind(
        _ORDERED,
        frozenset({"min_value"}),
        lambda value, p: value > p["min_value"],
        holds=lambda low, high, p: bool(low > p["min_value"]),
    ),
    "greater_than_or_equal_to": _Kind(
        _ORDERED,
        frozenset({"min_value"}),
        lambda value, p: value >= p["min_value"],
        holds=lambda low, high, p: bool(low >= p["min_value"]),
    ),
    "less_than": _Kind(
        _ORDERED,
        frozenset({"max_value"}),
        lambda value, p: value < p["max_value"],
        holds=lambda low, high, p: bool(high < p["max_value"]),
    ),
    "less_than_or_equal_to": _Kind(
        _ORDERED,
        frozenset({"max_value"}),
        lambda value, p: value <= p["max_value"],
        holds=lambda low, high, p: bool(high <= p["max_value"]),
    ),
    "in_range": _Kind(
        _ORDERED,
        frozenset({"min_value", "max_value"}),
        lambda value, p: (
            (value >= p["min_value"] if p.get("include_min", True) else value > p["min_value"])
            & (value <= p["max_value"] if p.get("include_max", True) else value < p["max_value"])
        ),
        frozenset({"include_min", "include_max"}),
        lambda low, high, p: bool(
            (low >= p["min_value"] if p.get("include_min", True) else low > p["min_value"])
            and (high <= p["max_value"] if p.get("include_max", True) else high < p["max_value"])
        ),
    ),
    "isin": _Kind(
        _ENUMERABLE, frozenset({"allowed_values"}), lambda value, p: value.isin(list(p["allowed_values"]))
    ),
    "notin": _Kind(
        _ENUMERABLE,
        frozenset({"forbidden_values"}),
        lambda value, p: ~value.isin(list(p["forbidden_values"])),
    ),
    "str_matches": _Kind(
        _TEXT, frozenset({"pattern"}), lambda value, p: value.rlike(starting_pattern(p["pattern"]))
    ),
    "str_contains": _Kind(
        _TEXT, frozenset({"pattern"}), lambda value, p: value.rlike(pattern_text(p["pattern"]))
    ),
    "str_startswith": _Kind(
        _TEXT,
        frozenset({"string"}),
        lambda value, p: value.startswith(p["string"]),
        # Text is ordered by bytes, so anything between two values with a prefix has the prefix too.
        holds=lambda low, high, p: bool(low.startswith(p["string"]) and high.startswith(p["string"])),
    ),
    "str_endswith": _Kind(_TEXT, frozenset({"string"}), lambda value, p: value.endswith(p["string"])),
    "str_length": _Kind(
        _TEXT,
        frozenset(),
        lambda value, p: _has_length(value, p),
        frozenset({"min_value", "max_value", "exact_value"}),
    ),
    "not_null": _Kind((), frozenset(), lambda value, p: value.isNotNull()),
}
KINDS = frozenset(_KINDS) | {"sql"}
BOUNDED = frozenset(name for name, kind in _KINDS.items() if kind.holds) | {"not_null"}
# Judged by a text alone: its column's distinct values, or the column, prove them without Spark.
VALUED = frozenset(name for name, kind in _KINDS.items() if "string" in kind.types)
_WHOLE_VALUES = frozenset(["equal_to", "not_equal_to", "isin", "notin"])


def is_row_check(kind: str) -> bool:
    """Return True if checks of this kind are row checks."""
    return kind in KINDS or kind in CHECKS


def failing(check: Check, types: Mapping[str, str]) -> Column:
    """Return the condition that is true for a row that fails the check; false or null for one that passes.

    types: the frame's columns with Spark's simple type names, which `validate` has found suitable.
    """
    from pyspark.sql import functions as F

    if check.kind == "sql":
        # On a separate line, so that a trailing comment ends.
        return ~F.expr(f"({check.parameters['expression']}\n)")
    value = F.col(quoted(str(check.column)))
    if check.kind not in KINDS:
        return ~CHECKS.get(check.kind).condition(value, check.parameters)
    parameters = {name: _for_spark(each) for name, each in check.parameters.items()}
    return ~_KINDS[check.kind].condition(value, parameters)


def plain_parameter(kind: str) -> str:
    """Return the only required parameter of a kind, which a declaration writes as its plain value."""
    (name,) = _KINDS[kind].required
    return name


def _for_spark(value: Any) -> Any:  # noqa: ANN401 - a check's parameter is any value
    """Return whole numbers beyond 64 bits as decimals: py4j passes Java a BigInteger, which Spark does not accept."""
    if isinstance(value, list | tuple):
        return [_for_spark(each) for each in value]
    is_wide = isinstance(value, int) and not -(2**63) <= value < 2**63
    return Decimal(value) if is_wide else value


def validate(check: Check, types: Mapping[str, str]) -> None:
    """Raise InvalidCheck unless the check's column exists, has a suitable type, and its parameters are complete."""
    if check.kind == "sql":
        expression = check.parameters.get("expression")
        if not isinstance(expression, str) or not expression.strip():
            raise InvalidCheck(f"Check {check.name}: an sql check needs the parameter `expression`.")
        return
    kind = _KINDS.get(check.kind) or CHECKS.get(check.kind)
    if check.column is None or check.column not in types:
        raise InvalidCheck(
            f"Check {check.name}: no column {check.column!r}; columns are {', '.join(types)}. Correct "
            "`column`."
        )
    base = types[check.column].partition("(")[0]
    if kind.types and base not in kind.types:
        raise InvalidCheck(
            f"Check {check.name}: {check.kind} is not defined for {check.column} of type {types[check.column]}, "
            f"only for {', '.join(kind.types)}. Choose another check, or an sql check."
        )
    if not isinstance(kind, _Kind):
        try:
            kind.validate(check.parameters)
        except ValueError as error:
            raise InvalidCheck(f"Check {check.name}: {error}") from error
        return
    given = frozenset(name for name, value in check.parameters.items() if value is not None)
    wrong = (kind.required - given) | (given - kind.required - kind.optional)
    if wrong or (check.kind == "str_length" and not given):
        expected = (
            ", ".join([*sorted(kind.required), *(f"{name} (optional)" for name in sorted(kind.optional))])
            or "none"
        )
        raise InvalidCheck(
            f"Check {check.name}: {check.kind} takes the parameters {expected}; got {sorted(given)}."
        )
    if base in _TEXT and check.kind in _WHOLE_VALUES:
        for name in given:
            values = _items(check.parameters[name])
            wrong_kind = [item for item in values if not isinstance(item, str) and item is not None]
            if wrong_kind:
                raise InvalidCheck(
                    f"Check {check.name}: `{name}` must be text as {check.column} is {types[check.column]}; got "
                    f"{wrong_kind[0]!r}. Put it into quotes: YAML reads NO, on and 1 as something else."
                )
    if base in (*_NUMBERS, *_TIMES):
        for name in given - {"include_min", "include_max"}:
            value = check.parameters[name]
            if not all(_is_number(item) if base in _NUMBERS else _is_time(item) for item in _items(value)):
                suitable = "a number" if base in _NUMBERS else "a date or time, such as 2026-11-28"
                raise InvalidCheck(
                    f"Check {check.name}: `{name}` must be {suitable} as {check.column} is {types[check.column]}; "
                    f"got {value!r}."
                )
            if base in _NUMBERS and any(
                isinstance(item, int) and abs(item) >= 10**38 for item in _items(value)
            ):
                raise InvalidCheck(
                    f"Check {check.name}: `{name}` is {value!r}, and Spark's numbers have at most 38 digits."
                )


def _items(value: Any) -> Collection[Any]:  # noqa: ANN401 - a check's parameter is any value
    """Return the values of a list, or the single value."""
    return value if isinstance(value, list | tuple | set | frozenset) else [value]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_time(value: object) -> bool:
    """Return True for a Python date or time, or text that Spark reads as one; a full date must also exist."""
    if not isinstance(value, str):
        return isinstance(value, dt.date)
    found = re.fullmatch(r"\s*[+-]?\d{4,7}(-\d{1,2}(-\d{1,2}([T ].*)?)?)?\s*", value)
    day = re.match(r"\s*(\d{4}-\d{2}-\d{2})", value)
    return found is not None and (day is None or _date(day[1]) is not None)


def proven(check: Check, type: str, bounds: Bounds) -> bool:
    """Return True if a column's bounds alone prove that no row fails the check.

    Only for checks about order, prefixes and nulls. The bounds' values must be as exact in Python as in Spark, so a
    parameter of a different type than the column's proves nothing.
    """
    if bounds.row_count == 0:
        return True
    if check.kind == "not_null":
        return bounds.null_count == 0
    kind = _KINDS.get(check.kind)
    if kind is None or kind.holds is None:
        return False
    if bounds.all_null:
        return True
    if bounds.minimum is None:
        return False
    limits = {
        name: _comparable(check.parameters.get(name), type)
        for name in ("min_value", "max_value")
        if name in check.parameters
    }
    if None in limits.values():
        return False
    return kind.holds(bounds.minimum, bounds.maximum, {**check.parameters, **limits})


def counted(condition: Column) -> Column:
    """Return the number of rows that meet the condition, as an aggregate.

    Not Spark's count_if: its optimizer puts the condition into a projection below the aggregate, which copies every row
    of an Observation twice more.
    """
    from pyspark.sql import functions as F

    return F.count(F.when(condition, F.lit(1)))


def pattern_text(pattern: str | re.Pattern[str]) -> str:
    """Return the regular expression of a `str_contains` check."""
    return pattern.pattern if isinstance(pattern, re.Pattern) else pattern


def starting_pattern(pattern: str | re.Pattern[str]) -> str:
    """Return the regular expression of a `str_matches` check, which is searched from the start of the text."""
    return "^" + pattern_text(pattern).removeprefix("^")


def _has_length(value: Column, parameters: _Parameters) -> Column:
    from pyspark.sql import functions as F

    length = F.length(value)
    exact: int | None = parameters.get("exact_value")
    if exact is not None:
        return length == exact
    low: int | None = parameters.get("min_value")
    high: int | None = parameters.get("max_value")
    # A single comparison for a single bound: Spark counts the characters again for each.
    if high is None:
        return length >= (low or 0)
    return length <= high if low is None else length.between(low, high)


def _comparable(value: Any, type: str) -> Any:  # noqa: ANN401 - a check's parameter is any value
    """Return the value as Python's type of the column, or None if comparing it in Python might differ from Spark."""
    base = type.partition("(")[0]
    if isinstance(value, bool):
        return None
    if base in ("tinyint", "smallint", "int", "bigint"):
        return value if isinstance(value, int) else None
    if base in ("float", "double"):
        # Spark compares as doubles, which cannot represent integers beyond 2**53.
        return value if isinstance(value, float) or (isinstance(value, int) and abs(value) <= 2**53) else None
    if base == "decimal":
        return value if isinstance(value, int | Decimal) else None
    if base == "date":
        if isinstance(value, str):
            return _date(value)
        return value if value.__class__ is dt.date else None  # isinstance treats a datetime as a date
    if base == "timestamp":
        return value if isinstance(value, dt.datetime) and value.tzinfo is not None else None
    return None


def _date(text: str) -> dt.date | None:
    """Parse `yyyy-mm-dd`; None for other notations, in which Python and Spark differ."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
