"""Request dependencies: the engine, the caller, and the dataset or process in the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Depends, Path, Query, Request
from pydantic import AwareDatetime
from sqlalchemy import Engine
from starlette.convertors import Convertor, register_url_convertor

from headrace.access.callers import Caller, Permission
from headrace.errors import UnknownDataset
from headrace.http.security import requires
from headrace.queries.filters import DatasetFilter, QualityBand
from headrace.queries.names import DatasetRef, find_dataset
from headrace.queries.process_detail import find_process, process_id
from headrace.slas.status import SlaStatus

Kind = Literal["DATASET", "PROCESS"]
READ = requires(Permission.READ)
Reader = Annotated[Caller, Depends(READ)]


class _Key(Convertor[str]):
    """Valid keys and ids: `crm` is not one, so crm/schema is a dataset, and not the schema of a dataset."""

    regex = r"[^/#]*[/#].*|[0-9a-fA-F-]{36}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("key", _Key())


def engine_of(request: Request) -> Engine:
    """Return the engine of the application."""
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
) -> DatasetRef:
    """Return the dataset of this key or id, including ids from before a merge. Raises UnknownDataset."""
    found = find_dataset(engine, dataset)
    if found is None:
        raise UnknownDataset(f"no dataset {dataset}; GET /api/v1/search finds datasets")
    caller.require(Permission.READ, found.key)
    return found


def process_named(
    engine: Database,
    _: Reader,
    process: Annotated[
        str, Path(max_length=4000, description="The process's key, with its slashes, or its id.")
    ],
) -> UUID:
    """Return the process of this key or id. Raises UnknownProcess."""
    return process_id(engine, process)


@dataclass(frozen=True, slots=True)
class Subject:
    """A dataset or process by its kind, id and current key."""

    kind: Kind
    id: UUID
    key: str


def subject_named(engine: Engine, caller: Caller, key: str, kind: Kind | None = None) -> Subject:
    """Return the dataset, or else the process, of this key or id. Raises UnknownDataset, UnknownProcess."""
    if kind != "PROCESS":
        try:
            dataset = dataset_named(engine, caller, key)
        except UnknownDataset:
            if kind == "DATASET":
                raise
        else:
            return Subject("DATASET", dataset.id, dataset.key)
    return Subject("PROCESS", *find_process(engine, key))


def dataset_filter(
    domain: Annotated[str | None, Query(max_length=1000, description="Only of this domain.")] = None,
    owner: Annotated[str | None, Query(max_length=1000, description="Only of this owner.")] = None,
    tag: Annotated[
        str | None, Query(max_length=1000, description="Only with this tag: `name`, or `name: value`.")
    ] = None,
    column_tag: Annotated[
        str | None, Query(max_length=1000, description="Only with a column that has this tag, such as PII.")
    ] = None,
    format_: Annotated[
        str | None, Query(alias="format", max_length=100, description="Only of this format.")
    ] = None,
    sla: Annotated[SlaStatus | None, Query(description="Only with an objective of this status.")] = None,
    quality: Annotated[
        QualityBand | None,
        Query(description="Only with a quality score in this range, as of its last result."),
    ] = None,
) -> DatasetFilter:
    """Return the filter of a list of datasets."""
    return DatasetFilter(domain, owner, tag, column_tag, format_, sla, quality)


Filtered = Annotated[DatasetFilter, Depends(dataset_filter)]
Dataset = Annotated[DatasetRef, Depends(dataset_named)]
Process = Annotated[UUID, Depends(process_named)]
Partition = Annotated[str | None, Query(max_length=1000, description="Only of the partition with this key.")]
AsOf = Annotated[
    AwareDatetime | None, Query(description="As it was at this time: ISO 8601 with a zone (`...Z`).")
]
