"""Suggestions of sensitive columns, which stewards and owners accept or dismiss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BeforeValidator, Field
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.datasets.sensitive import (
    Acceptance,
    Dismissal,
    accept_suggestion,
    dismiss_suggestion,
    list_suggestions,
)
from headrace.api.paging import Cursor
from headrace.api.subjects import Database, dataset_named
from headrace.catalog.sensitivity_suggestions import SuggestionStatus
from headrace.errors import CatalogError
from headrace.http.problems import RequestRefused
from headrace.pages.forms import body, none_if_empty
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import acts, signed_in

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
Decider = Annotated[Caller, Depends(acts(Permission.REGISTER))]
Viewer = Annotated[Caller, Depends(signed_in(Permission.REGISTER))]
Decision = Literal["accept", "dismiss"]
Place = Annotated[int, Field(ge=0)]


@router.get("/approvals/sensitive")
def show_suggestions(
    request: Request,
    engine: Database,
    caller: Viewer,
    status: SuggestionStatus | None = SuggestionStatus.PENDING,
    dataset: Annotated[str | None, Query(max_length=4000), BeforeValidator(none_if_empty)] = None,
    cursor: Cursor = None,
) -> Response:
    """Show columns that may have personal data, the most probable first."""
    return _suggestions(request, engine, caller, status, dataset, cursor)


@router.post("/approvals/sensitive")
def decide_suggestions(
    request: Request,
    engine: Database,
    caller: Decider,
    decision: Annotated[Decision, Form()],
    dataset: Annotated[list[str], Form(max_length=500)],
    column: Annotated[list[str], Form(max_length=500)],
    chosen: Annotated[set[Place], Form(max_length=500)] = set(),  # noqa: B006 - FastAPI copies it
    note: Annotated[str, Form(max_length=2000)] = "",
) -> Response:
    """Accept or dismiss the chosen suggestions; `chosen` are their places in the other fields.

    One that is refused does not stop the others.
    """
    if not len(dataset) == len(column) > max(chosen, default=-1):
        raise RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, "the form is incomplete: open its page again")
    places = [(dataset[place], column[place]) for place in sorted(chosen)]
    refused = list(_decide(engine, caller, decision, places, note.strip()))
    done = f"{len(chosen) - len(refused)} {'accepted' if decision == 'accept' else 'dismissed'}"
    return _suggestions(
        request, engine, caller, SuggestionStatus.PENDING, None, None, done=done, refused=refused
    )


def _decide(
    engine: Engine, caller: Caller, decision: Decision, places: Sequence[tuple[str, str]], note: str
) -> Iterator[dict[str, str]]:
    """Decide about each; yield those that were refused, with the reason."""
    for key, column in places:
        try:
            named = dataset_named(engine, caller, key)
            if decision == "accept":
                asked = body(Acceptance, column=column, note=note or None)
                accept_suggestion(engine, caller, named, asked)
            else:
                dismiss_suggestion(engine, caller, named, body(Dismissal, column=column, note=note))
        except (CatalogError, RequestRefused) as error:
            yield {"pattern": f"{key}.{column}", "reason": str(error)}


def _suggestions(
    request: Request,
    engine: Engine,
    caller: Caller,
    status: SuggestionStatus | None,
    dataset: str | None,
    cursor: str | None,
    *,
    done: str | None = None,
    refused: Sequence[dict[str, str]] = (),
) -> Response:
    found = answered(list_suggestions(engine, caller, dataset, status, cursor, _PER_PAGE))
    return page(
        request,
        "sensitive_suggestions.html",
        found=found,
        dataset_shown=dataset,
        status_shown=status,
        statuses=list(SuggestionStatus),
        done=done,
        refused=refused,
    )
