"""Commits to an Iceberg table: a version is staged on a branch of its own, and published as `main`.

A staged snapshot lists the files of its version only. It has no parent, unless its rows were appended to another
version's: then that one's snapshot, whose manifests it lists as well. Its branch, named by the version's tag, becomes
a tag when the version is published; both keep the snapshot when others expire.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import parquet_files_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import TableUpdate
from pyiceberg.types import NestedField
from typing_extensions import override

from headrace.catalog.records import Column
from headrace.catalog.schema import sensitive
from headrace.spark.errors import SchemaMismatch, StoreUnavailable
from headrace.stores.iceberg import updates
from headrace.stores.iceberg.catalog import DATASET
from headrace.stores.iceberg.schemas import FieldIds, iceberg_schema, merged_fields
from headrace.stores.tags import is_tag

VERSION = "headrace.version"  # the property of snapshots that the store commits
NOTHING = (
    "nothing"  # the ref of a snapshot without files and columns, for a dataset whose versions are withdrawn
)
_METRICS = TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX
_KEPT_SNAPSHOTS, _MAX_SNAPSHOTS = 100, 150  # of a table
_ATTEMPTS = 10  # runs of one dataset stage at the same time; each loses to each other at most once
_T = TypeVar("_T")


def committed(load: Callable[[], Table], change: Callable[[Table], _T]) -> _T:
    """Make a change that commits, on a freshly loaded table for each attempt.

    A commit holds only on the state that the change has seen. Raises CommitFailedException if every attempt fails.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return change(load())
        except CommitFailedException:
            continue
    return change(load())


@dataclass(frozen=True, slots=True)
class Staged:
    """A version that another one is appended to: its tag. files: lists its files, if the table has lost it."""

    tag: str
    files: Callable[[], Sequence[str]]


def stage(
    table: Table,
    tag: str,
    columns: Sequence[Column],
    files: Sequence[str],
    appended_to: Staged | None = None,
) -> int:
    """Commit the files as a snapshot on the tag's branch, unless it exists; returns the snapshot's id.

    The table's current schema, with which readers see `main`, stays. appended_to: the version whose files precede.
    """
    if tag in table.refs():
        return table.refs()[tag].snapshot_id
    if not table.snapshots():  # a branch cannot be a table's first
        with (
            _Transaction(table) as transaction,
            transaction.update_snapshot({VERSION: NOTHING}).fast_append(),
        ):
            pass
    before = table.metadata.current_schema_id
    parent = table.refs().get(appended_to.tag) if appended_to is not None else None
    if appended_to is not None and parent is None:
        files = [*appended_to.files(), *files]
    with _Transaction(table) as transaction:
        _use_schema(table, transaction, columns)
        with transaction.update_snapshot({VERSION: tag}, branch=tag).fast_append() as append:
            if parent is not None:
                append._parent_snapshot_id = parent.snapshot_id  # pyiceberg appends to the branch itself only
            for file in _data_files(table, transaction, files):
                append.append_data_file(file)
        transaction._apply((updates.use_schema(before),))
    return table.refs()[tag].snapshot_id


def _data_files(table: Table, transaction: Transaction, paths: Sequence[str]) -> Iterator[DataFile]:
    """Yield the entries of files, with bounds from their footers. Raises SchemaMismatch for bounds that are no text."""
    try:
        yield from parquet_files_to_data_files(table.io, transaction.table_metadata, iter(paths))
    except UnicodeDecodeError as error:
        raise SchemaMismatch(
            f"{'.'.join(table.name())} has texts that are not UTF-8, which Iceberg requires and Spark does not check. "
            "Convert them (`decode`), make the column binary, or use the store `files`."
        ) from error


def set_main(table: Table, tag: str) -> bool:
    """Publish a staged version: `main` is its snapshot. Returns False if it is already."""
    staged = table.refs()[tag].snapshot_id
    head = _own_head(table)
    if head is not None and head.snapshot_id == staged:
        return False
    snapshot = table.snapshot_by_id(staged)
    assert snapshot is not None  # noqa: S101 - its ref keeps it
    assert snapshot.schema_id is not None  # noqa: S101 - since format version 2
    with _Transaction(table) as transaction:
        transaction._apply(
            (
                updates.use_schema(snapshot.schema_id),
                updates.set_main(staged),
                *_as_tag(table, tag),
            ),
            (updates.main_is(None if head is None else head.snapshot_id),),
        )
    return True


def replace_files(
    table: Table,
    columns: Sequence[Column],
    tags: Collection[str],
    *,
    added: Sequence[str],
    removed: Collection[DataFile],
    rest: bool,
) -> None:
    """Publish partitions: one snapshot of `main` with these files added and removed, and the rest kept if there is one.

    The current schema then also has the columns of the rest.
    """
    _own_head(table)
    with _Transaction(table) as transaction:
        _use_schema(table, transaction, columns, table.schema().fields if rest else ())
        with transaction.update_snapshot({VERSION: ",".join(sorted(tags))}).overwrite() as overwrite:
            for file in _data_files(table, transaction, added):
                overwrite.append_data_file(file)
            for file in removed:
                overwrite.delete_data_file(file)
        transaction._apply(tuple(update for tag in sorted(tags) for update in _as_tag(table, tag)))


