"""Map the completion of an external process to a dataset partition, by business date or by time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import dagster as dg
from dagster import TimeWindowPartitionsDefinition

from headrace.dagster_internals import partition_loading_context

Definition = dg.PartitionsDefinition[str]
_PACKED_DAY = re.compile(r"\d{8}")
_PACKED_TIME = re.compile(r"(\d{8})(\d{4}(?:\d\d)?)")
_MIDDAY = time(12)  # a time that exists every day, despite clock changes


class NoPartition(Exception):
    """No partition matches a completion; the message gives the reason and a solution."""


def partition_of(definition: Definition | None, stated: str | None, moment: datetime) -> str | None:
    """Return the key of a completion's partition; None for an unpartitioned dataset.

    A completion without a date refers to the last complete partition at `moment`, like a scheduled run in Dagster; days
    excluded by the definition are ignored. A job's calendar gives the days on which it runs, not the days its runs
    refer to.

    Args:
        definition: the dataset's partitions.
        stated: the partition key, date or time in the completion.
        moment: when the process started, or ended if the start is unknown.

    Raises NoPartition.
    """
    if definition is None:
        return None
    if isinstance(definition, dg.DynamicPartitionsDefinition):
        if stated is None:
            raise NoPartition("the completion states no partition")
        return stated
    with partition_loading_context(effective_dt=datetime.now(UTC)):
        if stated is not None and definition.has_partition_key(stated):
            return stated
        if not isinstance(definition, TimeWindowPartitionsDefinition):
            raise NoPartition(
                f"{stated!r} is not one of its partitions" if stated else "the completion states no partition"
            )
        key = _last_whole(definition, moment) if stated is None else _at(definition, stated)
        if key is None or not definition.has_partition_key(key):
            raise NoPartition(_outside(definition, stated or f"{moment:%Y-%m-%d %H:%M %Z}"))
    return key


def _last_whole(definition: TimeWindowPartitionsDefinition, moment: datetime) -> str | None:
    """Return the last complete partition, for a definition without an end: the last one of an ended definition would
    be wrong."""
    endless = TimeWindowPartitionsDefinition(
        start=definition.start,
        fmt=definition.fmt,
        timezone=definition.timezone,
        cron_schedule=definition.cron_schedule,
        end_offset=definition.end_offset,
        exclusions=definition.exclusions,
    )
    with partition_loading_context(effective_dt=moment):
        return endless.get_last_partition_key()


def _at(definition: TimeWindowPartitionsDefinition, stated: str) -> str:
    return definition.get_partition_key_for_timestamp(_instant(definition, stated).timestamp())


def _instant(definition: TimeWindowPartitionsDefinition, stated: str) -> datetime:
    zone = ZoneInfo(definition.timezone)
    text = stated.strip()
    if _PACKED_DAY.fullmatch(text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    elif found := _PACKED_TIME.fullmatch(text):
        text = f"{found[1]}T{found[2]}"
    elif text.isdecimal():  # `fromisoformat` would read some as a date, one digit in between and a time
        raise NoPartition(f"{stated!r} is neither one of its partitions nor a date or time")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        try:
            instant = datetime.fromisoformat(text)
        except ValueError as error:
            raise NoPartition(f"{stated!r} is neither one of its partitions nor a date or time") from error
        return instant if instant.tzinfo else instant.replace(tzinfo=zone)
    if _is_shorter_than_a_day(definition):
        raise NoPartition(
            f"{stated!r} is a day, and its partitions are hours: the completion has to state a time"
        )
    return datetime.combine(day, _MIDDAY, zone)


def _is_shorter_than_a_day(definition: TimeWindowPartitionsDefinition) -> bool:
    return ":" in (definition.get_first_partition_key() or "")


def _outside(definition: TimeWindowPartitionsDefinition, what: str) -> str:
    first, last = definition.get_first_partition_key(), definition.get_last_partition_key()
    if first is None:
        return f"{what} is in none of its partitions: it has none yet"
    hint = "" if definition.end else "; set `end_offset: 1` for a day that is not over yet"
    return f"{what} is in none of its partitions, which are {first} to {last}{hint}"
