"""Routes that deprecate, retire and restore datasets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.responses import Response

from headrace import queries
from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import DatasetKey, Public
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset
from headrace.http.security import requires
from headrace.queries.names import DatasetRef
from headrace.registration import retirement
from headrace.registration.registrations import StorableText as Text

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
REGISTER = requires(Permission.REGISTER)
Registrar = Annotated[Caller, Depends(REGISTER)]


class Reasoned(BaseModel):
    """The reason, which readers see, such as the dataset to use instead."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[Text, Field(min_length=1, max_length=2000)]


class Lifecycle(BaseModel):
    """The status of a dataset from now on."""

    dataset: DatasetKey
    status: Public[str]


@router.post("/{dataset:path}/deprecate", summary="Deprecate a dataset", response_model=Lifecycle)
def deprecate_dataset(engine: Database, caller: Registrar, dataset: Dataset, asked: Reasoned) -> Response:
    """Deprecate a dataset: it is produced and read as before, and its readers see the reason."""
    caller.require(Permission.REGISTER, dataset.key)
    retirement.deprecate(engine, dataset.key, by=caller.subject, reason=asked.reason)
    return _status(engine, caller, dataset)


@router.post("/{dataset:path}/retire", summary="Retire a dataset", response_model=Lifecycle)
def retire_dataset(engine: Database, caller: Registrar, dataset: Dataset, asked: Reasoned) -> Response:
    """Retire a dataset that is no longer produced: its SLA ends, and lists omit it. Versions and lineage stay."""
    caller.require(Permission.REGISTER, dataset.key)
    retirement.retire(engine, dataset.key, by=caller.subject, reason=asked.reason)
    return _status(engine, caller, dataset)


@router.post(
    "/{dataset:path}/restore", summary="Restore a retired or deprecated dataset", response_model=Lifecycle
)
def restore_dataset(engine: Database, caller: Registrar, dataset: Dataset, asked: Reasoned) -> Response:
    """Restore a retired dataset with its SLA, or end a deprecation. One that was deprecated before it was retired is
    deprecated again."""
    caller.require(Permission.REGISTER, dataset.key)
    retirement.restore(engine, dataset.key, by=caller.subject, reason=asked.reason)
    return _status(engine, caller, dataset)


def _status(engine: Engine, caller: Caller, dataset: DatasetRef) -> Response:
    answer = Lifecycle(dataset=dataset.key, status=queries.dataset(engine, dataset.key).status)
    return shown(engine, caller, answer, dataset.key)
