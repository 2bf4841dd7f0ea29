"""Routes for SLAs: status, history, forecasts, incidents, planned outages, and a calendar feed of deadlines."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.responses import Response

from headrace.access.callers import Caller, Permission, domain_of
from headrace.api.links import Links, links_to
from headrace.api.paging import Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Reader
from headrace.context import without_row_security
from headrace.errors import Forbidden, UnknownSla
from headrace.http.problems import RequestRefused
from headrace.http.security import requires
from headrace.queries.processes import visible_processes
from headrace.registration.registrations import StorableText as Text
from headrace.slas.explanation import Step, critical_path
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.outages import PlannedOutage, plan_outage, planned_outages
from headrace.slas.queries import (
    Incident,
    IncidentDetail,
    ObjectivePlace,
    SlaCount,
    SlaHistory,
    SlaObjectiveStatus,
    incident,
    incidents,
    sla_counts,
    sla_history,
    sla_statuses,
)
from headrace.slas.status import SlaStatus

router = APIRouter(prefix="/api/v1")
_QUARTER = timedelta(days=91)
_WILDCARDS = set("*?[")


class SlaOrder(StrEnum):
    """The order of a list of objectives."""

    KEY = "KEY"
    WORST = "WORST"  # by status, then by deadline


@dataclass(frozen=True, slots=True)
class LinkedIncident(IncidentDetail):
    """An incident, and those that were merged into it."""

    links: Links


class Outage(BaseModel):
    """A planned outage. subjects: keys of datasets and processes, as a pattern in which `*` matches any text."""

    model_config = ConfigDict(extra="forbid")

    subjects: Annotated[Text, Field(min_length=1, max_length=1000)]
    begins_at: AwareDatetime
    ends_at: AwareDatetime
    reason: Annotated[Text, Field(min_length=1, max_length=500)]


Domain = Annotated[str | None, Query(max_length=1000, description="Only of this domain.")]
Owner = Annotated[str | None, Query(max_length=1000, description="Only of this owner.")]
States = Annotated[list[SlaStatus] | None, Query(alias="state", description="Only items with this status.")]
Kinds = Annotated[
    list[ObjectiveKind] | None, Query(alias="kind", description="Only objectives of these kinds.")
]
Key = Annotated[str, Query(max_length=4000, description="The key of a dataset or process.")]


@router.get(
    "/sla/status", summary="List SLA statuses", tags=["slas"], response_model=Page[SlaObjectiveStatus]
)
def list_sla_statuses(
    engine: Database,
    caller: Reader,
    state: States = None,
    kind: Kinds = None,
    key: Annotated[list[str] | None, Query(description="Only of these datasets and processes.")] = None,
    domain: Domain = None,
    owner: Owner = None,
    order: Annotated[SlaOrder, Query(description="By key; or by status, the worst first, and deadline.")] = (
        SlaOrder.KEY
    ),
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """List SLA objectives with their status at the last evaluation and their forecast."""
    place = place_of(cursor, tuple[SlaStatus, AwareDatetime | None, str, str, int]) if cursor else None
    rows = sla_statuses(
        engine,
        state or (),
        kind or (),
        keys=key or (),
        domain=domain,
        owner=owner,
        worst_first=order is SlaOrder.WORST,
        after=ObjectivePlace(*place) if place else None,
        limit=limit + 1,
    )
    last = rows[limit - 1] if len(rows) > limit else None
    following = (
        cursor_of(*astuple(ObjectivePlace(last.state, last.deadline, last.key, last.kind, last.ordinal)))
        if last
        else None
    )
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get("/sla/counts", summary="Count objectives by filter", tags=["slas"], response_model=list[SlaCount])
def count_objectives(
    engine: Database,
    caller: Reader,
    state: States = None,
    kind: Kinds = None,
    domain: Domain = None,
    owner: Owner = None,
) -> Response:
    """Count SLA objectives by status, kind, domain and owner, each under the other filters; the 50 most frequent."""
    return shown(engine, caller, sla_counts(engine, state or (), kind or (), domain=domain, owner=owner))


@router.get("/sla/history", summary="Show SLA history", tags=["slas"], response_model=SlaHistory)
def show_sla_history(
    engine: Database,
    caller: Reader,
    key: Key,
    since: Annotated[AwareDatetime | None, Query(description="From this time. Default: 91 days ago.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="To this time. Default: now.")] = None,
    limit: Limit = 50,
) -> Response:
    """Show how often the objectives of a dataset or process were met and by what margin; newest outcomes and
    changes."""
    end = until or datetime.now(UTC)
    return shown(engine, caller, sla_history(engine, key, since or end - _QUARTER, end, limit), key)


@router.get("/sla/explanation", summary="Explain a forecast", tags=["slas"], response_model=list[Step])
def explain_forecast(engine: Database, caller: Reader, key: Key) -> Response:
    """Show the critical path: what the dataset or process waits for, with the forecast of each step.

    Empty if it has arrived, or too little is known. Steps that the caller may not see are left out.
    """
    objectives = sla_statuses(engine, keys=[key])
    if not objectives:
        raise UnknownSla(f"{key} has no SLA: GET /api/v1/sla/status lists those with one")
    zone = next((each.definition["timezone"] for each in objectives if "timezone" in each.definition), "UTC")
    with without_row_security():  # the forecast of a step depends on everything before it
        path = critical_path(engine, key, zone, datetime.now(UTC))
    processes = visible_processes(engine, [each.key for each in path if each.subject_type == "PROCESS"])
    steps = [
        each
        for each in path
        if (
            each.key in processes if each.subject_type == "PROCESS" else caller.may(Permission.READ, each.key)
        )
    ]
    return shown(engine, caller, steps)


@router.get("/sla/outages", summary="List planned outages", tags=["slas"], response_model=list[PlannedOutage])
def list_outages(
    engine: Database,
    caller: Reader,
    key: Annotated[
        str | None, Query(max_length=4000, description="Only outages of this dataset or process.")
    ] = None,
) -> Response:
    """List the outages that have not ended, the next first."""
    with without_row_security():  # a pattern belongs to no dataset
        found = planned_outages(engine, datetime.now(UTC), key)
    return shown(engine, caller, [each for each in found if _concerns(caller, each.subjects)])


@router.post("/sla/outages", summary="Plan an outage", tags=["slas"], response_model=list[PlannedOutage])
def plan_an_outage(
    engine: Database, caller: Annotated[Caller, Depends(requires(Permission.ACKNOWLEDGE))], outage: Outage
) -> Response:
    """Pause the SLAs of the keys that match a pattern for a period, and return their planned outages.

    A pattern that may match keys of several domains requires the permission in all domains.
    """
    if _WILDCARDS.isdisjoint(domain_of(outage.subjects)):
        caller.require(Permission.ACKNOWLEDGE, outage.subjects)
    elif (scope := caller.scope(Permission.ACKNOWLEDGE)) is None or scope.domains is not None:
        raise Forbidden(
            f"{outage.subjects} may match keys of any domain: begin it with a domain in which you have the "
            f"permission {Permission.ACKNOWLEDGE}, such as mart/*"
        )
    with without_row_security():  # the caller has the permission for every key that matches
        try:
            plan_outage(
                engine, outage.subjects, outage.begins_at, outage.ends_at, outage.reason, caller.subject
            )
        except ValueError as error:
            raise RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), field="body.ends_at") from error
        found = planned_outages(engine, datetime.now(UTC))
    return shown(engine, caller, [each for each in found if each.subjects == outage.subjects])


def _concerns(caller: Caller, subjects: str) -> bool:
    """Return True if the pattern may match a key that the caller may read."""
    scope = caller.scope(Permission.READ)
    return scope is not None and (
        scope.domains is None
        or any(fnmatchcase(each, domain_of(subjects)) for each in scope.domains)
        or any(fnmatchcase(each, subjects) for each in scope.datasets)
    )


@router.get("/sla/incidents", summary="List incidents", tags=["slas"], response_model=Page[Incident])
def list_incidents(
    engine: Database,
    caller: Reader,
    closed: Annotated[bool, Query(description="Include closed ones.")] = False,
    key: Annotated[
        str | None,
        Query(max_length=4000, description="Only incidents that involve this dataset or process."),
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List incidents, newest first: the cause, the affected members, and datasets downstream."""
    before = place_of(cursor, tuple[AwareDatetime, UUID]) if cursor else None
    rows = incidents(engine, open_only=not closed, key=key, before=before, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.opened_at, last.incident_id) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get(
    "/sla/incidents/{incident_id}", summary="Show an incident", tags=["slas"], response_model=LinkedIncident
)
def show_incident(
    engine: Database, caller: Reader, incident_id: Annotated[UUID, Path(description="The incident's id.")]
) -> Response:
    """Show an incident: the cause, the affected members, datasets downstream, and the incidents merged into it."""
    found = incident(engine, incident_id)
    links = links_to("incidents", str(incident_id))
    return shown(engine, caller, LinkedIncident(found.incident, found.parts, links))


@router.get(
    "/sla/deadlines.ics",
    summary="Subscribe to deadlines",
    tags=["slas"],
    response_class=Response,
    responses={200: {"content": {"text/calendar": {"schema": {"type": "string"}}}}},
)
def subscribe_to_deadlines(
    engine: Database,
    _: Reader,
    domain: Domain = None,
    owner: Owner = None,
    days: Annotated[int, Query(ge=1, le=92, description="Number of days ahead.")] = 14,
) -> Response:
    """Return the deadlines of the next days as an iCalendar file, 2,000 at most."""
    from headrace.slas.calendar_feed import deadline_feed

    feed = deadline_feed(engine, datetime.now(UTC), timedelta(days=days), domain=domain, owner=owner)
    return Response(feed, media_type="text/calendar")
