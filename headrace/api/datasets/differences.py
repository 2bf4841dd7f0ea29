"""The route that compares the rows of two versions by key, for versions small enough to read without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.access.sensitivity import Public
from headrace.api.datasets.rows import stored_rows
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Partition, Reader
from headrace.catalog.records import Version
from headrace.queries.datasets import unique_key
from headrace.queries.versions import tagged
from headrace.stores.protocol import JsonRow

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
MAX_ROWS = 20_000  # of each version
Tag = Annotated[str, Query(max_length=1000, description="The version with this tag.")]


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """How the rows of two versions differ: numbers of keys, which are whole rows without a `unique` check.

    key: its columns. repeated: keys that occur more than once on a side, which are not compared. columns: for each
    column, how many common keys have another value. reason: why nothing was compared.
    """

    key: Public[tuple[str, ...]]
    added: int = 0
    removed: int = 0
    changed: int = 0
    repeated: int = 0
    columns: Public[Mapping[str, int]] | None = None
    reason: Public[str | None] = None


@router.get(
    "/{dataset:key}/differences", summary="Compare the rows of two versions", response_model=RowDifferences
)
def show_differences(
    engine: Database, caller: Reader, dataset: Dataset, before: Tag, after: Tag, partition: Partition = None
) -> Response:
    """Compare two versions of at most 20,000 rows in the warehouse by the columns of the dataset's `unique` check."""
    versions = [tagged(engine, dataset.key, tag, partition)[-1] for tag in (before, after)]
    key = tuple(unique_key(engine, dataset.key))
    return shown(engine, caller, _differences(caller, versions, key), dataset.key)


def _differences(caller: Caller, versions: Sequence[Version], key: tuple[str, ...]) -> RowDifferences:
    sides: list[list[JsonRow]] = []
    for version in versions:
        found = stored_rows(caller, version, MAX_ROWS + 1)
        if found.rows is None:
            return RowDifferences(key, reason=found.reason)
        if len(found.rows) > MAX_ROWS:
            return RowDifferences(key, reason=f"{version.tag} has more than {MAX_ROWS:,} rows.")
        if missing := [name for name in key if name not in found.columns]:
            reason = f"{version.tag} has no column {', '.join(missing)} that the service reads."
            return RowDifferences(key, reason=reason)
        sides.append(found.rows)
    before, after = sides
    return row_differences(before, after, key)


def row_differences(
    before: Sequence[JsonRow], after: Sequence[JsonRow], key: tuple[str, ...]
) -> RowDifferences:
    """Compare rows of two versions, as `headrace.stores.comparison` does with Spark. Nulls are equal to nulls.

    Columns that one side lacks are not compared: the comparison of the columns names them.
    """
    if not key:
        columns = [name for name in (before or after or [{}])[0] if name in (after or before or [{}])[0]]
        old, new = (Counter(_values(rows, columns)) for rows in (before, after))
        return RowDifferences(key, added=(new - old).total(), removed=(old - new).total())
    once = [_once(rows, key) for rows in (before, after)]
    repeated = set().union(*(twice for _, twice in once))
    old_rows, new_rows = ({k: row for k, row in rows.items() if k not in repeated} for rows, _ in once)
    changes: Counter[str] = Counter()
    changed = 0
    for found in old_rows.keys() & new_rows.keys():
        old_row, new_row = old_rows[found], new_rows[found]
        different = [name for name in old_row.keys() & new_row.keys() if old_row[name] != new_row[name]]
        changes.update(different)
        changed += bool(different)
    return RowDifferences(
        key,
        added=len(new_rows.keys() - old_rows.keys()),
        removed=len(old_rows.keys() - new_rows.keys()),
        changed=changed,
        repeated=len(repeated),
        columns=dict(changes.most_common()),
    )


def _once(
    rows: Sequence[JsonRow], key: Sequence[str]
) -> tuple[dict[tuple[Hashable, ...], JsonRow], set[tuple[Hashable, ...]]]:
    """Return the rows by key, and the keys that occur more than once."""
    keys = list(_values(rows, key))
    twice = {found for found, count in Counter(keys).items() if count > 1}
    return dict(zip(keys, rows, strict=True)), twice


def _values(rows: Iterable[JsonRow], names: Sequence[str]) -> Iterable[tuple[Hashable, ...]]:
    return (tuple(row[name] for name in names) for row in rows)
