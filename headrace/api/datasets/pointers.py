"""Routes that choose the version readers get: roll back, pin, unpin."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.responses import Response

from headrace import queries
from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import DatasetKey, Public
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset
from headrace.errors import CatalogError
from headrace.http.security import requires
from headrace.publishing import pins
from headrace.publishing.rollback import rollback
from headrace.registration.registrations import StorableText as Text
from headrace.spark.errors import ResourceError
from headrace.stores.references import update_references

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
PUBLISH = requires(Permission.PUBLISH)
Publisher = Annotated[Caller, Depends(PUBLISH)]
Reason = Annotated[
    Text, Field(min_length=1, max_length=20_000, description="The reason, kept in the history.")
]
Partition = Annotated[
    Text | None, Field(max_length=1000, description="The partition's key, if it has partitions.")
]
Tag = Annotated[Text, Field(min_length=1, max_length=1000)]
_LOG = logging.getLogger("headrace.api")


class Rollback(BaseModel):
    """The version to publish again; by default the one published before."""

    model_config = ConfigDict(extra="forbid")

    to: Tag | None = None
    partition: Partition = None
    reason: Reason


class Pin(BaseModel):
    """The version that readers get: all, or the runs of the dataset `consumer`."""

    model_config = ConfigDict(extra="forbid")

    tag: Tag
    partition: Partition = None
    consumer: Annotated[Text | None, Field(max_length=4000)] = None
    reason: Reason


class Unpin(BaseModel):
    """The pin to remove."""

    model_config = ConfigDict(extra="forbid")

    partition: Partition = None
    consumer: Annotated[Text | None, Field(max_length=4000)] = None


class Pointer(BaseModel):
    """The version that readers of a dataset get from now on; for a pin, those that it is for."""

    dataset: DatasetKey
    partition: Public[str | None]
    tag: Public[str | None]
    consumer: Public[str | None] = None


@router.post("/{dataset:path}/rollback", summary="Publish an earlier version again", response_model=Pointer)
def roll_back(engine: Database, caller: Publisher, dataset: Dataset, asked: Rollback) -> Response:
    """Publish the version published before, or another earlier one. Running runs that would replace it are
    superseded."""
    caller.require(Permission.PUBLISH, dataset.key)
    moved = rollback(engine, dataset.key, asked.partition, asked.to, by=caller.subject, reason=asked.reason)
    _update_references(engine, dataset.key, asked.partition)
    answer = Pointer(dataset=dataset.key, partition=asked.partition, tag=moved.version.tag)
    return shown(engine, caller, answer, dataset.key)


@router.post("/{dataset:path}/pin", summary="Pin readers to a version", response_model=Pointer)
def pin_version(engine: Database, caller: Publisher, dataset: Dataset, asked: Pin) -> Response:
    """Pin readers to a version, whatever is published. Replaces the pin that they have."""
    caller.require(Permission.PUBLISH, dataset.key)
    version = pins.pin(
        engine,
        dataset.key,
        asked.tag,
        asked.partition,
        asked.consumer,
        by=caller.subject,
        reason=asked.reason,
    )
    answer = Pointer(dataset=dataset.key, partition=asked.partition, tag=version.tag, consumer=asked.consumer)
    return shown(engine, caller, answer, dataset.key)


@router.post("/{dataset:path}/unpin", summary="Remove a pin", response_model=Pointer)
def unpin_version(engine: Database, caller: Publisher, dataset: Dataset, asked: Unpin) -> Response:
    """Remove a pin: its readers get the published version again."""
    caller.require(Permission.PUBLISH, dataset.key)
    pins.unpin(engine, dataset.key, asked.partition, asked.consumer, by=caller.subject)
    published = queries.published(engine, [dataset.key])
    tag = next((row.version.tag for row in published if row.partition == asked.partition), None)
    answer = Pointer(dataset=dataset.key, partition=asked.partition, tag=tag, consumer=asked.consumer)
    return shown(engine, caller, answer, dataset.key)


def _update_references(engine: Engine, dataset: str, partition: str | None) -> None:
    """Update the references of external readers. The pointer has moved: one that cannot be updated here is logged."""
    try:
        update_references(engine, dataset, _no_session, [partition])
    except (CatalogError, ResourceError) as error:
        _LOG.warning("%s: run `headrace manifests %s`: %s", dataset, dataset, error)


def _no_session() -> SparkSession:
    raise ResourceError("the service has no Spark session")
