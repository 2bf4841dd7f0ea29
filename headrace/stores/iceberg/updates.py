"""Updates of a table and their requirements, in the words of Iceberg's REST specification."""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    AddSchemaUpdate,
    AssertCurrentSchemaId,
    AssertLastAssignedFieldId,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    SetCurrentSchemaUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)


def add_schema(schema: Schema) -> TableUpdate:
    """Add a schema under its id."""
    return AddSchemaUpdate.model_validate({"schema": schema})


def use_schema(schema_id: int) -> TableUpdate:
    """Make a schema the table's current one."""
    return SetCurrentSchemaUpdate.model_validate({"schema-id": schema_id})


def set_main(snapshot_id: int) -> TableUpdate:
    """Point `main` to a snapshot."""
    return _set_ref(MAIN_BRANCH, SnapshotRefType.BRANCH, snapshot_id)


def set_tag(tag: str, snapshot_id: int) -> TableUpdate:
    """Give a snapshot a tag."""
    return _set_ref(tag, SnapshotRefType.TAG, snapshot_id)


def remove_ref(name: str) -> TableUpdate:
    """Remove a branch or tag."""
    return RemoveSnapshotRefUpdate.model_validate({"ref-name": name})


def remove_snapshot(snapshot_id: int) -> TableUpdate:
    """Remove a snapshot."""
    return RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [snapshot_id]})


def main_is(snapshot_id: int | None) -> TableRequirement:
    """Require that `main` is at this snapshot; None: that it does not exist."""
    return AssertRefSnapshotId.model_validate({"ref": MAIN_BRANCH, "snapshot-id": snapshot_id})


def schemas_are(current: int, last_field: int) -> tuple[TableRequirement, ...]:
    """Require the current schema and the last field id."""
    return (
        AssertCurrentSchemaId.model_validate({"current-schema-id": current}),
        AssertLastAssignedFieldId.model_validate({"last-assigned-field-id": last_field}),
    )


def _set_ref(name: str, type: SnapshotRefType, snapshot_id: int) -> TableUpdate:
    return SetSnapshotRefUpdate.model_validate({"ref-name": name, "type": type, "snapshot-id": snapshot_id})
