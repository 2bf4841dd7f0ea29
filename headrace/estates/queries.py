"""Queries for scanned estates, for Dagster assets."""

from typing import Any

from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.estates.rows import ConfirmedDataset, EstateProcess, EstateRows, ProcessName
from headrace.estates.sql import statement


def estate(engine: Engine) -> EstateRows:
    """Return the catalog's external processes, in one query."""
    with transaction(engine) as cursor:
        row = (
            statement("estate_assets")
            .execute(cursor, {"organisation": current_context().organisation_id})
            .fetchone()
        )
    assert row is not None  # noqa: S101 - two aggregates are one row
    return EstateRows(tuple(map(_process, row["processes"] or ())), _datasets(row["datasets"] or []))


def _process(row: list[Any]) -> EstateProcess:
    (
        technology,
        instance,
        name,
        key,
        description,
        owners,
        lifecycle,
        metadata,
        file,
        line,
        waits,
        writes,
        reads,
    ) = row
    return EstateProcess(
        ident=ProcessName(technology, instance, name),
        key=key,
        description=description,
        owners=tuple(owners),
        lifecycle=lifecycle,
        metadata=metadata,
        place=f"{file}:{line}" if file else None,
        waits_for=tuple((ProcessName(*each[:3]), each[3], each[4]) for each in waits or ()),
        writes=tuple(writes or ()),
        reads=tuple(reads or ()),
    )


def _datasets(rows: list[list[Any]]) -> tuple[ConfirmedDataset, ...]:
    found: dict[str, ConfirmedDataset] = {}
    for key, description, owners, format_, pattern in rows:
        before = found[key].patterns if key in found else ()
        found[key] = ConfirmedDataset(key, description, tuple(owners), format_, (*before, pattern))
    return tuple(found.values())
