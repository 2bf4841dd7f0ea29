"""Actions on a dataset: materialize it, choose what its readers get, deprecate or retire it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.datasets.datasets import list_versions
from headrace.api.datasets.materialization import Materialization, materialize
from headrace.api.datasets.pointers import Pin, Rollback, Unpin, pin_version, roll_back, unpin_version
from headrace.api.datasets.retirement import Reasoned, deprecate_dataset, restore_dataset, retire_dataset
from headrace.api.slas import list_outages
from headrace.api.subjects import Database
from headrace.context import current_context
from headrace.http.dagster import Dagster
from headrace.pages.datasets.subject import Dataset, back_to, view
from headrace.pages.forms import body
from headrace.pages.rendering import answered, with_query
from headrace.pages.sessions import Viewer, acts

router = APIRouter(include_in_schema=False)
Launch = Annotated[str | None, Query(max_length=100, pattern=r"^[\w-]+$")]
FormText = Annotated[str, Form(max_length=20_000)]
Publisher = Annotated[Caller, Depends(acts(Permission.PUBLISH))]
Registrar = Annotated[Caller, Depends(acts(Permission.REGISTER))]


@router.get("/datasets/{dataset:key}/manage")
def show_actions(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    run: Launch = None,
    backfill: Launch = None,
) -> Response:
    """Show what the caller may do with the dataset. run, backfill: one that they have just launched."""
    newest = answered(list_versions(engine, caller, dataset, limit=1))["items"]
    url = current_context().settings.dagster_url
    return view(
        request,
        engine,
        caller,
        dataset,
        "manage",
        newest=newest[0]["version"] if newest else None,
        dagster=url,
        outages=answered(list_outages(engine, caller, dataset.key)),
        launched=_launched(Dagster(url), run, backfill) if url else None,
    )


@router.post("/datasets/{dataset:key}/materialize")
def materialize_dataset(
    engine: Database, caller: Publisher, dataset: Dataset, first: FormText = "", last: FormText = ""
) -> Response:
    """Launch a run or a backfill in Dagster, and link to it."""
    asked = body(Materialization, first=first.strip() or None, last=last.strip() or None)
    launched = answered(materialize(engine, caller, dataset, asked))
    of_run = with_query({}, run=launched["dagster_run_id"], backfill=launched["backfill_id"])
    return back_to(dataset, f"manage{of_run}")


@router.post("/datasets/{dataset:key}/rollback")
def roll_back_dataset(
    engine: Database,
    caller: Publisher,
    dataset: Dataset,
    to: FormText,
    reason: FormText,
    partition: FormText = "",
) -> Response:
    """Publish an earlier version again."""
    roll_back(engine, caller, dataset, body(Rollback, to=to, partition=partition or None, reason=reason))
    return back_to(dataset, "versions")


@router.post("/datasets/{dataset:key}/pin")
def pin_dataset(
    engine: Database,
    caller: Publisher,
    dataset: Dataset,
    tag: FormText,
    reason: FormText,
    partition: FormText = "",
    consumer: FormText = "",
) -> Response:
    """Pin readers to a version."""
    asked = body(Pin, tag=tag, partition=partition or None, consumer=consumer or None, reason=reason)
    pin_version(engine, caller, dataset, asked)
    return back_to(dataset, "versions")


@router.post("/datasets/{dataset:key}/unpin")
def unpin_dataset(
    engine: Database, caller: Publisher, dataset: Dataset, partition: FormText = "", consumer: FormText = ""
) -> Response:
    """Remove a pin."""
    unpin_version(
        engine, caller, dataset, body(Unpin, partition=partition or None, consumer=consumer or None)
    )
    return back_to(dataset, "versions")


@router.post("/datasets/{dataset:key}/deprecate")
def deprecate_with_reason(
    engine: Database, caller: Registrar, dataset: Dataset, reason: FormText
) -> Response:
    """Mark the dataset as deprecated."""
    deprecate_dataset(engine, caller, dataset, body(Reasoned, reason=reason.strip()))
    return back_to(dataset, "manage")


@router.post("/datasets/{dataset:key}/retire")
def retire_with_reason(engine: Database, caller: Registrar, dataset: Dataset, reason: FormText) -> Response:
    """Mark the dataset as retired."""
    retire_dataset(engine, caller, dataset, body(Reasoned, reason=reason.strip()))
    return back_to(dataset, "manage")


@router.post("/datasets/{dataset:key}/restore")
def restore_with_reason(engine: Database, caller: Registrar, dataset: Dataset, reason: FormText) -> Response:
    """End the deprecation or retirement of the dataset."""
    restore_dataset(engine, caller, dataset, body(Reasoned, reason=reason.strip()))
    return back_to(dataset, "manage")


def _launched(dagster: Dagster, run: str | None, backfill: str | None) -> dict[str, Any] | None:
    """Return the launch that the address names: its id, and its page in Dagster."""
    if backfill:
        return {"id": backfill, "url": dagster.url_of_backfill(backfill), "backfill": True}
    return {"id": run, "url": dagster.url_of_run(run), "backfill": False} if run else None
