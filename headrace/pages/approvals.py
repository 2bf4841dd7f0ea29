"""Approvals: registrations of datasets, and candidates of scans of legacy jobs, decided one by one or in bulk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from pydantic import Field
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.candidates import (
    CandidateDecision,
    Decisions,
    decide_candidates,
    list_candidates,
)
from headrace.api.datasets.registrations import (
    Answer,
    Rejection,
    approve_registration,
    list_registrations,
    reject_registration,
    show_registration,
)
from headrace.api.paging import Cursor
from headrace.api.subjects import Database
from headrace.errors import CatalogError
from headrace.estates.candidates import Status
from headrace.http.problems import RequestRefused
from headrace.pages.forms import body
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import acts, signed_in
from headrace.registration.registrations import RegistrationStatus

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
_VARIABLE = re.compile(r"\$+\{?\w+\}?|%\w+%?|\{\w+\}|\d{6,}")
Reviewer = Annotated[Caller, Depends(acts(Permission.REVIEW))]
Viewer = Annotated[Caller, Depends(signed_in(Permission.REVIEW))]
Text = Annotated[str, Form(max_length=2000)]
Place = Annotated[int, Field(ge=0)]


@router.get("/approvals")
def show_registrations(
    request: Request,
    engine: Database,
    caller: Viewer,
    status: RegistrationStatus | None = RegistrationStatus.PENDING,
    cursor: Cursor = None,
) -> Response:
    """Show the registrations that wait for a decision, or those that were decided."""
    return _registrations(request, engine, caller, status, cursor)


@router.post("/approvals")
def review_registrations(
    request: Request,
    engine: Database,
    caller: Reviewer,
    decision: Annotated[Literal["approve", "reject"], Form()],
    chosen: Annotated[list[UUID], Form(max_length=500)] = [],  # noqa: B006 - FastAPI copies it
    comment: Text = "",
) -> Response:
    """Approve or reject the chosen registrations. One that is refused does not stop the others."""
    refused = list(_review(engine, caller, decision, chosen, comment))
    return _registrations(
        request,
        engine,
        caller,
        RegistrationStatus.PENDING,
        None,
        done=f"{len(chosen) - len(refused)} {'approved' if decision == 'approve' else 'rejected'}",
        refused=refused,
    )


@router.get("/approvals/candidates")
def show_candidates(
    request: Request,
    engine: Database,
    caller: Viewer,
    status: Status | None = Status.PENDING,
    cursor: Cursor = None,
) -> Response:
    """Show the candidates with their evidence, the most probable first."""
    return _candidates(request, engine, caller, status, cursor)


@router.post("/approvals/candidates")
def review_candidates(
    request: Request,
    engine: Database,
    caller: Reviewer,
    decision: Annotated[Literal["confirm", "reject"], Form()],
    pattern: Annotated[list[str], Form(max_length=500)],
    instance: Annotated[list[str], Form(max_length=500)],
    dataset: Annotated[list[str], Form(max_length=500)],
    owner: Annotated[list[str], Form(max_length=500)],
    chosen: Annotated[set[Place], Form(max_length=500)] = set(),  # noqa: B006 - FastAPI copies it
    domain: Text = "",
    owners: Text = "",
) -> Response:
    """Confirm or reject the chosen candidates; `chosen` are their places in the other fields.

    domain: of those without a dataset, which get a name from their pattern. owners: of those without owners.
    """
    if not len(pattern) == len(instance) == len(dataset) == len(owner) > max(chosen, default=-1):
        raise RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, "the form is incomplete: open its page again")
    keys = [
        key.strip() or (f"{domain.strip()}/{_proposed_name(each)}" if domain.strip() else "")
        for key, each in zip(dataset, pattern, strict=True)
    ]
    named = Counter(keys[place] for place in chosen)
    decisions, refused = [], []
    for place in sorted(chosen):
        if decision == "confirm" and not dataset[place].strip() and named[keys[place]] > 1 and keys[place]:
            reason = f"several of the chosen would be {keys[place]}: give each a dataset"
            refused.append({"pattern": pattern[place], "reason": reason})
            continue
        try:
            decisions.append(
                _decision(decision, pattern[place], instance[place], keys[place], owner[place] or owners)
            )
        except RequestRefused as error:
            refused.append({"pattern": pattern[place], "reason": str(error)})
    answer: dict[str, Any] = {"applied": 0, "refused": []}
    if decisions:
        answer = answered(decide_candidates(engine, caller, Decisions(decisions=decisions)))
    done = f"{answer['applied']} {'confirmed' if decision == 'confirm' else 'rejected'}"
    return _candidates(
        request, engine, caller, Status.PENDING, None, done=done, refused=[*refused, *answer["refused"]]
    )


def _decision(
    decision: Literal["confirm", "reject"], pattern: str, instance: str, dataset: str, owners: str
) -> CandidateDecision:
    """Return a decision. Raises RequestRefused for a dataset that is not `domain/name`."""
    return body(
        CandidateDecision,
        pattern=pattern,
        instance=instance,
        decision=decision,
        dataset=dataset if decision == "confirm" else None,
        owners=[each.strip() for each in owners.split(",") if each.strip()],
    )


def _proposed_name(pattern: str) -> str:
    """Return a name for the dataset of files or a table: the last part of the pattern, without variables and dates."""
    path = PurePosixPath(pattern)
    last = pattern.rpartition(".")[2] if pattern.startswith("db2:") else path.name.partition(".")[0]
    return "_".join(re.findall(r"[a-z0-9]+", _VARIABLE.sub("", last).lower()))


def _review(
    engine: Engine,
    caller: Caller,
    decision: Literal["approve", "reject"],
    chosen: Sequence[UUID],
    comment: str,
) -> Iterator[dict[str, str]]:
    """Review registrations; yield those that were refused, with the reason."""
    for registration_id in chosen:
        try:
            if decision == "approve":
                approve_registration(engine, caller, registration_id, body(Answer, comment=comment or None))
            else:
                reject_registration(engine, caller, registration_id, body(Rejection, comment=comment))
        except (CatalogError, RequestRefused) as error:
            yield {"pattern": _dataset_of(engine, caller, registration_id), "reason": str(error)}


def _dataset_of(engine: Engine, caller: Caller, registration_id: UUID) -> str:
    """Return the dataset of a registration; the id of one that the caller may not see."""
    try:
        return str(answered(show_registration(engine, caller, registration_id))["dataset"])
    except CatalogError:
        return str(registration_id)


def _registrations(
    request: Request,
    engine: Engine,
    caller: Caller,
    status: RegistrationStatus | None,
    cursor: str | None,
    *,
    done: str | None = None,
    refused: Sequence[dict[str, str]] = (),
) -> Response:
    found = answered(list_registrations(engine, caller, status, cursor, _PER_PAGE))
    return page(
        request,
        "registrations.html",
        found=found,
        status_shown=status,
        statuses=list(RegistrationStatus),
        done=done,
        refused=refused,
    )


def _candidates(
    request: Request,
    engine: Engine,
    caller: Caller,
    status: Status | None,
    cursor: str | None,
    *,
    done: str | None = None,
    refused: Sequence[dict[str, str]] = (),
) -> Response:
    found = answered(list_candidates(engine, caller, status, cursor, _PER_PAGE))
    return page(
        request,
        "candidates.html",
        found=found,
        status_shown=status,
        statuses=list(Status),
        names=[_proposed_name(each["pattern"]) for each in found["items"]],
        done=done,
        refused=refused,
    )
