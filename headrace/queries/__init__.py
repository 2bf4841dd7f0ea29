"""Read-only queries for the CLI, the API and the pages: frozen rows, which `to_json` converts to plain JSON values."""

from typing import Any

from pydantic_core import to_jsonable_python

from headrace.queries.datasets import dataset, datasets, status
from headrace.queries.lineage import lineage, version_lineage
from headrace.queries.rows import Direction
from headrace.queries.runs import find_runs
from headrace.queries.versions import published, version, versions

__all__ = [
    "Direction",
    "dataset",
    "datasets",
    "find_runs",
    "lineage",
    "published",
    "status",
    "to_json",
    "version",
    "version_lineage",
    "versions",
]


def to_json(answer: object) -> Any:  # noqa: ANN401 - JSON
    """Convert a row, or a list of rows, to dicts, lists, strings and numbers; times are ISO 8601 in UTC."""
    return to_jsonable_python(answer)
