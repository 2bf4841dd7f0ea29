"""Routes for candidate datasets, which a scan of legacy jobs has found: list and decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.access.sensitivity import Public, Sensitive
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database
from headrace.estates.candidates import CandidateRow, Decision, Status, candidates, decide_each
from headrace.estates.review import Key, by_confidence, confidence, format_of
from headrace.http.security import requires
from headrace.registration.registrations import StorableText as Text

router = APIRouter(prefix="/api/v1", tags=["datasets"])
REVIEW = requires(Permission.REVIEW)
Reviewer = Annotated[Caller, Depends(REVIEW)]
MAX_DECISIONS = 500  # in one request


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a process seems to use a candidate. direction: `reads` or `writes`; place: file and line of the scan."""

    process: Public[str]
    direction: Public[str]
    attribute: Public[str]
    excerpt: Annotated[str, Sensitive.SOURCE]
    confidence: float
    place: Public[str | None]


@dataclass(frozen=True, slots=True)
class CandidateAnswer:
    """Files or a table that processes seem to use, with the evidence. dataset: that of a confirmed one."""

    pattern: Public[str]
    instance: Public[str]
    status: Status
    confidence: float
    format: Public[str]
    dataset: Public[str | None]
    decided_by: Public[str | None]
    decided_at: datetime | None
    evidence: tuple[Evidence, ...]


class CandidateDecision(BaseModel):
    """A decision. dataset: the key of a confirmed one, `domain/name`."""

    model_config = ConfigDict(extra="forbid")

    pattern: Annotated[Text, Field(min_length=1, max_length=4000)]
    instance: Annotated[Text, Field(max_length=300)] = ""
    decision: Literal["confirm", "reject", "pending"]
    dataset: Key | None = None
    format: Annotated[Text, Field(min_length=1, max_length=300)] | None = None
    owners: Annotated[list[Annotated[Text, Field(min_length=1, max_length=300)]], Field(max_length=100)] = []


class Decisions(BaseModel):
    """Decisions about candidates, each for itself."""

    model_config = ConfigDict(extra="forbid")

    decisions: Annotated[list[CandidateDecision], Field(min_length=1, max_length=MAX_DECISIONS)]


@dataclass(frozen=True, slots=True)
class RefusedDecision:
    """A decision that was not applied, and why."""

    pattern: Public[str]
    reason: Public[str]


@dataclass(frozen=True, slots=True)
class DecisionsAnswer:
    """The number of decisions that changed something, and those that were refused."""

    applied: int
    refused: tuple[RefusedDecision, ...]


@router.get("/candidate", summary="List candidate datasets", response_model=Page[CandidateAnswer])
def list_candidates(
    engine: Database,
    caller: Reviewer,
    status: Annotated[Status | None, Query(description="Only candidates with this status.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List candidates, the most probable first."""
    (skip,) = place_of(cursor, tuple[Annotated[int, Field(ge=0)]]) if cursor else (0,)
    rows = by_confidence(candidates(engine, status))
    following = cursor_of(skip + limit) if len(rows) > skip + limit else None
    items = [_answer(row) for row in rows[skip : skip + limit]]
    return shown(engine, caller, Page(items=items, next=following))


@router.post("/candidate/decide", summary="Decide about candidates", response_model=DecisionsAnswer)
def decide_candidates(engine: Database, caller: Reviewer, asked: Decisions) -> Response:
    """Confirm or reject candidates. One that cannot be decided does not stop the others."""
    refused: list[RefusedDecision] = []
    decisions: list[Decision] = []
    for each in asked.decisions:
        if each.decision == "confirm" and each.dataset is None:
            refused.append(RefusedDecision(each.pattern, "a confirmed candidate needs a dataset"))
            continue
        if each.dataset is not None:
            caller.require(Permission.REVIEW, each.dataset)
        decisions.append(_decision(each))
    applied, others = decide_each(engine, decisions, caller.subject)
    refused += [RefusedDecision(decision.pattern, str(error)) for decision, error in others]
    return shown(engine, caller, DecisionsAnswer(applied, tuple(refused)))


def _decision(asked: CandidateDecision) -> Decision:
    status = {"confirm": Status.CONFIRMED, "reject": Status.REJECTED}.get(asked.decision, Status.PENDING)
    return Decision(
        pattern=asked.pattern,
        status=status,
        instance=asked.instance,
        dataset=asked.dataset if status is Status.CONFIRMED else None,
        format=asked.format or format_of(asked.pattern),
        owners=tuple(asked.owners),
    )


def _answer(row: CandidateRow) -> CandidateAnswer:
    return CandidateAnswer(
        pattern=row.pattern,
        instance=row.instance,
        status=row.status,
        confidence=confidence(row),
        format=format_of(row.pattern),
        dataset=row.dataset,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        evidence=tuple(
            Evidence(each.name, each.direction, each.attribute, each.excerpt, each.confidence, each.place)
            for each in row.evidence
        ),
    )
