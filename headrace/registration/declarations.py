"""Register declared datasets, checks, SLAs and processes, and the edges between them."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.redacted_json import jsonb_without_secrets
from headrace.catalog.locks import lock_registrations
from headrace.catalog.organisations import create_organisation
from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded, jsonb
from headrace.errors import DeclaredElsewhere, ProjectNameTaken, UnknownDataset
from headrace.publishing.withdrawal import follow_declarations
from headrace.registration.sql import statement

_MONTHS_AHEAD = 4  # run and event partitions created in advance, including last month's
_REGISTER_PROJECT = """
INSERT INTO catalog.project (organisation_id, name, platform_version) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""
# A separate statement, not DO UPDATE, which row-level security denies to callers with some domains only.
_UPDATE_PROJECT = """
UPDATE catalog.project
SET platform_version = %s, project_id = coalesce(%s, project_id), registered_at = now()
WHERE organisation_id = %s AND name = %s
"""
_PROJECT_ID = "SELECT project_id FROM catalog.project WHERE organisation_id = %s AND name = %s"
_RECORD_LOAD = """
INSERT INTO catalog.project_load (organisation_id, project, problems) VALUES (%s, %s, %s)
ON CONFLICT (organisation_id, project) DO UPDATE SET problems = excluded.problems, loaded_at = now()
"""
_PARTITIONS = """
SELECT full_name, partition_definition FROM catalog.dataset
WHERE organisation_id = %s AND full_name = ANY (%s)
"""
# A declaration that is new, or there again, makes its dataset active (register_datasets.sql).
_END_RETIREMENTS = """
UPDATE catalog.dataset_retirement retirement
SET restored_by = %s, restore_reason = %s, restored_at = now()
FROM catalog.dataset
WHERE retirement.dataset_id = dataset.dataset_id AND restored_at IS NULL AND dataset.status = 'ACTIVE'
  AND dataset.organisation_id = %s AND dataset.full_name = ANY (%s)
"""
_TRANSFER_DATASET = "UPDATE catalog.dataset SET project = %s WHERE organisation_id = %s AND full_name = %s"
_TRANSFER_PROCESS = "UPDATE catalog.process SET project = %s WHERE organisation_id = %s AND process_key = %s"


def register(
    engine: Engine, datasets: Sequence[DatasetRecord], processes: Sequence[ProcessRecord] = ()
) -> list[str]:
    """Store the declarations in one transaction; unchanged declarations cost one query. Returns the datasets of which
    partitions were withdrawn or restored.

    A dataset or process with a known key is updated and keeps its id. The edges of each given process become exactly
    its inputs and outputs: former edges end, and stay in history. Raises UnknownDataset for an input or output that is
    neither given nor registered, DeclaredElsewhere for a key that another project declares, ProjectNameTaken.
    """
    dataset_hashes = {record.key: _hash(record) for record in datasets}
    process_hashes = {record.key: _hash(record) for record in processes}
    with transaction(engine) as cursor:
        require_project_name(cursor)
        changed = _changed(cursor, "dataset", "full_name", dataset_hashes)
        new_datasets = [record for record in datasets if record.key in changed]
        changed = _changed(cursor, "process", "process_key", process_hashes)
        new_processes = [record for record in processes if record.key in changed]
        if not new_datasets and not new_processes:
            return []
        lock_registrations(cursor)
        create_organisation(cursor)
        project, platform = current_context().settings.project_name, version("headrace")
        cursor.execute(_REGISTER_PROJECT, [current_context().organisation_id, project, platform])
        cursor.execute(
            _UPDATE_PROJECT,
            [platform, current_context().settings.project_id, current_context().organisation_id, project],
        )
        cursor.execute("SELECT catalog.make_partitions(now() - interval '1 month', %s)", [_MONTHS_AHEAD + 1])
        moved = _store_datasets(cursor, new_datasets, dataset_hashes) if new_datasets else []
        if new_processes:
            _store_processes(cursor, new_processes, process_hashes)
        if new_datasets:
            link(cursor)
    return moved


def require_project_name(cursor: Cursor[Any]) -> None:
    """Raise ProjectNameTaken if a project with another id is registered under this project's name."""
    here = current_context().settings
    row = cursor.execute(_PROJECT_ID, [current_context().organisation_id, here.project_name]).fetchone()
    if row and row["project_id"] and here.project_id and row["project_id"] != here.project_id:
        raise ProjectNameTaken(here.project_name)


def _hash(record: DatasetRecord | ProcessRecord) -> str:
    return hashlib.sha256(encoded(record)).hexdigest()


def record_load(engine: Engine, problems: Sequence[Mapping[str, Any]]) -> None:
    """Store the invalid declarations of this project: file, line, field, message and hint of each."""
    with transaction(engine) as cursor:
        create_organisation(cursor)
        cursor.execute(
            _RECORD_LOAD,
            [
                current_context().organisation_id,
                current_context().settings.project_name,
                jsonb_without_secrets(problems),
            ],
        )


def link(cursor: Cursor[Any]) -> None:
    """Update the edges between datasets and external processes, which are declared separately, to the declared
    (`produced_by`) and confirmed ones, for the processes known by now.

    The caller must hold the lock of registrations.
    """
    statement("link_datasets").execute(cursor, {"organisation": current_context().organisation_id})


