"""The route that shows the profile of a version, or of the published versions of many partitions together."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Reader
from headrace.http.problems import RequestRefused
from headrace.queries.profiles import BrokenProfile, Profile, TooManyVersions, profile

router = APIRouter(prefix="/api/v1/dataset", tags=["datasets"])


@router.get(
    "/{dataset:key}/profile", summary="Show the profile of a dataset's columns", response_model=Profile
)
def show_profile(
    engine: Database,
    caller: Reader,
    dataset: Dataset,
    version: Annotated[str | None, Query(max_length=1000, description="The version with this tag.")] = None,
    first: Annotated[str | None, Query(max_length=1000, description="Only partitions from this key.")] = None,
    last: Annotated[
        str | None, Query(max_length=1000, description="Only partitions up to this key, included.")
    ] = None,
) -> Response:
    """Show the profile of the version, or of all published ones together, merged from their sketches.

    Values of sensitive columns are not profiled. A profile is of at most 1,000 versions.
    """
    try:
        found = profile(engine, dataset.key, version, (first, last))
    except (BrokenProfile, TooManyVersions) as error:
        raise RequestRefused(HTTPStatus.CONFLICT, str(error)) from error
    return shown(engine, caller, found, dataset.key)
