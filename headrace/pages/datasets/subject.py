"""The dataset of an address, and what all its views begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Path, Request
from sqlalchemy import Engine
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.api.datasets.datasets import (
    list_versions,
    show_dataset,
    show_version,
)
from headrace.api.slas import list_sla_statuses
from headrace.api.subjects import Database, dataset_named
from headrace.errors import UnknownDataset, UnknownVersion
from headrace.http.problems import RequestRefused
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer
from headrace.queries.names import DatasetRef

PER_PAGE = 50
# Any of them opens the view of the actions.
MANAGING = (Permission.PUBLISH, Permission.REGISTER, Permission.ACKNOWLEDGE)


def dataset_shown(
    engine: Database, caller: Viewer, dataset: Annotated[str, Path(max_length=4000)]
) -> DatasetRef:
    """Return the dataset of the address. Raises RequestRefused."""
    try:
        return dataset_named(engine, caller, dataset)
    except UnknownDataset as error:
        raise RequestRefused(
            HTTPStatus.NOT_FOUND,
            f"there is no dataset {dataset}, or you may not see it: the search finds datasets",
        ) from error


Dataset = Annotated[DatasetRef, Depends(dataset_shown)]


def view(
    request: Request,
    engine: Engine,
    caller: Caller,
    dataset: DatasetRef,
    name: str,
    about: Any = None,  # noqa: ANN401 - JSON
    **values: Any,  # noqa: ANN401 - of a template
) -> Response:
    """Render one view of a dataset, below what all its views begin with. about: the API's answer, if it is known."""
    about = about or answered(show_dataset(engine, caller, dataset))
    objectives = answered(list_sla_statuses(engine, caller, key=[dataset.key]))["items"]
    return page(
        request,
        f"dataset_{name}.html",
        tab=name,
        about=about,
        objectives=objectives,
        key=dataset.key,
        may_manage=any(caller.may(each, dataset.key) for each in MANAGING),
        **values,
    )


def published_version(
    engine: Engine,
    caller: Caller,
    dataset: DatasetRef,
    about: Any,  # noqa: ANN401 - JSON
) -> dict[str, Any] | None:
    """Return the published version with its details, of the newest partition; None if nothing is published.

    about: the API's answer about the dataset, whose newest versions are looked through before older ones are asked for.
    """
    row = _published(about["newest_versions"])
    if row is None:
        row = _published(answered(list_versions(engine, caller, dataset, limit=PER_PAGE))["items"])
    if row is None:
        return None
    try:
        found = answered(show_version(engine, caller, dataset, row["tag"], row["partition"], with_run=False))
    except UnknownVersion:
        return None
    return dict(found["version"])


def _published(rows: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - JSON
    return next((each["version"] for each in rows if each["published"]), None)


def back_to(dataset: DatasetRef, name: str) -> Response:
    """Go back to a view of the dataset after an action."""
    return RedirectResponse(f"/datasets/{quote(dataset.key, safe='/')}/{name}", HTTPStatus.SEE_OTHER)
