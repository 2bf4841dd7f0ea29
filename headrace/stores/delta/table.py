"""The table of a dataset: its files, and commits that add and remove some of them."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

from deltalake import CommitProperties, DeltaTable, Schema
from deltalake._internal import RemoveAction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, create_table_with_add_actions

from headrace.files.filesystem import is_local, local_path
from headrace.object_storage import is_s3, s3_settings
from headrace.spark.errors import SchemaMismatch, StoreUnavailable
from headrace.spark.failures import unavailable
from headrace.stores.delta.schemas import with_fields_of
from headrace.stores.tags import is_tag

FOLDER = "delta"  # below a dataset's directory in the warehouse
VERSION = "headrace.version"  # in the metadata of commits: the versions that they publish
RUN = "headrace.run"
_COLOURS = re.compile(r"\x1b\[\d+m")
_CONFIGURATION = {
    # VACUUM would delete what the table does not list: versions that are not published, or no longer.
    "delta.deletedFileRetentionDuration": "interval 36500 days",
}


def opened(location: str) -> DeltaTable | None:
    """Open the table at its newest version; None if there is none."""
    with explained(location):
        try:
            return DeltaTable(_uri(location), storage_options=storage_options(location))
        except TableNotFoundError:
            return None


def listed_files(table: DeltaTable) -> set[str]:
    """Return the paths of the table's files, below its directory."""
    return {unquote(path) for path in table.get_add_actions().column("path").to_pylist()}


def own_files(table: DeltaTable) -> set[str]:
    """Return the paths of the table's files.

    Raises StoreUnavailable if another program has added files, which the next commit would remove.
    """
    paths = listed_files(table)
    for path in sorted(paths):
        if not any(map(is_tag, path.split("/"))):
            raise StoreUnavailable(
                f"Another program wrote to the Delta table {table.table_uri} (file {path}), and Headrace does not "
                "overwrite it. Restore the table to the version before, and run `headrace manifests`."
            )
    return paths


def commit(
    location: str,
    table: DeltaTable | None,
    schema: Schema,
    *,
    added: Sequence[AddAction],
    removed: Collection[str],
    kept: bool,
    metadata: dict[str, str],
) -> None:
    """Commit files that were added and removed to the table as it was opened, or create it.

    kept: the table keeps other files, and columns that only these have. Raises StoreUnavailable if another program has
    committed meanwhile, SchemaMismatch for a schema by which the kept files cannot be read.
    """
    properties = CommitProperties(custom_metadata=metadata, max_commit_retries=0)
    with explained(location):
        if table is None:
            create_table_with_add_actions(
                _uri(location),
                schema,
                list(added),
                configuration=_CONFIGURATION,
                storage_options=storage_options(location),
                commit_properties=properties,
            )
            return
        if not kept:
            table.create_write_transaction(list(added), "overwrite", schema, commit_properties=properties)
            return
        _widen(table, with_fields_of(schema, table.schema()))
        now = int(time.time() * 1000)
        removals = [RemoveAction(path, data_change=True, deletion_timestamp=now) for path in sorted(removed)]
        table.create_write_transaction(
            [*added, *removals], "append", table.schema(), commit_properties=properties
        )


@contextmanager
def explained(location: str) -> Iterator[None]:
    """Convert failures of the table's log to StoreUnavailable."""
    try:
        yield
    except CommitFailedError as error:
        raise StoreUnavailable(
            f"Another program changed the Delta table {location} at the same time. Run `headrace manifests` when it "
            "has ended."
        ) from error
    except (DeltaError, OSError) as error:
        lines = _COLOURS.sub("", str(error)).splitlines() or [type(error).__name__]
        # deltalake puts the cause last: the first line of an error of S3 is `Generic S3 error`.
        raise unavailable(DeltaError("\n".join(lines)), location) or StoreUnavailable(
            f"The Delta table {location} cannot be used: {lines[-1].strip().rstrip('.')[:300]}. Check the "
            "address, and the rights of the user who runs Headrace."
        ) from error


def storage_options(location: str) -> dict[str, str] | None:
    """Return deltalake's options for a bucket; what they lack, such as credentials, it finds in the environment."""
    if not is_s3(location):
        return None
    found = s3_settings(location)
    options = {
        "aws_endpoint_url": found.endpoint,
        "aws_allow_http": "true" if (found.endpoint or "").startswith("http://") else None,
        "aws_region": found.region,
        "aws_virtual_hosted_style_request": "false" if found.path_style else None,
        "aws_access_key_id": found.key,
        "aws_secret_access_key": found.secret,
        "aws_session_token": found.token,
    }
    return {name: value for name, value in options.items() if value is not None}


def _uri(location: str) -> str:
    """Return the location for deltalake, which decodes URIs but not paths."""
    return str(local_path(location)) if is_local(location) else location


def _widen(table: DeltaTable, wanted: Schema) -> None:
    """Add the new fields to the table's schema, in a commit of their own: readers find them null meanwhile."""
    current = {field.name: field for field in table.schema().fields}
    changed = [
        field.name
        for field in wanted.fields
        if field.name in current and current[field.name].type != field.type
    ]
    if changed:
        raise SchemaMismatch(
            f"The Delta table {table.table_uri} has partitions whose files have other types for {', '.join(changed)}. "
            "Materialize all partitions in one run (`ranges: true`), or change the type under a new name."
        )
    new = [field for field in wanted.fields if field.name not in current]
    if new:
        table.alter.add_columns(new)
