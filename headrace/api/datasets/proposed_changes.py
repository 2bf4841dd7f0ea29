"""The route for changes of a declaration that stewards propose."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from headrace.api.responses import shown
from headrace.api.subjects import Database, Dataset, Reader
from headrace.queries.proposed_changes import ProposedChange, proposed_changes

router = APIRouter(prefix="/api/v1", tags=["datasets"])


@dataclass(frozen=True, slots=True)
class ProposedChanges:
    """The changes that stewards propose to a dataset."""

    items: list[ProposedChange]


@router.get(
    "/dataset/{dataset:key}/proposed-changes",
    summary="List the changes that stewards propose to a declaration",
    response_model=ProposedChanges,
)
def list_proposed_changes(engine: Database, caller: Reader, dataset: Dataset) -> Response:
    """List what stewards wrote in OpenMetadata, or accepted as sensitive, and the declaration does not say."""
    return shown(engine, caller, ProposedChanges(proposed_changes(engine, dataset.key)), dataset.key)
