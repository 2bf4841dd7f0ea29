"""Compute a row's partition key in Spark, formatted as Dagster formats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from headrace.declarations.declaration import Dynamic, Multi, Static, Time
from headrace.spark.quoting import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SECONDS_OF_DAY = 86_400


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A row's partition key, computed from the columns of the dimensions."""

    dimensions: tuple[Time | Static | Dynamic, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(cast("str", dimension.column) for dimension in self.dimensions)

    def __call__(self, frame: DataFrame) -> str:
        """Return the key of each row of the frame, as an SQL expression, which Spark parses in one call to its JVM."""
        types = {name.lower(): type_ for name, type_ in frame.dtypes}
        parts = [_key_of(dimension, types) for dimension in self.dimensions]
        return parts[0] if len(parts) == 1 else f"concat_ws('|', {', '.join(parts)})"


def partition_column(partitions: Time | Static | Dynamic | Multi) -> KeyColumn | None:
    """Return the column with a row's partition, or None if the declaration names none."""
    if isinstance(partitions, Multi):
        # Dagster orders the dimensions of a two-dimensional key by name.
        dimensions = [partitions.dimensions[name] for name in sorted(partitions.dimensions)]
    else:
        dimensions = [partitions]
    return KeyColumn(tuple(dimensions)) if all(dimension.column for dimension in dimensions) else None


def _key_of(dimension: Time | Static | Dynamic, types: Mapping[str, str]) -> str:
    name = cast("str", dimension.column)
    column = quoted(name)
    if isinstance(dimension, Static | Dynamic):
        return f"CAST({column} AS STRING)"
    # A timestamp is an instant and is converted to the partitions' zone; other types are local times already.
    if types.get(name.lower()) == "timestamp":
        return _key_of_instant(column, dimension)
    return _key_of_local(f"CAST({column} AS TIMESTAMP_NTZ)", dimension)


def _key_of_instant(instant: str, dimension: Time) -> str:
    """Return the key in the partitions' zone, in whole seconds, independent of the session's zone."""
    zone = literal(dimension.timezone)
    clock = f"from_utc_timestamp({instant}, {zone})"
    seconds = f"unix_seconds({clock})"
    second_of_day = f"pmod({seconds}, {_SECONDS_OF_DAY})"
    day = f"date_from_unix_date(CAST(({seconds} - {second_of_day}) / {_SECONDS_OF_DAY} AS INT))"
    if dimension.type != "hourly":
        return _key_of_day(day, dimension)
    ahead = f"CAST(({seconds} - unix_seconds({instant})) / 60 AS INT)"
    sign = f"CASE WHEN {ahead} < 0 THEN '-' ELSE '+' END"
    offset = f"format_string('%s%02d%02d', {sign}, floor(abs({ahead}) / 60), abs({ahead}) % 60)"
    # A repeated hour: without an offset, its time means the first pass, and Dagster names the second by its UTC offset.
    again = f"to_utc_timestamp({clock}, {zone}) != {instant}"
    hour = _key_of_hour(day, f"floor({second_of_day} / 3600)")
    return f"concat({hour}, CASE WHEN {again} THEN {offset} ELSE '' END)"


def _key_of_local(local: str, dimension: Time) -> str:
    """Return the key of a time without a zone; in a repeated hour, that of the first pass."""
    day = f"CAST({local} AS DATE)"
    return _key_of_hour(day, f"hour({local})") if dimension.type == "hourly" else _key_of_day(day, dimension)


def _key_of_hour(day: str, hour: str) -> str:
    return f"concat(CAST({day} AS STRING), '-', lpad(CAST({hour} AS STRING), 2, '0'), ':00')"


def _key_of_day(day: str, dimension: Time) -> str:
    if dimension.type == "weekly":
        # Dagster's weeks begin on Sunday, which Spark numbers 1.
        day = f"date_sub({day}, dayofweek({day}) - 1)"
    elif dimension.type == "monthly":
        day = f"trunc({day}, 'month')"
    return f"CAST({day} AS STRING)"
