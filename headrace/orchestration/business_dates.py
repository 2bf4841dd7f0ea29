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
_MIDDAY = time(12)  # which every day has, whatever its clocks do at night


class NoPartition(Exception):
    """There is no partition that a completion is about; the message says why, and what would make one."""


def partition_of(definition: Definition | None, stated: str | None, moment: datetime) -> str | None:
    """The key of the partition that a completion is about; None for what is not partitioned.

    A completion that states no date is about the last partition that was whole at `moment`, as the run of a schedule is
    in Dagster; days that the definition leaves out count for nothing. The calendar of a job says when it runs, and not
    what its runs are about.

    Args:
        definition: how the dataset is divided.
        stated: the partition key, date or time that the completion states.
        moment: when the process started, or ended where that is all that is known.

    Raises NoPartition.
    """
    if definition is None:
        return None
    with partition_loading_context(effective_dt=datetime.now(UTC)):
        if stated is not None and definition.has_partition_key(stated):
            return stated
        if not isinstance(definition, TimeWindowPartitionsDefinition):
            raise NoPartition(
                f"{stated!r} is none of its partitions" if stated else "the completion states no partition"
            )
        key = _last_whole(definition, moment) if stated is None else _at(definition, stated)
        if key is None or not definition.has_partition_key(key):
            raise NoPartition(_outside(definition, stated or f"{moment:%Y-%m-%d %H:%M %Z}"))
    return key


def _last_whole(definition: TimeWindowPartitionsDefinition, moment: datetime) -> str | None:
    """Of a definition that goes on for ever: of one that has ended, the last is not the one that is meant."""
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
        return f"{what} is in none of its partitions: there are none yet"
    hint = "" if definition.end else "; a day that is not over yet has one with `end_offset: 1`"
    return f"{what} is in none of its partitions, which are {first} to {last}{hint}"
