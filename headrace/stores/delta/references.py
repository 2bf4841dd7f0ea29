"""The store's reference to published versions: the newest version of each dataset's table.

Files are listed by the table once their version is published, so its readers never find another version. A rollback
lists the earlier version's files again, in a new commit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime

from deltalake.transaction import AddAction

from headrace.catalog.records import Version
from headrace.catalog.schema import sensitive
from headrace.checks.summary import Summary
from headrace.files.filesystem import Entry, StoredFile, normalised
from headrace.files.opening import files_for
from headrace.queries.rows import PublishedRow
from headrace.stores.columns import merged_columns
from headrace.stores.data_files.footers import read_footers
from headrace.stores.data_files.partitions import directory
from headrace.stores.data_files.reading import require_complete, stored_files
from headrace.stores.data_files.store import dataset_root
from headrace.stores.delta.schemas import delta_schema
from headrace.stores.delta.table import FOLDER, RUN, VERSION, commit, opened, own_files
from headrace.stores.protocol import LazySession, Reference

_MAX_CONCURRENT_FOOTERS = 16  # mostly waiting for an object store
_MAX_TEXT = 64  # characters of a bound in the log; files with longer ones have none


def update_table(
    dataset: str,
    rows: Sequence[PublishedRow],
    withdrawn: Sequence[str | None],
    warehouse_uri: str,
    session: LazySession,
) -> list[Reference]:
    """Commit the files of what is published, in place of those of the same partitions.

    Raises StoreUnavailable, also where another program has written to the table, CorruptInput for files that are gone,
    and SchemaMismatch for partitions whose columns do not fit together.
    """
    location = dataset_root(normalised(warehouse_uri), dataset, FOLDER)
    table = opened(location)
    listed = own_files(table) if table is not None else set()
    found = {row.partition: _files(location, row.version, session) for row in rows}
    present = {key: _of_partition(listed, key) for key in [*found, *withdrawn]}
    changed = {key for key, paths in present.items() if paths != set(found.get(key, ()))}
    removed = {path for key in changed for path in present[key] - set(found.get(key, ()))}
    if rows:
        schema = delta_schema(dataset, merged_columns([row.version for row in rows]))
    elif table is None:
        return []
    else:
        schema = table.schema()
    if table is None or changed or (listed == removed and schema != table.schema()):
        new = {path for key in changed for path in set(found.get(key, ())) - present[key]}
        commit(
            location,
            table,
            schema,
            added=[
                action
                for row in rows
                if row.partition in changed
                for action in _additions(row.version, found[row.partition], new, session)
            ],
            removed=removed,
            kept=listed != removed,
            metadata={
                VERSION: ",".join(sorted({row.version.tag for row in rows})),
                RUN: ",".join(sorted({str(row.version.run_id) for row in rows})),
            },
        )
    return [
        Reference(dataset, row.partition, row.version.tag, location, row.partition in changed) for row in rows
    ]


def _files(location: str, version: Version, session: LazySession) -> dict[str, Entry]:
    """Return the files of a version by path: below the table's directory, or absolute after the dataset was renamed.

    The name of each is its absolute path.
    """
    require_complete(session, [version])
    found = stored_files(version.locations, session)
    return {each.name.removeprefix(f"{location}/"): each for each in found}


def _of_partition(listed: Collection[str], key: str | None) -> set[str]:
    wanted = None if key is None else directory(key)
    return {
        path
        for path in listed
        if next((part for part in path.split("/") if part.startswith("partition=")), None) == wanted
    }


def _additions(
    version: Version, found: dict[str, Entry], new: Collection[str], session: LazySession
) -> list[AddAction]:
    files = files_for(version.location, session)
    names = [column.name for column in version.columns]
    hidden = sensitive(version.columns)

    def addition(path: str) -> AddAction:
        entry = found[path]
        stored = StoredFile(entry.name, entry.name, entry.byte_size, "")
        return AddAction(
            path,  # deltalake encodes it
            entry.byte_size,
            {},
            entry.modified_ns // 1_000_000,
            True,
            json.dumps(_statistics(read_footers(files, [stored], names), hidden)),
        )

    with ThreadPoolExecutor(_MAX_CONCURRENT_FOOTERS) as footers:
        return list(footers.map(addition, sorted(new & found.keys())))


def _statistics(footer: Summary, hidden: Collection[str]) -> dict[str, object]:
    """Return the statistics by which readers skip files, without bounds of hidden columns, and inexact ones."""
    bounds = {
        name: (_bound(each.minimum), _bound(each.maximum))
        for name, each in footer.columns.items()
        if name not in hidden
    }
    known = {name: both for name, both in bounds.items() if None not in both}
    return {
        "numRecords": footer.row_count,
        "nullCount": {
            name: each.null_count for name, each in footer.columns.items() if each.null_count is not None
        },
        "minValues": {name: low for name, (low, _) in known.items()},
        "maxValues": {name: high for name, (_, high) in known.items()},
    }


def _bound(value: object) -> object:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if math.isfinite(value):
            return value
        case str() if len(value) <= _MAX_TEXT:
            return value
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
        case date():
            return value.isoformat()
    return None
