"""The store's reference to published versions: `main` of each dataset's table."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from headrace.catalog.records import Version
from headrace.files.filesystem import normalised
from headrace.queries.rows import PublishedRow
from headrace.stores.columns import merged_columns
from headrace.stores.data_files.partitions import directory
from headrace.stores.data_files.reading import require_complete, stored_files
from headrace.stores.iceberg.catalog import dataset_table, identifier, opened, table_location
from headrace.stores.iceberg.snapshots import (
    NOTHING,
    committed,
    files_of,
    forget_old,
    replace_files,
    set_main,
    stage,
)
from headrace.stores.protocol import LazySession, Reference


def update_main(
    dataset: str,
    rows: Sequence[PublishedRow],
    withdrawn: Sequence[str | None],
    warehouse_uri: str,
    session: LazySession,
) -> list[Reference]:
    """Set `main` to the snapshot of the published version, or to a snapshot of all published partitions.

    A version that the table has lost (dropped, or its snapshot expired) is added again while its files exist. Raises
    StoreUnavailable, also where `main` is at another program's snapshot, CorruptInput for files that are gone, and
    SchemaMismatch for partitions whose columns do not fit together.
    """
    location = table_location(normalised(warehouse_uri), dataset)
    with opened(location) as catalog:
        changed = committed(
            lambda: dataset_table(catalog, dataset, location),
            lambda table: _update(table, rows, withdrawn, session),
        )
    name = ".".join(identifier(dataset))
    return [
        Reference(dataset, row.partition, row.version.tag, name, row.partition in changed) for row in rows
    ]


def _update(
    table: Table, rows: Sequence[PublishedRow], withdrawn: Sequence[str | None], session: LazySession
) -> set[str | None]:
    changed = _published(table, rows, withdrawn, session)
    forget_old(table)
    return changed


def _published(
    table: Table, rows: Sequence[PublishedRow], withdrawn: Sequence[str | None], session: LazySession
) -> set[str | None]:
    """Publish the rows; returns the partitions whose files in `main` changed."""
    if {*(row.partition for row in rows), *withdrawn} != {None}:
        return _partitions(table, rows, withdrawn, session)
    if not rows:
        stage(table, NOTHING, (), ())
        set_main(table, NOTHING)
        return set()
    [version] = [row.version for row in rows]
    stage(table, version.tag, version.columns, _files(table, version, session))
    return {None} if set_main(table, version.tag) else set()


def _partitions(
    table: Table, rows: Sequence[PublishedRow], withdrawn: Sequence[str | None], session: LazySession
) -> set[str | None]:
    main = files_of(table, MAIN_BRANCH)
    wanted = {row.partition: set(_files(table, row.version, session)) for row in rows}
    wanted.update((key, set()) for key in withdrawn)
    present: dict[str | None, set[str]] = {key: set() for key in wanted}
    by_directory = {None if key is None else directory(key): key for key in wanted}
    for path in main:
        found = next((part for part in path.split("/")[::-1] if part.startswith("partition=")), None)
        if found in by_directory:
            present[by_directory[found]].add(path)
    changed = {key for key in wanted if wanted[key] != present[key]}
    if changed:
        replace_files(
            table,
            merged_columns([row.version for row in rows]) if rows else (),
            {row.version.tag for row in rows if row.partition in changed},
            added=sorted(path for key in changed for path in wanted[key] - present[key]),
            removed=[main[path] for key in changed for path in present[key] - wanted[key]],
            rest=len(main) > sum(len(present[key]) for key in changed),
        )
    return changed


def _files(table: Table, version: Version, session: LazySession) -> list[str]:
    """Return the version's files: those that its snapshot lists, or if it has gone those in its directory."""
    of_version = tuple(f"{location}/" for location in version.locations)
    staged = [path for path in files_of(table, version.tag) if path.startswith(of_version)]
    if len(staged) == version.file_count:
        return staged
    require_complete(session, [version])
    return [file.name for file in stored_files(version.locations, session)]
