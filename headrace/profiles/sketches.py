"""The sketches of a column: small summaries of its values that can be merged without reading the values again.

The bytes are those of Apache DataSketches, which Spark's aggregates write (`checks/profiling.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import datasketches

# HyperLogLog with 2^12 registers: a standard error of 1.6 %, and 4 KiB at most.
LOG_REGISTERS = 12
# Of KLL: ranks are right within 1.33 % with 99 % confidence, in about 4 KiB.
KLL_SIZE = 200
# Values whose frequency is counted: those of more than 1 in 192 rows are sure to be among them.
COUNTED_VALUES = 256
# Longer texts are counted by their beginning, so that a sketch stays small.
COUNTED_CHARACTERS = 100

_T = TypeVar("_T")


class UnreadableSketch(Exception):
    """Bytes of the catalog that are not a sketch, or one of an unknown version."""


@dataclass(frozen=True, slots=True)
class ColumnSketches:
    """Sketches and totals of a column's values in some rows.

    type: Spark's simple name. sampled: these rows are a sample. total: the sum of the numbers, None for other types.
    shortest, longest, characters: lengths of the texts, and their sum. distinct: HyperLogLog; quantiles: KLL, of
    numbers, of the seconds of times and the days of dates; frequent, patterns: frequent items of texts. None: not of
    this type.
    """

    type: str
    row_count: int
    null_count: int
    sampled: bool = False
    total: float | None = None
    shortest: int | None = None
    longest: int | None = None
    characters: int | None = None
    distinct: bytes | None = None
    quantiles: bytes | None = None
    frequent: bytes | None = None
    patterns: bytes | None = None

    @property
    def value_count(self) -> int:
        """The number of rows with a value."""
        return self.row_count - self.null_count


def merged(parts: Sequence[ColumnSketches]) -> ColumnSketches:
    """Return the sketches of all rows together; a sketch that one part lacks is not known of the whole.

    Raises UnreadableSketch, ValueError for no parts.
    """
    if len(parts) == 1:
        return parts[0]
    last = parts[-1]
    same = len({_family(part.type) for part in parts}) == 1
    return ColumnSketches(
        type=last.type,
        row_count=sum(part.row_count for part in parts),
        null_count=sum(part.null_count for part in parts),
        sampled=any(part.sampled for part in parts),
        total=_combined([part.total for part in parts], sum) if same else None,
        shortest=_combined_known([part.shortest for part in parts], min),
        longest=_combined_known([part.longest for part in parts], max),
        characters=_combined([part.characters for part in parts], sum),
        distinct=_combined([part.distinct for part in parts], _merged_distinct) if same else None,
        quantiles=_combined([part.quantiles for part in parts], _merged_quantiles) if same else None,
        frequent=_combined([part.frequent for part in parts], _merged_frequent) if same else None,
        patterns=_combined([part.patterns for part in parts], _merged_frequent) if same else None,
    )


def distinct_count(sketch: bytes) -> float:
    """Return the estimated number of distinct values. Raises UnreadableSketch."""
    import datasketches

    return float(_read(datasketches.hll_sketch.deserialize, sketch).get_estimate())


def quantiles_of(sketch: bytes) -> datasketches.kll_doubles_sketch:
    """Return the sketch of quantiles. Raises UnreadableSketch."""
    import datasketches

    return _read(datasketches.kll_doubles_sketch.deserialize, sketch)


def frequent_of(sketch: bytes) -> datasketches.frequent_strings_sketch:
    """Return the sketch of frequent texts. Raises UnreadableSketch."""
    import datasketches

    return _read(datasketches.frequent_strings_sketch.deserialize, sketch)


def _family(type_: str) -> str:
    """Return what types have in common whose sketches can be merged: widened numbers, any decimal of one scale."""
    if type_ in ("tinyint", "smallint", "int", "bigint"):
        return "integer"
    if type_ in ("float", "double"):
        return "floating"
    if type_.startswith("decimal("):
        return f"decimal of scale {type_.rstrip(')').rpartition(',')[2]}"
    return type_


def _combined(values: Sequence[_T | None], combine: Callable[[list[_T]], _T]) -> _T | None:
    """Combine values that are all known."""
    known = [value for value in values if value is not None]
    return combine(known) if known and len(known) == len(values) else None


def _combined_known(values: Iterable[int | None], combine: Callable[[list[int]], int]) -> int | None:
    """Combine the known values: rows without texts have no lengths."""
    known = [value for value in values if value is not None]
    return combine(known) if known else None


def _merged_distinct(parts: list[bytes]) -> bytes:
    import datasketches

    union = datasketches.hll_union(LOG_REGISTERS)
    for part in parts:
        union.update(_read(datasketches.hll_sketch.deserialize, part))
    return bytes(union.get_result(datasketches.HLL_8).serialize_compact())


def _merged_quantiles(parts: list[bytes]) -> bytes:
    import datasketches

    whole = datasketches.kll_doubles_sketch(KLL_SIZE)
    for part in parts:
        whole.merge(quantiles_of(part))
    return bytes(whole.serialize())


def _merged_frequent(parts: list[bytes]) -> bytes:
    import datasketches

    whole = datasketches.frequent_strings_sketch(COUNTED_VALUES.bit_length() - 1)
    for part in parts:
        whole.merge(frequent_of(part))
    return bytes(whole.serialize())


def _read(deserialize: Callable[[bytes], Any], sketch: bytes) -> Any:  # noqa: ANN401 - datasketches has no types
    try:
        return deserialize(bytes(sketch))
    except (ValueError, RuntimeError, MemoryError, IndexError) as error:
        raise UnreadableSketch(str(error)) from error
