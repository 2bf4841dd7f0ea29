"""SLAs: the board of all objectives, and the page of one dataset or process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Path, Request
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller, Permission
from headrace.api.paging import Cursor
from headrace.api.slas import (
    Domain,
    Key,
    Kinds,
    Outage,
    Owner,
    SlaOrder,
    States,
    count_objectives,
    explain_forecast,
    list_incidents,
    list_outages,
    list_sla_statuses,
    plan_an_outage,
    show_sla_history,
)
from headrace.api.subjects import Database
from headrace.pages.downloads import csv_file
from headrace.pages.forms import FormTime, body
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer, acts
from headrace.pages.sla_calendar import OUTCOMES, by_objective, calendar_days
from headrace.slas.objectives import ObjectiveKind
from headrace.slas.queries import WORST_FIRST
from headrace.slas.wording import describe_objective

router = APIRouter(include_in_schema=False)
FormText = Annotated[str, Form(max_length=2000)]
_PER_PAGE = 50
_MAX_OBJECTIVES = 500  # of one dataset or process
_MAX_EXPORTED = 20_000  # rows of the CSV file
_MAX_EVENTS = 20  # newest outcomes and status changes
_YEAR = timedelta(days=365)
_FILTERS = (("kind", "Objective"), ("domain", "Domain"), ("owner", "Owner"))
_COLUMNS = (
    "key", "subject_type", "owners", "kind", "ordinal", "state", "since", "reason", "terms", "deadline", "partition",
    "met_at", "expected_at", "expected_from", "expected_to", "miss_probability", "waits_for", "waits_minutes",
)  # fmt: skip


@router.get("/slas")
def show_slas(
    request: Request,
    engine: Database,
    caller: Viewer,
    state: States = None,
    kind: Kinds = None,
    domain: Domain = None,
    owner: Owner = None,
    cursor: Cursor = None,
) -> Response:
    """Show the objectives that match the filters, the worst first, and how many there are by filter."""
    wanted: dict[str, Any] = {"state": state, "kind": kind, "domain": domain, "owner": owner}
    found = answered(
        list_sla_statuses(engine, caller, order=SlaOrder.WORST, cursor=cursor, limit=_PER_PAGE, **wanted)
    )
    counts = answered(count_objectives(engine, caller, **wanted))
    by_state = {each["value"]: each["count"] for each in counts if each["filter"] == "state"}
    return page(
        request,
        "slas.html",
        found=found,
        counts=counts,
        states=[(each, by_state[each]) for each in WORST_FIRST if each in by_state],
        total=sum(by_state.values()),
        matching=sum(number for each, number in by_state.items() if not state or each in state),
        filters=_FILTERS,
        outages=answered(list_outages(engine, caller)),
    )


@router.get("/slas.csv")
def export_slas(
    engine: Database,
    caller: Viewer,
    state: States = None,
    kind: Kinds = None,
    domain: Domain = None,
    owner: Owner = None,
) -> Response:
    """Return the objectives that match the filters as CSV, the worst first."""
    wanted: dict[str, Any] = {"state": state, "kind": kind, "domain": domain, "owner": owner}
    rows: list[list[Any]] = []
    cursor = None
    while len(rows) < _MAX_EXPORTED:
        found = answered(
            list_sla_statuses(
                engine, caller, order=SlaOrder.WORST, cursor=cursor, limit=_MAX_OBJECTIVES, **wanted
            )
        )
        rows += [[described[name] for name in _COLUMNS] for described in map(_described, found["items"])]
        cursor = found["next"]
        if cursor is None:
            break
    return csv_file("slas.csv", _COLUMNS, rows)


@router.get("/slas/explanation")
def show_explanation(request: Request, engine: Database, caller: Viewer, key: Key) -> Response:
    """Show what a dataset or process waits for, a part of its page."""
    return page(
        request, "sla_explanation.html", key=key, path=answered(explain_forecast(engine, caller, key))
    )


@router.post("/slas/outages")
def plan_outage_of(
    engine: Database,
    caller: Annotated[Caller, Depends(acts(Permission.ACKNOWLEDGE))],
    key: Annotated[str, Form(max_length=4000)],
    subjects: FormText,
    begins: FormTime,
    ends: FormTime,
    reason: FormText,
) -> Response:
    """Plan an outage."""
    now = datetime.now(UTC)
    show_sla_history(engine, caller, key, now, now, 1)  # before anything is planned: the key has a page
    asked = body(Outage, subjects=subjects, begins_at=begins, ends_at=ends, reason=reason)
    plan_an_outage(engine, caller, asked)
    return RedirectResponse(f"/slas/{quote(key)}#outages", HTTPStatus.SEE_OTHER)


@router.get("/slas/{key:path}")
def show_sla(
    request: Request, engine: Database, caller: Viewer, key: Annotated[str, Path(max_length=4000)]
) -> Response:
    """Show the SLA of a dataset or process: its objectives and how they were met."""
    now = datetime.now(UTC)
    history = answered(show_sla_history(engine, caller, key, now - _YEAR, now, _MAX_EVENTS))
    objectives = answered(list_sla_statuses(engine, caller, key=[key], limit=_MAX_OBJECTIVES))["items"]
    days = by_objective(history["days"])
    return page(
        request,
        "sla.html",
        key=key,
        objectives=[_described(each) for each in objectives],
        is_known={(each["kind"], each["ordinal"]) for each in objectives},
        history=history,
        calendars={each: calendar_days(days[each], now.date()) for each in days},
        months={each: _months(days[each]) for each in days},
        incidents=answered(list_incidents(engine, caller, key=key))["items"],
        outages=answered(list_outages(engine, caller, key)),
    )


def _described(objective: dict[str, Any]) -> dict[str, Any]:
    kind = ObjectiveKind(objective["kind"])
    return {
        **objective,
        "terms": describe_objective(kind, objective["definition"]),
        "timezone": objective["definition"].get("timezone"),
    }


def _months(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the numbers of outcomes by month, the newest first, and the share of deadlines that were met."""
    found: dict[str, dict[str, Any]] = {}
    for each in rows:
        month = found.setdefault(each["day"][:7], dict.fromkeys((name for _, name, _ in OUTCOMES), 0))
        for _, name, _ in OUTCOMES:
            month[name] += each[name]
    for name, month in found.items():
        due = month["met"] + month["met_late"] + month["missed"]
        month |= {
            "month": name,
            "deadlines": due + month["paused"],
            "kept": month["met"] / due if due else None,
        }
    return sorted(found.values(), key=lambda month: month["month"], reverse=True)
