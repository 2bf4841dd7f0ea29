"""A dataset at a glance, its checks, who may see it, and who changed it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BeforeValidator
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller, Permission
from headrace.api.access import show_dataset_access
from headrace.api.audit import list_audit
from headrace.api.datasets.datasets import (
    list_quality,
    show_dataset,
)
from headrace.api.datasets.proposed_changes import list_proposed_changes
from headrace.api.datasets.sensitive import show_sensitive
from headrace.api.lineage import show_impact
from headrace.api.paging import Cursor
from headrace.api.processes import list_runs
from headrace.api.slas import list_incidents, show_sla_history
from headrace.api.subjects import Database, process_named
from headrace.catalog.records import CheckStatus
from headrace.errors import UnknownProcess, UnknownSla
from headrace.pages.datasets.subject import Dataset, published_version, view
from headrace.pages.forms import none_if_empty
from headrace.pages.rendering import answered
from headrace.pages.sessions import Viewer, signed_in
from headrace.pages.sla_calendar import WEEKS, CalendarDay, by_objective, calendar_days
from headrace.queries.names import DatasetRef

router = APIRouter(include_in_schema=False)
_MAX_PRODUCERS = 5  # whose runs are shown
_MAX_RUNS = 5


@router.get("/datasets/{dataset:key}/checks")
def show_checks(
    request: Request,
    engine: Database,
    caller: Viewer,
    dataset: Dataset,
    status: Annotated[CheckStatus | None, BeforeValidator(none_if_empty)] = None,
    cursor: Cursor = None,
) -> Response:
    """Show the checks and their results, those of the newest versions first. status: only those with this result."""
    results = answered(list_quality(engine, caller, dataset, status=status, cursor=cursor))
    newest = results if cursor is None and status is None else answered(list_quality(engine, caller, dataset))
    history = defaultdict(list)
    for each in reversed(newest["items"]):
        history[each["name"]].append(each["status"])
    return view(
        request,
        engine,
        caller,
        dataset,
        "checks",
        results=results,
        history=history,
        status_wanted=status,
        statuses=list(CheckStatus),
    )


@router.get("/datasets/{dataset:key}/changes")
def show_changes(
    request: Request,
    engine: Database,
    caller: Annotated[Caller, Depends(signed_in(Permission.AUDIT))],
    dataset: Dataset,
    cursor: Cursor = None,
) -> Response:
    """Show who changed the dataset, and who read sensitive values of it."""
    entries = answered(list_audit(engine, caller, of=dataset.key, cursor=cursor))
    return view(request, engine, caller, dataset, "changes", entries=entries)


@router.get("/datasets/{dataset:key}/access")
def show_access(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show why the caller sees the dataset; to administrators, who else may see it and why."""
    access = answered(show_dataset_access(engine, caller, dataset))
    sensitive = answered(show_sensitive(engine, caller, dataset))["columns"]
    return view(request, engine, caller, dataset, "access", access=access, sensitive=sensitive)


@router.get("/datasets/{dataset:path}")
def show_dataset_page(request: Request, engine: Database, caller: Viewer, dataset: Dataset) -> Response:
    """Show what a dataset is, whether it is fresh, what it is made from and who uses it."""
    about = answered(show_dataset(engine, caller, dataset))
    return view(
        request,
        engine,
        caller,
        dataset,
        "overview",
        version=published_version(engine, caller, dataset, about),
        incidents=answered(list_incidents(engine, caller, key=dataset.key))["items"],
        readers=answered(show_impact(engine, caller, dataset, depth=1)),
        calendars=_calendars(engine, caller, dataset),
        proposed=answered(list_proposed_changes(engine, caller, dataset))["items"],
        runs=_last_runs(engine, caller, about["dataset"]["producers"]),
        about=about,
    )


def _calendars(
    engine: Engine, caller: Caller, dataset: DatasetRef
) -> dict[tuple[str, int], list[CalendarDay]]:
    """Return the last weeks of each objective of the dataset."""
    now = datetime.now(UTC)
    try:
        history = answered(
            show_sla_history(engine, caller, dataset.key, now - timedelta(weeks=WEEKS), now, 1)
        )
    except UnknownSla:
        return {}
    days = by_objective(history["days"])
    return {each: calendar_days(days[each], now.date()) for each in days}


def _last_runs(engine: Engine, caller: Caller, producers: Sequence[str]) -> list[dict[str, Any]]:
    """Return the last runs of the processes that write the dataset, the newest first, each with its process."""
    runs = []
    for process in producers[:_MAX_PRODUCERS]:
        try:
            process_id = process_named(engine, caller, process)
        except UnknownProcess:  # the caller may not see it
            continue
        found = answered(list_runs(engine, caller, process_id, limit=_MAX_RUNS))["items"]
        runs += [{**each, "process": process} for each in found]
    return sorted(runs, key=lambda each: str(each["started_at"]), reverse=True)[:_MAX_RUNS]
