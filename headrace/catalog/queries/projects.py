"""Datasets that other projects of the same catalog declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from headrace.database.connection import transaction
from headrace.database.ids import organisation_id

_DATASETS = """
SELECT full_name AS key, project, description, owners, partitions, partition_definition
FROM catalog.dataset
WHERE organisation_id = %s AND project IS NOT NULL AND project <> %s
ORDER BY full_name
"""


@dataclass(frozen=True, slots=True)
class ProjectDataset:
    """A dataset of another project. partition_definition: type, start, time zone, keys, as declared."""

    key: str
    project: str
    description: str | None
    owners: tuple[str, ...]
    partitions: str | None
    partition_definition: Mapping[str, Any] | None


def datasets_of_other_projects(engine: Engine, project: str) -> tuple[ProjectDataset, ...]:
    """Return the datasets that other projects declare, by key."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_DATASETS, [organisation_id(), project]).fetchall()
    return tuple(ProjectDataset(**{**row, "owners": tuple(row["owners"])}) for row in rows)