def forget(table: Table, tag: str) -> None:
    """Remove a staged snapshot and its own manifests; its data files stay, and what it shares with others."""
    if tag not in table.refs():
        return
    snapshot = table.snapshot_by_name(tag)
    assert snapshot is not None  # noqa: S101 - its ref keeps it
    manifests = [
        manifest.manifest_path
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == snapshot.snapshot_id
    ]
    with _Transaction(table) as transaction:
        transaction._apply((updates.remove_ref(tag), updates.remove_snapshot(snapshot.snapshot_id)))
    for path in [*manifests, snapshot.manifest_list]:
        table.io.delete(path)


def forget_old(table: Table) -> None:
    """Forget the oldest snapshots once there are many, since every commit reads and writes those of the whole table.

    That of `main` stays, and those that other programs have committed or tagged. A forgotten version without partitions
    is staged again when it is published again.
    """
    if len(table.snapshots()) < _MAX_SNAPSHOTS:
        return
    staying = {ref.snapshot_id for name, ref in table.refs().items() if not is_tag(name)}
    oldest_first = sorted(table.snapshots(), key=lambda each: each.sequence_number or 0)
    gone = [
        each
        for each in oldest_first[:-_KEPT_SNAPSHOTS]
        if each.snapshot_id not in staying and each.summary is not None and each.summary[VERSION] is not None
    ]
    ids = {each.snapshot_id for each in gone}
    kept = {
        manifest.manifest_path
        for each in table.snapshots()
        if each.snapshot_id not in ids
        for manifest in each.manifests(table.io)
    }
    files = {manifest.manifest_path for each in gone for manifest in each.manifests(table.io)} - kept
    names = [name for name, ref in table.refs().items() if ref.snapshot_id in ids]
    with _Transaction(table) as transaction:
        transaction._apply(
            (*map(updates.remove_ref, names), *(updates.remove_snapshot(each) for each in sorted(ids)))
        )
    for path in [*sorted(files), *(each.manifest_list for each in gone)]:
        table.io.delete(path)


def files_of(table: Table, name: str) -> dict[str, DataFile]:
    """Return the data files of a branch or tag by location; none if it does not exist."""
    if (snapshot := table.snapshot_by_name(name)) is None:
        return {}
    tasks = table.scan(snapshot_id=snapshot.snapshot_id).plan_files()
    return {task.file.file_path: task.file for task in tasks}


def _own_head(table: Table) -> Snapshot | None:
    """Return the snapshot of `main`. Raises StoreUnavailable for one that another program has committed."""
    head = table.snapshot_by_name(MAIN_BRANCH)
    if head is not None and (head.summary is None or head.summary[VERSION] is None):
        dataset = table.properties[DATASET]
        raise StoreUnavailable(
            f"Another program committed the snapshot {head.snapshot_id} to `main` of the Iceberg table "
            f"{'.'.join(table.name())}, and Headrace does not overwrite it. Set `main` back to a snapshot with the "
            f"property {VERSION}, and run `headrace manifests {dataset}`."
        )
    return head


def _use_schema(
    table: Table, transaction: Transaction, columns: Sequence[Column], others: Sequence[NestedField] = ()
) -> None:
    """Make the schema of the columns, and of other ones, the current one for the rest of the transaction."""
    metadata = table.metadata
    ids = FieldIds(metadata.schemas, metadata.last_column_id)
    next_id = max(schema.schema_id for schema in metadata.schemas) + 1
    own = iceberg_schema(table.properties[DATASET], columns, ids, next_id)
    wanted = Schema(*merged_fields(own.fields, others), schema_id=next_id)
    known = next((each for each in metadata.schemas if each.as_struct() == wanted.as_struct()), None)
    added = () if known else (updates.add_schema(wanted),)
    transaction._apply(
        (*added, updates.use_schema((known or wanted).schema_id)),
        updates.schemas_are(metadata.current_schema_id, metadata.last_column_id),
    )
    transaction.set_properties(
        {
            TableProperties.DEFAULT_NAME_MAPPING: ids.name_mapping().model_dump_json(),
            # The table's log has no values of sensitive columns.
            **{f"{_METRICS}.{name}": "counts" for name in sensitive(columns)},
        }
    )


def _as_tag(table: Table, tag: str) -> tuple[TableUpdate, ...]:
    """Return the updates that turn a version's branch into a tag; none if the table has forgotten it."""
    ref = table.refs().get(tag)
    if ref is None or ref.snapshot_ref_type == SnapshotRefType.TAG:
        return ()
    return (
        updates.remove_ref(tag),
        updates.set_tag(tag, ref.snapshot_id),
    )


class _Transaction(Transaction):
    """A transaction that computes the table's new metadata once for each change.

    pyiceberg computes it whenever it needs it, some twenty times for a version, and copies all snapshots each time.
    """

    _computed: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    @override
    def table_metadata(self) -> TableMetadata:
        before, changes = self._table.metadata, self._updates
        if self._computed is None or self._computed[0] is not before or self._computed[1] is not changes:
            self._computed = (before, changes, super().table_metadata)
        return self._computed[2]
