"""Withdraw the pointers of partitions that a changed declaration no longer has, and restore those that it has again."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from psycopg import Cursor

from headrace.catalog.published_lineage import follow_pointers
from headrace.catalog.sql import statement
from headrace.database.ids import organisation_id

_POINTERS = """
SELECT dataset.dataset_id, full_name, partition_definition, pointer.partition_key,
       pointer.dataset_version_id IS NOT NULL AS published
FROM catalog.dataset
JOIN catalog.published_pointer pointer USING (dataset_id)
WHERE dataset.organisation_id = %s AND full_name = ANY (%s) AND pointer.generation > 0
  AND NOT (metadata_json ? 'external')
ORDER BY full_name, partition_key
"""
# The keys that Dagster makes; an hourly one may be followed by its UTC offset.
_FORMATS = {"hourly": "%Y-%m-%d-%H:%M", "daily": "%Y-%m-%d", "weekly": "%Y-%m-%d", "monthly": "%Y-%m-%d"}
_LENGTHS = {"hourly": len("2013-01-01-00:00"), "daily": 10, "weekly": 10, "monthly": 10}
_SUNDAY = 6


def follow_declarations(cursor: Cursor[Any], datasets: Collection[str]) -> None:
    """Withdraw published partitions that the declarations of these datasets no longer have; restore withdrawn ones.

    A dataset without partitions has the partition ''. External datasets are left alone: others write their partitions.
    """
    moves: dict[tuple[Any, str], list[str]] = {}
    for row in cursor.execute(_POINTERS, [organisation_id(), list(datasets)]).fetchall():
        if has_partition(row["partition_definition"], row["partition_key"]) != row["published"]:
            moves.setdefault((row["dataset_id"], row["full_name"]), []).append(row["partition_key"])
    for (dataset_id, dataset), partitions in moves.items():
        place = {
            "organisation": organisation_id(),
            "dataset_id": dataset_id,
            "dataset": dataset,
            "partitions": partitions,
        }
        moved = statement("withdraw").execute(cursor, place).fetchone()
        if moved is not None and moved["moved_at"] is not None:
            follow_pointers(cursor, dataset_id, dataset, moved["moved_at"])


def has_partition(definition: Mapping[str, Any] | None, key: str) -> bool:
    """Return True if partitions declared like this (None: no partitions) have this key, now or later."""
    if definition is None:
        return key == ""
    if definition["type"] == "static":
        return key in definition["keys"]
    if definition["type"] == "multi":
        # Dagster orders the parts of a key by the names of their dimensions.
        dimensions = [dimension for _, dimension in sorted(definition["dimensions"].items())]
        parts = key.split("|")
        return len(parts) == len(dimensions) and all(map(has_partition, dimensions, parts))
    return _is_of_calendar(definition, key)


def _is_of_calendar(definition: Mapping[str, Any], key: str) -> bool:
    length = definition["type"]
    digits = key[: _LENGTHS[length]]
    try:
        moment = datetime.strptime(digits, _FORMATS[length])  # noqa: DTZ007 - a key, in the zone of its definition
    except ValueError:
        return False
    return (
        (len(key) == len(digits) or length == "hourly")
        and (length != "monthly" or moment.day == 1)
        and (length != "weekly" or moment.weekday() == _SUNDAY)
        and digits >= definition["start"]
        and (
            definition.get("end") is None or definition.get("end_offset", 0) > 0 or digits < definition["end"]
        )
    )
