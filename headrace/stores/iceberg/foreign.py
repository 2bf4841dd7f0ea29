"""Files of a snapshot that another program has written, if they give the snapshot's rows as plain Parquet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.transforms import IdentityTransform

from headrace.catalog.records import Version
from headrace.spark.failures import corrupt

_MAX_CONCURRENT_FOOTERS = 16  # mostly waiting for an object store


def plain_files(table: Table, version: Version, snapshot_id: int) -> list[str]:
    """Return the locations of the snapshot's files.

    Raises CorruptInput if it has expired, or if the rows are not simply those of its files: delete files, columns
    renamed since the files were written, values that only the partition has.
    """
    if table.snapshot_by_id(snapshot_id) is None:
        raise corrupt(version, table.location(), f"the snapshot {snapshot_id} has expired")
    scan = table.scan(snapshot_id=snapshot_id)
    tasks = list(scan.plan_files())
    schema = scan.projection()
    identities = {
        field.source_id
        for spec in table.specs().values()
        for field in spec.fields
        if isinstance(field.transform, IdentityTransform)
    }
    with ThreadPoolExecutor(_MAX_CONCURRENT_FOOTERS) as footers:
        obstacles = footers.map(lambda task: _obstacle(table, schema, identities, task), tasks)
        for task, obstacle in zip(tasks, obstacles, strict=True):
            if obstacle is not None:
                raise corrupt(
                    version,
                    task.file.file_path,
                    f"{obstacle}, and Spark reads it as plain Parquet; have its owner rewrite the data files",
                )
    return [task.file.file_path for task in tasks]


def _obstacle(table: Table, schema: Schema, identities: set[int], task: FileScanTask) -> str | None:
    if task.delete_files:
        return "delete files mark some of its rows as deleted"
    if task.file.file_format != FileFormat.PARQUET:
        return f"it is a file in the format {task.file.file_format.value}"
    fields = _ids(_footer(table, table.io, task.file.file_path))
    wanted = _ids(schema)
    names = {id: name for name, id in fields.items()}
    for name, id in wanted.items():
        if fields.get(name, id) != id or names.get(id, name) != name:
            return f"the column {name} has been renamed or replaced since the file was written"
        if id in identities and id not in names:
            return f"the file lacks the partition's column {name}"
    return None


def _footer(table: Table, io: FileIO, path: str) -> Schema:
    with io.new_input(path).open() as source:
        found = pq.read_schema(source)
    return pyarrow_to_schema(found, name_mapping=table.name_mapping() or table.schema().name_mapping)


def _ids(schema: Schema) -> dict[str, int]:
    return {name: schema.find_field(name).field_id for name in schema.column_names}
