"""Withdraw the pointers of partitions that a changed declaration no longer has, and restore those that it has again."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.context import current_context
from headrace.database.jsonb import jsonb
from headrace.publishing.lineage import follow_pointers
from headrace.publishing.sql import statement

_POINTERS = """
SELECT dataset.dataset_id, full_name, partition_definition, pointer.partition_key,
       pointer.dataset_version_id IS NOT NULL AS published
FROM catalog.dataset
JOIN catalog.published_pointer pointer USING (dataset_id)
WHERE dataset.organisation_id = %s AND full_name = ANY (%s) AND pointer.generation > 0
  AND NOT (metadata_json ? 'external')
ORDER BY full_name, partition_key
"""
# A version was published under the definition that its pointer's next such move left, or the present one.
_DEFINITIONS = """
SELECT pointer.dataset_version_id IS NOT NULL AS published, dataset.partition_definition, later.former_definition,
       later.generation
FROM catalog.dataset_version version
JOIN catalog.dataset USING (dataset_id)
JOIN catalog.published_pointer pointer USING (dataset_id, partition_key)
LEFT JOIN LATERAL (
    SELECT later.former_definition, later.generation
    FROM catalog.pointer_move first
    JOIN catalog.pointer_move later USING (dataset_id, partition_key)
    WHERE first.dataset_version_id = version.dataset_version_id AND first.kind = 'PUBLISH'
      AND later.generation > first.generation
      AND later.former_definition IS NOT NULL AND later.previous_version_id IS NOT NULL
    ORDER BY later.generation
    LIMIT 1
) later ON true
WHERE version.dataset_version_id = %s
"""
_END_PINS = """
UPDATE catalog.dataset_pin SET unpinned_by = 'a changed declaration', unpinned_at = now()
WHERE dataset_id = %s AND partition_key = ANY (%s) AND unpinned_at IS NULL
"""
# What may change while the keys that remain keep their meaning.
_RANGE = frozenset({"start", "end", "end_offset", "calendar", "keys"})
# The keys that Dagster makes; an hourly one may be followed by its UTC offset.
_FORMATS = {"hourly": "%Y-%m-%d-%H:%M", "daily": "%Y-%m-%d", "weekly": "%Y-%m-%d", "monthly": "%Y-%m-%d"}
_LENGTHS = {"hourly": len("2013-01-01-00:00"), "daily": 10, "weekly": 10, "monthly": 10}
_SUNDAY = 6


def follow_declarations(cursor: Cursor[Any], former: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    """Withdraw published partitions that the declarations of these datasets no longer have, and restore those that
    they have again. Returns the datasets with moved pointers.

    former: the partition definitions before, by dataset. Another type, time zone or dimension gives the same key
    another meaning: then all partitions are withdrawn, and those published last under the new definition restored.
    A dataset without partitions has the partition ''. External datasets are left alone: others write their partitions.
    Pins of withdrawn versions end.
    """
    moves: dict[str, list[dict[str, Any]]] = {}
    rows = cursor.execute(_POINTERS, [current_context().organisation_id, list(former)]).fetchall()
    for row in rows:
        dataset, key = row["full_name"], row["partition_key"]
        before, now = former[dataset], row["partition_definition"]
        declared = has_partition(now, key)
        # A key other than '' of a dataset without partitions was reported before there was a declaration.
        same = _meaning(before) == _meaning(now) or (before is None and key != "")
        if row["published"] != declared or (declared and not same):
            moves.setdefault(dataset, []).append({"partition_key": key, "declared": declared})
    ids = {row["full_name"]: row["dataset_id"] for row in rows}
    definitions = {row["full_name"]: row["partition_definition"] for row in rows}
    moved = []
    for dataset, partitions in moves.items():
        place = {
            "organisation": current_context().organisation_id,
            "dataset_id": ids[dataset],
            "dataset": dataset,
            "partitions": jsonb(partitions),
            "former": jsonb(_meaning(former[dataset])),
            "definition": jsonb(_meaning(definitions[dataset])),
        }
        row = statement("withdraw").execute(cursor, place).fetchone()
        if row is not None and row["moved_at"] is not None:
            follow_pointers(cursor, ids[dataset], dataset, row["moved_at"])
            cursor.execute(_END_PINS, [ids[dataset], [each["partition_key"] for each in partitions]])
            moved.append(dataset)
    return moved


def is_readable(cursor: Cursor[Any], version_id: UUID) -> bool:
    """Return True if the partition of this version is published, and its key has the meaning that it had then."""
    row = cursor.execute(_DEFINITIONS, [version_id]).fetchone()
    return row is not None and row["published"] and _has_present_meaning(row)


def is_of_present_definition(cursor: Cursor[Any], version_id: UUID) -> bool:
    """Return True if the partition key of this version has the meaning that it had when the version was published."""
    row = cursor.execute(_DEFINITIONS, [version_id]).fetchone()
    return row is not None and _has_present_meaning(row)


def _has_present_meaning(row: Mapping[str, Any]) -> bool:
    return row["generation"] is None or row["former_definition"] == _meaning(row["partition_definition"])


def _meaning(definition: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what gives a key its meaning: type, time zone and dimensions."""
    if definition is None:
        return None
    meaning = {name: value for name, value in definition.items() if name not in _RANGE}
    if "dimensions" in meaning:
        meaning["dimensions"] = {name: _meaning(each) for name, each in meaning["dimensions"].items()}
    return meaning


def has_partition(definition: Mapping[str, Any] | None, key: str) -> bool:
    """Return True if partitions declared like this (None: no partitions) have this key, now or later."""
    if definition is None:
        return key == ""
    if definition["type"] == "dynamic":
        return key != ""
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
