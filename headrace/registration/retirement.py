"""Retire datasets that are no longer produced, deprecate those that should not be read, and restore them.

Versions, lineage and SLA outcomes stay.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.audit import sign
from headrace.access.sensitivity import DatasetKey, Public
from headrace.catalog.locks import lock_registrations
from headrace.catalog.lookup import dataset_ids
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import RetirementRefused
from headrace.registration.sql import statement

_CURRENT = """
SELECT full_name AS key, retired_by AS by, reason, retired_at AS at
FROM catalog.dataset_retirement retirement
JOIN catalog.dataset USING (dataset_id)
WHERE dataset.organisation_id = %s AND retirement.status = 'RETIRED' AND restored_at IS NULL
ORDER BY retired_at DESC, full_name
"""


@dataclass(frozen=True, slots=True)
class Retirement:
    """A retired dataset. by: `project:NAME` if that project's declarations no longer had it."""

    key: DatasetKey
    by: Public[str]
    reason: Public[str]
    at: datetime


def retire(engine: Engine, dataset: str, *, by: str, reason: str) -> None:
    """Retire a dataset, and the process with its key: their SLAs are withdrawn, and lists omit it.

    A declaration does not restore it, unless it is removed and added again. Raises UnknownDataset, RetirementRefused.
    """
    with transaction(engine) as cursor:
        dataset_ids(cursor, {dataset})
        if not _apply(cursor, "retire", [dataset], by, reason):
            raise RetirementRefused(f"{dataset} is already retired")


def deprecate(engine: Engine, dataset: str, *, by: str, reason: str) -> None:
    """Deprecate a dataset: it is produced and read as before, and its readers see the reason, such as its successor.

    Raises UnknownDataset, RetirementRefused.
    """
    with transaction(engine) as cursor:
        dataset_ids(cursor, {dataset})
        if not _apply(cursor, "deprecate", [dataset], by, reason):
            raise RetirementRefused(f"{dataset} is not active, and so cannot be deprecated")


def restore(engine: Engine, dataset: str, *, by: str, reason: str) -> None:
    """Restore a retired dataset, and the process with its key, with the SLAs they had; or a deprecated one.

    One that was deprecated before it was retired is deprecated again. Raises UnknownDataset, RetirementRefused.
    """
    with transaction(engine) as cursor:
        dataset_ids(cursor, {dataset})
        if not _apply(cursor, "restore", [dataset], by, reason):
            raise RetirementRefused(f"{dataset} is neither retired nor deprecated")


def retire_undeclared(engine: Engine, datasets: Collection[str], processes: Collection[str]) -> list[str]:
    """Retire what this project has registered and no longer declares; returns the datasets.

    datasets, processes: the keys of all its declarations. Those of other projects, and external ones that no project
    declares, are not affected.
    """
    project = current_context().settings.project_name
    with transaction(engine) as cursor:
        lock_registrations(cursor)
        declared = {
            "organisation": current_context().organisation_id,
            "project": project,
            "datasets": list(datasets),
            "processes": list(processes),
        }
        gone = [row["key"] for row in statement("undeclared").execute(cursor, declared)]
        return _apply(cursor, "retire", gone, f"project:{project}", f"{project} no longer declares it")


def retirements(engine: Engine) -> list[Retirement]:
    """Return the retired datasets, those retired last first."""
    with transaction(engine) as cursor:
        return [Retirement(**row) for row in cursor.execute(_CURRENT, [current_context().organisation_id])]


def _apply(cursor: Cursor[Any], change: str, keys: Sequence[str], by: str, reason: str) -> list[str]:
    sign(cursor, by)
    parameters = {
        "organisation": current_context().organisation_id,
        "keys": list(keys),
        "by": by,
        "reason": reason,
    }
    return [row["key"] for row in statement(change).execute(cursor, parameters)]
