"""What the CLI and the pages ask of the catalog: frozen rows, each of which `to_json` turns into plain JSON values."""

from typing import Any

from pydantic_core import to_jsonable_python

from catalog.queries.datasets import dataset, datasets, status
from catalog.queries.lineage import lineage, version_lineage
from catalog.queries.rows import Direction
from catalog.queries.runs import why
from catalog.queries.versions import published, version, versions

__all__ = [
    "Direction",
    "dataset",
    "datasets",
    "lineage",
    "published",
    "status",
    "to_json",
    "version",
    "version_lineage",
    "versions",
    "why",
]


def to_json(answer: object) -> Any:  # noqa: ANN401 - JSON
    """A row, or a list of rows, as dicts, lists, strings and numbers; times are ISO 8601 in UTC."""
    return to_jsonable_python(answer)
