"""What a request is about: the engine, who reads, and the dataset or process that the address names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query, Request
from pydantic import AwareDatetime
from sqlalchemy import Engine
from starlette.convertors import Convertor, register_url_convertor

from headrace.access.callers import Caller, Permission
from headrace.catalog.queries.names import locate_id
from headrace.catalog.queries.process_detail import process_id, uuid_of
from headrace.database.connection import transaction
from headrace.database.ids import organisation_id
from headrace.errors import UnknownDataset
from headrace.service.security import requires

READ = requires(Permission.READ)
Reader = Annotated[Caller, Depends(READ)]

_BY_NAME = """
SELECT dataset_id, full_name FROM catalog.dataset WHERE organisation_id = %(organisation)s AND full_name = %(named)s
UNION ALL
SELECT dataset_id, full_name FROM catalog.dataset WHERE organisation_id = %(organisation)s AND dataset_id = %(id)s
"""


class _Key(Convertor[str]):
    """What a key or an id can be: `crm` is none, so that crm/schema is a dataset, and no dataset's schema."""

    regex = r"[^/#]*[/#].*|[0-9a-fA-F-]{36}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("key", _Key())


@dataclass(frozen=True, slots=True)
class Subject:
    """A dataset by its id and key, as it is now."""

    id: UUID
    key: str


def engine_of(request: Request) -> Engine:
    """The engine of the application."""
    engine: Engine = request.app.state.engine
    return engine


Database = Annotated[Engine, Depends(engine_of)]


def dataset_named(
    engine: Database,
    caller: Reader,
    dataset: Annotated[
        str,
        Path(max_length=4000, description="The dataset's key (`domain/name`, with its slashes), or its id."),
    ],
) -> Subject:
    """The dataset of this key or id, which may be one that it had before it was merged. Raises UnknownDataset."""
    found = find(engine, dataset)
    if found is None:
        raise UnknownDataset(f"there is no dataset {dataset}; GET /api/v1/search finds datasets by words")
    caller.require(Permission.READ, found.key)
    return found


def find(engine: Engine, named: str) -> Subject | None:
    """The dataset of a key or id that the caller may see."""
    known = uuid_of(named)
    found = _row(engine, named, known)
    if found is None and known is not None:
        current = locate_id(engine, organisation_id(), known)
        found = _row(engine, named, current) if current is not None else None
    return found


def process_named(
    engine: Database,
    _: Reader,
    process: Annotated[
        str, Path(max_length=4000, description="The process's key, with its slashes, or its id.")
    ],
) -> UUID:
    """The process of this key or id. Raises UnknownProcess."""
    return process_id(engine, process)


def _row(engine: Engine, named: str, known: UUID | None) -> Subject | None:
    parameters = {"organisation": organisation_id(), "named": named, "id": known}
    with transaction(engine) as cursor:
        row = cursor.execute(_BY_NAME, parameters).fetchone()
    return Subject(row["dataset_id"], row["full_name"]) if row else None


Dataset = Annotated[Subject, Depends(dataset_named)]
Process = Annotated[UUID, Depends(process_named)]
Partition = Annotated[str | None, Query(max_length=1000, description="Only of the partition with this key.")]
AsOf = Annotated[
    AwareDatetime | None, Query(description="As it was at this time: ISO 8601 with a zone (`...Z`).")
]
