"""The partition key of a row, computed by Spark from the row's columns and written as Dagster writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from components.declaration import Multi, Static, Time

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SECONDS_OF_DAY = 86_400


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A row's partition key, made from the columns of the dimensions (one, where there is one dimension)."""

    dimensions: tuple[Time | Static, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(cast("str", dimension.column) for dimension in self.dimensions)

    def __call__(self, frame: DataFrame) -> Column:
        """The key of each row of the frame, as a column of strings."""
        from pyspark.sql import functions as f

        types = {name.lower(): type_ for name, type_ in frame.dtypes}
        parts = [_key_of(dimension, types) for dimension in self.dimensions]
        return parts[0] if len(parts) == 1 else f.concat_ws("|", *parts)


def partition_column(partitions: Time | Static | Multi) -> KeyColumn | None:
    """The column that tells a row's partition, or None where the declaration names none."""
    if isinstance(partitions, Multi):
        # Dagster writes a two-dimensional key with its dimensions in the order of their names.
        dimensions = tuple(partitions.dimensions[name] for name in sorted(partitions.dimensions))
    else:
        dimensions = (partitions,)
    return KeyColumn(dimensions) if all(dimension.column for dimension in dimensions) else None


def _key_of(dimension: Time | Static, types: Mapping[str, str]) -> Column:
    from pyspark.sql import functions as f

    name = cast("str", dimension.column)
    column = f.col(name)
    if isinstance(dimension, Static):
        return column.cast("string")
    # A timestamp is an instant and has to be read in the partitions' zone; anything else is a local time already.
    if types.get(name.lower()) == "timestamp":
        return _key_of_instant(column, dimension)
    return _key_of_local(column.cast("timestamp_ntz"), dimension)


def _key_of_instant(instant: Column, dimension: Time) -> Column:
    """The key by the clock of the partitions' zone, in whole seconds, so that the session's zone has no part in it."""
    from pyspark.sql import functions as f

    clock = f.from_utc_timestamp(instant, dimension.timezone)
    seconds = f.unix_seconds(clock)
    second_of_day = f.pmod(seconds, f.lit(_SECONDS_OF_DAY))
    day = f.date_from_unix_date(((seconds - second_of_day) / _SECONDS_OF_DAY).cast("int"))
    if dimension.type != "hourly":
        return _key_of_day(day, dimension)
    ahead = ((seconds - f.unix_seconds(instant)) / 60).cast("int")
    offset = f.format_string(
        "%s%02d%02d",
        f.when(ahead < 0, f.lit("-")).otherwise(f.lit("+")),
        f.floor(f.abs(ahead) / 60),
        f.abs(ahead) % 60,
    )
    # An hour that the clock shows twice: read back, its time means the first, and Dagster names the second by its
    # distance from UTC.
    again = f.to_utc_timestamp(clock, dimension.timezone) != instant
    hour = f.floor(second_of_day / 3600)
    return f.concat(_key_of_hour(day, hour), f.when(again, offset).otherwise(f.lit("")))


def _key_of_local(local: Column, dimension: Time) -> Column:
    """The key of a time without a zone; of an hour that comes twice, the first one's."""
    from pyspark.sql import functions as f

    day = local.cast("date")
    return _key_of_hour(day, f.hour(local)) if dimension.type == "hourly" else _key_of_day(day, dimension)


def _key_of_hour(day: Column, hour: Column) -> Column:
    from pyspark.sql import functions as f

    return f.concat(day.cast("string"), f.lit("-"), f.lpad(hour.cast("string"), 2, "0"), f.lit(":00"))


def _key_of_day(day: Column, dimension: Time) -> Column:
    from pyspark.sql import functions as f

    if dimension.type == "weekly":
        # Dagster's weeks begin on Sunday, which Spark numbers 1.
        day = f.date_sub(day, f.dayofweek(day) - 1)
    elif dimension.type == "monthly":
        day = f.trunc(day, "month")
    return day.cast("string")
