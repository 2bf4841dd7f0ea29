"""Datasets: pages, details and overall status."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import Check, Column, Outcome, RunState
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.filters import ALL_DATASETS, DatasetFilter
from headrace.queries.rows import DatasetDetail, DatasetPage, DatasetRow, DatasetStatus, PinRow, RetirementRow
from headrace.queries.sql import statement
from headrace.severity import Severity


def datasets(
    engine: Engine,
    search: str | None = None,
    wanted: DatasetFilter = ALL_DATASETS,
    *,
    retired: bool = False,
    after: str = "",
    limit: int = 500,
) -> DatasetPage:
    """Return a page of datasets ordered by key, after the key `after`: the retired ones, or all others.

    search: part of a key, description or owner (case-insensitive), or a tag.
    """
    with transaction(engine) as cursor:
        parameters = {
            "organisation": current_context().organisation_id,
            "retired": retired,
            "after": after,
            "search": search,
            "limit": limit + 1,
            **wanted.parameters(),
        }
        rows = statement("datasets/datasets").execute(cursor, parameters).fetchall()
    page = tuple(DatasetRow(**{**row, "owners": tuple(row["owners"])}) for row in rows[:limit])
    return DatasetPage(rows=page, next=page[-1].key if len(rows) > limit else None)


def every_dataset(
    engine: Engine, search: str | None = None, *, retired: bool = False
) -> Iterator[DatasetRow]:
    """Yield all of these datasets, page by page."""
    after: str | None = ""
    while after is not None:
        page = datasets(engine, search, retired=retired, after=after)
        yield from page.rows
        after = page.next


def dataset(engine: Engine, key: str) -> DatasetDetail:
    """Return the dataset. Raises UnknownDataset."""
    with transaction(engine) as cursor:
        parameters = {"dataset_id": dataset_ids(cursor, {key})[key]}
        row = statement("datasets/dataset").execute(cursor, parameters).fetchone()
    assert row is not None  # noqa: S101 - its id was found in the same transaction
    sequences = {name: tuple(row[name]) for name in ("owners", "producers", "upstream", "downstream")}
    return DatasetDetail(
        **{
            **row,
            **sequences,
            "columns": tuple(_column(each) for each in row["columns"]),
            "checks": tuple(_check(each) for each in row["checks"]),
            "retirement": row["retirement"] and _retirement(row["retirement"]),
            "pins": tuple(
                PinRow(**{**each, "at": datetime.fromisoformat(each["at"])}) for each in row["pins"]
            ),
        }
    )


def _retirement(stored: Mapping[str, Any]) -> RetirementRow:
    return RetirementRow(**{**stored, "at": datetime.fromisoformat(stored["at"])})


def unique_key(engine: Engine, key: str) -> list[str]:
    """Return the columns of the dataset's first `unique` check, or none. Raises UnknownDataset."""
    for check in dataset(engine, key).checks:
        if check.kind == "unique":
            named = check.parameters.get("columns")
            return list(named) if named else [str(check.column)]
    return []


def status(
    engine: Engine, keys: Sequence[str] | None = None, *, retired: bool = False
) -> list[DatasetStatus]:
    """Return the status of each dataset of `keys`, ordered by key; of all without, or only, the retired ones.

    Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        if keys is not None:
            dataset_ids(cursor, keys)
        parameters = {
            "organisation": current_context().organisation_id,
            "keys": list(keys) if keys is not None else None,
            "retired": retired,
        }
        rows = statement("datasets/status").execute(cursor, parameters).fetchall()
    return [
        DatasetStatus(
            **{
                **row,
                "warning": tuple(row["warning"]),
                "failing": tuple(row["failing"]),
                "latest_outcome": row["latest_outcome"] and Outcome(row["latest_outcome"]),
                "last_run_state": row["last_run_state"] and RunState(row["last_run_state"]),
            }
        )
        for row in rows
    ]


def _column(stored: Mapping[str, Any]) -> Column:
    return Column(**{**stored, "tags": tuple(stored["tags"])})


def _check(stored: Mapping[str, Any]) -> Check:
    return Check(**{**stored, "severity": Severity(stored["severity"])})
