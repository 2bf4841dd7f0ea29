"""The route that materializes a dataset, or backfills its partitions, through Dagster."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public
from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset
from headrace.context import current_context
from headrace.http.dagster import Asset, Dagster
from headrace.http.problems import RequestRefused
from headrace.http.security import requires
from headrace.registration.registrations import StorableText as Text

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])
PUBLISH = requires(Permission.PUBLISH)
Publisher = Annotated[Caller, Depends(PUBLISH)]
Key = Annotated[Text | None, Field(min_length=1, max_length=1000)]


class Materialization(BaseModel):
    """The partitions to materialize: the one with the key `first`, or a backfill from `first` to `last`, inclusive.
    Omit both for a dataset without partitions."""

    model_config = ConfigDict(extra="forbid")

    first: Key = None
    last: Key = None


class Launched(BaseModel):
    """A run, or for several partitions a backfill, that was launched in Dagster.

    datasets: the dataset, and those that are produced with it. url: its page in Dagster.
    """

    datasets: Public[list[str]]
    partition_count: int
    dagster_run_id: Public[str | None]
    backfill_id: Public[str | None]
    url: Public[str]


@router.post(
    "/{dataset:path}/materialize", summary="Materialize or backfill a dataset", response_model=Launched
)
def materialize(engine: Database, caller: Publisher, dataset: Dataset, asked: Materialization) -> Response:
    """Launch a run in Dagster, or a backfill of several partitions. The answer does not wait for its end.

    Requires the permission for all datasets that are produced together.
    """
    caller.require(Permission.PUBLISH, dataset.key)
    if caller.organisation != current_context().settings.organisation:
        raise RequestRefused(
            HTTPStatus.CONFLICT,
            f"the Dagster of this deployment computes nothing for the organisation {caller.organisation}",
        )
    dagster = dagster_of_deployment()
    asset = dagster.asset(dataset.key)
    caller.require(Permission.PUBLISH, *asset.datasets)
    partitions = _wanted(asset, asked.first, asked.last)
    launch = (
        dagster.launch_backfill(asset, partitions, caller.subject)
        if len(partitions) > 1
        else dagster.launch_run(asset, next(iter(partitions), None), caller.subject)
    )
    answer = Launched(
        datasets=list(asset.datasets),
        partition_count=len(partitions),
        dagster_run_id=launch.run_id,
        backfill_id=launch.backfill_id,
        url=launch.url,
    )
    return shown(engine, caller, answer, dataset.key)


def dagster_of_deployment() -> Dagster:
    """Return the Dagster of this deployment. Raises RequestRefused without the setting dagster_url."""
    here = current_context().settings
    if here.dagster_url is None:
        raise RequestRefused(
            HTTPStatus.CONFLICT,
            "this service does not know Dagster's address: set dagster_url, or start both with `headrace up`",
        )
    return Dagster(here.dagster_url, here.dagster_api_url)


def _wanted(asset: Asset, first: str | None, last: str | None) -> Sequence[str]:
    """Return the partition keys from `first` to `last`; none for an asset without partitions."""
    dataset = asset.datasets[0]
    if asset.partitions is None:
        if first or last:
            raise _refused(f"{dataset} is not partitioned: omit the partition")
        return ()
    known = f"{asset.partitions[0]} to {asset.partitions[-1]}" if asset.partitions else "none yet"
    if first is None:
        raise _refused(f"choose a partition of {dataset}, or the first and last to backfill: it has {known}")
    last = last or first
    for key in (first, last):
        if key not in asset.partitions:
            raise _refused(f"{dataset} has no partition {key}: it has {known}")
    begin, end = asset.partitions.index(first), asset.partitions.index(last)
    if begin > end:
        raise _refused(f"{first} comes after {last} in {dataset}: swap them")
    return asset.partitions[begin : end + 1]


def _refused(message: str) -> RequestRefused:
    return RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, message, field="body.first")
