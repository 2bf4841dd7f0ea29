"""Filter facets that name other datasets or jobs, which row-level security cannot see into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, PublicField
from headrace.catalog.jobs import keys_of_jobs
from headrace.catalog.naming import Name, own_namespace
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.row_security import is_narrow
from headrace.queries.names import keys_of
from headrace.queries.processes import visible_processes
from headrace.queries.sql import statement

_FACETS_WITH_NAMES = ("columnLineage", "lineage")  # facets of datasets and jobs that name others

_Named = tuple[str, Name]  # DATASET or JOB


@dataclass(frozen=True, slots=True)
class FacetRow:
    """A facet with the time of its report. modelled: in the spec, in a known version."""

    name: Public[str]
    content: Annotated[Mapping[str, Any], PublicField.FACET_CONTENT]
    at: datetime
    modelled: bool


def facets(engine: Engine, subject: Literal["DATASET", "PROCESS"], id: UUID) -> dict[str, FacetRow]:
    """Return the newest facets by name of a dataset (under all its names) or a process. For runs, see `run_facets`.

    Names that the caller may not see are removed from them.
    """
    parameters = {"subject": subject, "subject_id": id}
    with transaction(engine) as cursor:
        rows = statement("names/facets").execute(cursor, parameters).fetchall()
    return visible_facets(engine, {row["name"]: FacetRow(**row) for row in rows})


def visible_facets(engine: Engine, facets: Mapping[str, FacetRow]) -> dict[str, FacetRow]:
    """Return the facets without the datasets and jobs that the caller does not see, and their attributes."""
    found = dict(facets)
    if is_narrow():
        with_names = {name: facets[name] for name in _FACETS_WITH_NAMES if name in facets}
        hidden = _hidden(engine, {each for row in with_names.values() for each in _named(row.content)})
        found |= {
            name: replace(row, content=_without(row.content, hidden)) for name, row in with_names.items()
        }
    return found


def _hidden(engine: Engine, named: set[_Named]) -> set[_Named]:
    datasets = keys_of(
        engine, current_context().organisation_id, [name for kind, name in named if kind == "DATASET"]
    )
    own = own_namespace(current_context().organisation)
    jobs = keys_of_jobs(
        engine, current_context().organisation_id, own, [name for kind, name in named if kind == "JOB"]
    )
    known = visible_processes(engine, jobs.values())
    return {("DATASET", name) for name, key in datasets.items() if key is None} | {
        ("JOB", name) for name, key in jobs.items() if key not in known
    }


def _named(value: object) -> Iterator[_Named]:
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _named(each)
    if (own := _name(value)) is not None:
        yield own


def _without(value: Any, hidden: set[_Named]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, list):
        return [_without(each, hidden) for each in value if _name(each) not in hidden]
    if isinstance(value, Mapping):
        return {key: _without(each, hidden) for key, each in value.items()}
    return value


def _name(value: object) -> _Named | None:
    """Return the dataset or job that an object names, or None."""
    if not isinstance(value, Mapping):
        return None
    namespace, name = value.get("namespace"), value.get("name")
    if not isinstance(namespace, str) or not isinstance(name, str):
        return None
    return "JOB" if value.get("type") == "JOB" else "DATASET", Name(namespace, name)