def transfer(engine: Engine, dataset: str) -> None:
    """Let this project declare a dataset of another project, and the process with the same key.

    Raises UnknownDataset.
    """
    with transaction(engine) as cursor:
        owner = [current_context().settings.project_name, current_context().organisation_id, dataset]
        if not cursor.execute(_TRANSFER_DATASET, owner).rowcount:
            raise UnknownDataset.among([dataset], ())
        cursor.execute(_TRANSFER_PROCESS, owner)


def _changed(cursor: Cursor[Any], table: str, key: str, hashes: Mapping[str, str]) -> set[str]:
    """Return the keys whose stored declaration differs or is missing. Raises DeclaredElsewhere."""
    cursor.execute(
        f"SELECT {key} AS key, declaration_hash, project FROM catalog.{table} "  # noqa: S608 - two constants of this module
        f"WHERE organisation_id = %s AND {key} = ANY (%s)",
        [current_context().organisation_id, list(hashes)],
    )
    rows = cursor.fetchall()
    here = current_context().settings.project_name
    for row in rows:
        if row["project"] not in (None, here):
            raise DeclaredElsewhere(row["key"], row["project"], here)
    stored = {row["key"]: row["declaration_hash"] if row["project"] == here else None for row in rows}
    return {key for key, declared in hashes.items() if stored.get(key) != declared}


def _store_datasets(
    cursor: Cursor[Any], records: Sequence[DatasetRecord], hashes: Mapping[str, str]
) -> list[str]:
    """Store the declarations, and return the datasets of which partitions were withdrawn or restored."""
    keys = [record.key for record in records]
    former = {
        row["full_name"]: row["partition_definition"]
        for row in cursor.execute(_PARTITIONS, [current_context().organisation_id, keys])
    }
    _execute(cursor, "register_datasets", datasets=[_dataset_row(record, hashes) for record in records])
    repartitioned = {
        each.key: former[each.key]
        for each in records
        if former.get(each.key, each.partition_definition) != each.partition_definition
    }
    moved = follow_declarations(cursor, repartitioned)
    project = current_context().settings.project_name
    ending = [f"project:{project}", f"{project} declares it again", current_context().organisation_id, keys]
    cursor.execute(_END_RETIREMENTS, ending)
    checks = [
        {
            "dataset": record.key,
            "name": check.name,
            "kind": check.kind,
            "column_name": check.column,
            "parameters": check.parameters,
            "severity": check.severity,
            "quarantine": check.quarantine,
            "description": check.description,
        }
        for record in records
        for check in record.checks
    ]
    _execute(cursor, "register_checks", keys, checks=checks)
    slas = [{"dataset": record.key, "definition": record.sla} for record in records if record.sla is not None]
    _execute(cursor, "register_slas", keys, slas=slas)
    return moved


def _store_processes(
    cursor: Cursor[Any], records: Sequence[ProcessRecord], hashes: Mapping[str, str]
) -> None:
    _require_datasets(cursor, {key for record in records for key in (*record.inputs, *record.outputs)})
    rows = [
        {
            "process_key": record.key,
            "description": record.description,
            "technology": record.technology,
            "trigger_mode": record.trigger_mode,
            "owners": record.owners,
            "code_version": record.code_version,
            "steps": record.steps,
            "source": record.source,
            "metadata_json": record.metadata,
            "declaration_hash": hashes[record.key],
            "inputs": record.inputs,
            "outputs": record.outputs,
        }
        for record in records
    ]
    _execute(cursor, "register_processes", processes=rows)
    _execute(cursor, "register_edges", processes=rows)
    slas = [{"process": record.key, "definition": record.sla} for record in records if record.sla is not None]
    statement("register_process_slas").execute(
        cursor,
        {
            "organisation": current_context().organisation_id,
            "processes": [record.key for record in records],
            "slas": jsonb(slas),
        },
    )


def _dataset_row(record: DatasetRecord, hashes: Mapping[str, str]) -> dict[str, Any]:
    namespace, _, name = record.key.rpartition("/")
    return {
        "namespace": namespace,
        "name": name,
        "full_name": record.key,
        "description": record.description,
        "default_format": record.format,
        "owners": record.owners,
        "tags": record.tags,
        "columns": record.columns,
        "partitions": record.partitions,
        "metadata_json": record.metadata,
        "declared_at": record.declared_at,
        "partition_definition": record.partition_definition,
        "declaration_hash": hashes[record.key],
    }


def _require_datasets(cursor: Cursor[Any], keys: Iterable[str]) -> None:
    cursor.execute(
        "SELECT full_name FROM catalog.dataset WHERE organisation_id = %s",
        [current_context().organisation_id],
    )
    known = {row["full_name"] for row in cursor}
    unknown = set(keys) - known
    if unknown:
        raise UnknownDataset.among(unknown, known)


def _execute(
    cursor: Cursor[Any], name: str, keys: list[str] | None = None, **rows: Sequence[Mapping[str, Any]]
) -> None:
    parameters: dict[str, Any] = {name: jsonb_without_secrets(value) for name, value in rows.items()}
    parameters["organisation"] = current_context().organisation_id
    parameters["project"] = current_context().settings.project_name
    if keys is not None:
        parameters["datasets"] = keys
    statement(name).execute(cursor, parameters)
