"""The route for the first rows of a version, with the values of sensitive columns masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import Engine
from starlette.responses import Response

from headrace import queries
from headrace.access.callers import Caller
from headrace.access.sensitivity import Public, PublicField, Sensitive
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Partition, Reader
from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import Version
from headrace.context import current_context
from headrace.files.filesystem import is_local, local_path, normalised
from headrace.queries.names import DatasetRef
from headrace.queries.versions import tagged
from headrace.spark.errors import ResourceError
from headrace.stores.protocol import JsonRow
from headrace.stores.registry import STORES

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
MAX_ROWS = 20
_MAX_TEXT = 1000  # characters of a value
_UNREADABLE = ("array<", "binary", "interval", "map<", "struct<", "variant")  # beginnings of types


@dataclass(frozen=True, slots=True)
class Rows:
    """The first rows of a version, by column: a list of values each; longer texts are cut at 1,000 characters.

    version: null if none is published. left_out: columns of types that only Spark reads. reason: why there are no rows.
    """

    version: Annotated[Version | None, PublicField.NESTED]
    values: Annotated[Mapping[str, list[Any]], Sensitive.VALUES]
    row_count: int
    left_out: Public[tuple[str, ...]]
    reason: Public[str | None]


@router.get("/{dataset:key}/rows", summary="Show the first rows of a version", response_model=Rows)
def show_rows(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    version: Annotated[
        str | None,
        Query(max_length=1000, description="The version with this tag. [default: the one published last]"),
    ] = None,
    partition: Partition = None,
) -> Response:
    """Show up to 20 rows of a version in the warehouse, without Spark. Values of sensitive columns are masked."""
    found = _version(engine, dataset, version, partition)
    return shown(engine, caller, _rows(caller, found), dataset.key)


def _version(engine: Engine, dataset: DatasetRef, tag: str | None, partition: str | None) -> Version | None:
    """Return the version with this tag, or the one published last; None if there is none. Raises UnknownVersion."""
    if tag is None and partition is not None:
        tag = queries.version(engine, dataset.key, partition=partition).version.tag
    if tag is None:
        [status] = queries.status(engine, [dataset.key])
        tag = status.newest_tag
    return None if tag is None else tagged(engine, dataset.key, tag, partition)[-1]


def _rows(caller: Caller, version: Version | None) -> Rows:
    if version is None:
        return Rows(None, {}, 0, (), "No version has been published.")
    found = stored_rows(caller, version, MAX_ROWS)
    rows = found.rows or []
    values = {name: [_short(row[name]) for row in rows] for name in found.columns} if rows else {}
    left_out = tuple(each.name for each in version.columns if each.name not in found.columns)
    return Rows(version, values, len(rows), left_out, found.reason)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a version, of the columns whose types the service reads. rows: None with a reason."""

    columns: tuple[str, ...]
    rows: list[JsonRow] | None
    reason: str | None = None


def stored_rows(caller: Caller, version: Version, count: int) -> StoredRows:
    """Read up to `count` rows of a version in the warehouse of this service, without Spark."""
    columns = tuple(each for each in version.columns if not each.type.startswith(_UNREADABLE))
    names = tuple(each.name for each in columns)
    warehouse = current_context().settings.warehouse_uri
    if version.expired_at is not None:
        return StoredRows(names, None, "It has expired, and its rows were deleted.")
    if not columns:
        return StoredRows(names, None, "None of its columns has a type that the service reads.")
    if not _is_own(caller, version, warehouse):
        return StoredRows(
            names, None, "Its files are not in the warehouse of this service, so it does not read them."
        )
    store = STORES.get(version.store)
    try:
        found = store.local_rows([replace(version, columns=columns)], names, frozenset(), count, warehouse)
    except ResourceError:  # its message names the place
        reason = "Its files are gone or changed: retention or another program removed them."
        return StoredRows(names, None, reason)
    return StoredRows(
        names, found, None if found is not None else f"Only Spark reads its {version.format} files."
    )


def _is_own(caller: Caller, version: Version, warehouse: str) -> bool:
    """Return True for a version of this deployment's organisation in the place where Headrace writes the dataset.

    Anyone who may report versions could name any other file of the machine as the place of one.
    """
    if caller.organisation != current_context().settings.organisation or version.store != FILES_STORE:
        return False
    if not (is_local(version.location) and is_local(warehouse)) or not version.location:
        return False
    place, own = local_path(version.location), local_path(normalised(warehouse)) / version.dataset
    return ".." not in place.parts and own in place.parents


def _short(value: object) -> object:
    text = value if isinstance(value, str) else ""
    return f"{text[:_MAX_TEXT]}…" if len(text) > _MAX_TEXT else value
