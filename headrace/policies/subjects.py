"""The variables of rules: a dataset and the datasets that it reads, as JSON.

dataset.key, .domain, .name, .kind ("dataset", "external"; by others "registered", "unknown"), .description, .owners,
.tags (a map), .classification, .classification_level (0 public, 1 internal, 2 confidential, 3 restricted; unknown
words: 3, none: 0), .columns ([{name, type, nullable, description, tags}]), .checks ([{name, kind, column, severity}],
without the implied ones), .sla (a map, empty without one), .store, .format, .partitioned, .mode, .consumers (keys)
inputs: the same of each dataset that it reads; now: the time
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg import Cursor

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import DatasetRecord
from headrace.context import current_context
from headrace.execution.plan import Plan, ProcessPlan
from headrace.gates import Moment
from headrace.queries.sql import statement

_LEVELS = {"public": 0, "internal": 1, "confidential": 2, "restricted": 3}
_BLANK: Mapping[str, Any] = {
    "key": "domain/name",
    "kind": "dataset",
    "description": "",
    "owners": [],
    "tags": {},
    "columns": [],
    "checks": [],
    "sla": {},
    "store": "files",
    "format": "parquet",
    "partitioned": False,
    "mode": "",
    "consumers": [],
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A dataset as rules see it. declared_at: file and line. version, run: see `gates.Candidate`."""

    key: str
    dataset: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]]
    declared_at: tuple[Path, int] = (Path(), 0)
    event: Moment = Moment.DECLARATION
    version: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, str | bool] = field(default_factory=dict)


def subjects(plans: Iterable[Plan], root: Path) -> list[Subject]:
    """Return the declared datasets, in the order of their declaration. Inputs of other projects have only their key."""
    known: dict[str, dict[str, Any]] = {}
    reads: dict[str, list[str]] = {}
    places: dict[str, tuple[Path, int]] = {}
    for plan in plans:
        if isinstance(plan, ProcessPlan):
            for output in plan.outputs:
                known[output.record.key] = facts(output.record, "dataset")
                reads[output.record.key] = [each.dataset for each in plan.inputs]
                places[output.record.key] = _place(output.record, root)
        else:
            known[plan.record.key] = facts(plan.record, "external")
            reads[plan.record.key] = []
            places[plan.record.key] = _place(plan.record, root)
    consumers: dict[str, list[str]] = defaultdict(list)
    for key, read in reads.items():
        for each in read:
            consumers[each].append(key)
    for key, declared in known.items():
        declared["consumers"] = consumers[key]
    return [
        Subject(
            key, declared, [known.get(each) or completed({"key": each}) for each in reads[key]], places[key]
        )
        for key, declared in known.items()
    ]


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataset with the fields that are not given; of columns and checks as well."""
    found = {**_BLANK, **given}
    domain, _, name = str(found["key"]).partition("/")
    classification = found.get("classification") or found["tags"].get("classification", "")
    column = {"name": "", "type": "string", "nullable": True, "description": "", "tags": []}
    check = {"name": "", "kind": "", "column": "", "severity": "ERROR"}
    return {
        **found,
        "domain": domain,
        "name": name,
        "classification": classification,
        "classification_level": _LEVELS.get(str(classification).lower(), 3) if classification else 0,
        "columns": [{**column, **each} for each in found["columns"]],
        "checks": [{**check, **each} for each in found["checks"]],
    }


def facts(record: DatasetRecord, kind: str) -> dict[str, Any]:
    """Return a dataset as it is declared or requested."""
    return completed(
        {
            "key": record.key,
            "kind": kind,
            "description": record.description or "",
            "owners": list(record.owners),
            "tags": dict(record.tags),
            "columns": [
                {
                    "name": column.name,
                    "type": column.type,
                    "nullable": column.nullable,
                    "description": column.description or "",
                    "tags": list(column.tags),
                }
                for column in record.columns
            ],
            "checks": [
                {
                    "name": check.name,
                    "kind": check.kind,
                    "column": check.column or "",
                    "severity": check.severity.value,
                }
                for check in record.checks
                if check.kind not in ("not_null", "partition")
            ],
            "sla": dict(record.sla or {}),
            "store": record.metadata.get("store") or (FILES_STORE if kind == "dataset" else ""),
            "format": record.format,
            "partitioned": record.partitions is not None,
            "mode": record.metadata.get("incremental", ""),
        }
    )


def known_facts(cursor: Cursor[Any], keys: Collection[str] | None) -> dict[str, dict[str, Any]]:
    """Return datasets as the catalog knows them, by key, each with `inputs` (keys). keys: None: all of the project."""
    parameters = {
        "organisation": current_context().organisation_id,
        "project": current_context().settings.project_name,
        "keys": None if keys is None else sorted(keys),
    }
    found = {
        row["key"]: completed(
            {
                **row,
                "columns": [
                    {**each, "description": each["description"] or ""} for each in row["columns"] or ()
                ],
                "store": row["store"] or (FILES_STORE if row["kind"] == "dataset" else ""),
            }
        )
        for row in statement("datasets/facts").execute(cursor, parameters)
    }
    unknown = {
        key: completed({"key": key, "kind": "unknown", "store": "", "format": "", "inputs": []})
        for key in keys or ()
        if key not in found
    }
    return found | unknown


def _place(record: DatasetRecord, root: Path) -> tuple[Path, int]:
    file, _, line = (record.declared_at or ":1").rpartition(":")
    return root / file, int(line)
