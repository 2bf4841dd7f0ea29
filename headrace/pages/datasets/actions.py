"""Actions that choose what readers of a dataset get."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.pointers import Pin, Rollback, Unpin, pin_version, roll_back, unpin_version
from headrace.api.subjects import Database
from headrace.pages.datasets.subject import Dataset, back_to
from headrace.pages.forms import body
from headrace.pages.sessions import acts

router = APIRouter(include_in_schema=False)
FormText = Annotated[str, Form(max_length=20_000)]
Publisher = Annotated[Caller, Depends(acts(Permission.PUBLISH))]


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
