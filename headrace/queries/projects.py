"""The projects of the catalog: the datasets that others declare, and the invalid declarations of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from headrace.catalog.records import UNDECLARED
from headrace.context import current_context
from headrace.database.connection import transaction

_DATASETS = """
SELECT full_name AS key, project, description, owners, partitions, partition_definition
FROM catalog.dataset
WHERE organisation_id = %s AND project IS NOT NULL AND project <> %s
ORDER BY full_name
"""
_OUTDATED = """
SELECT DISTINCT load.project, load.loaded_at
FROM catalog.project_load load
CROSS JOIN LATERAL jsonb_to_recordset(load.problems) AS problem (message text)
JOIN catalog.dataset ON dataset.organisation_id = load.organisation_id
                    AND dataset.project <> load.project
                    AND dataset.full_name = substring(problem.message FROM ' reads (.*), ' || %s)
WHERE load.organisation_id = %s
"""
_SUBJECTS = """
WITH subject AS (
    SELECT full_name AS key, owners FROM catalog.dataset WHERE organisation_id = %(organisation)s
    UNION ALL
    SELECT process_key, owners FROM catalog.process WHERE organisation_id = %(organisation)s
)
SELECT ARRAY(SELECT DISTINCT unnest(owners) FROM subject) AS owners,
       ARRAY(SELECT DISTINCT catalog.domain_of(key) FROM subject) AS domains
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


@dataclass(frozen=True, slots=True)
class Subjects:
    """The owners and domains of datasets and processes. are_all: False if there may be more of them."""

    owners: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    are_all: bool = False


NO_SUBJECTS = Subjects()


def subjects(engine: Engine) -> Subjects:
    """Return the owners and domains of all datasets and processes of the catalog."""
    with transaction(engine) as cursor:
        row = cursor.execute(_SUBJECTS, {"organisation": current_context().organisation_id}).fetchone()
    return Subjects(frozenset(row["owners"]), frozenset(row["domains"]), are_all=True) if row else NO_SUBJECTS


def datasets_of_other_projects(engine: Engine, project: str) -> tuple[ProjectDataset, ...]:
    """Return the datasets that other projects declare, by key."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_DATASETS, [current_context().organisation_id, project]).fetchall()
    return tuple(ProjectDataset(**{**row, "owners": tuple(row["owners"])}) for row in rows)


def outdated_loads(engine: Engine) -> set[tuple[str, datetime]]:
    """Return the projects that lacked an input when they were loaded, which another has declared since; with the time
    of the load.
    """
    with transaction(engine) as cursor:
        rows = cursor.execute(_OUTDATED, [UNDECLARED, current_context().organisation_id]).fetchall()
    return {(row["project"], row["loaded_at"]) for row in rows}


@dataclass(frozen=True, slots=True)
class ProjectProblem:
    """A declaration that was invalid when its project was last loaded. file: relative to the project."""

    project: str
    loaded_at: datetime
    file: str
    line: int
    field: str | None
    message: str
    hint: str | None


def project_problems(engine: Engine) -> list[ProjectProblem]:
    """Return the invalid declarations of all projects, by project, file and line."""
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT project, loaded_at, problems FROM catalog.project_load WHERE organisation_id = %s ORDER BY project",
            [current_context().organisation_id],
        ).fetchall()
    return [
        ProjectProblem(project=row["project"], loaded_at=row["loaded_at"], **problem)
        for row in rows
        for problem in row["problems"]
    ]
