"""The page of a run: what it did, from what, and why it failed."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from sqlalchemy import Engine
from starlette.responses import RedirectResponse, Response

from headrace.access.callers import Caller
from headrace.api.paging import cursor_of
from headrace.api.processes import find_runs_by_id, list_child_runs, list_runs, show_log, show_run
from headrace.api.subjects import Database, process_named
from headrace.catalog.records import Outcome
from headrace.context import current_context
from headrace.errors import UnknownProcess, UnknownRun
from headrace.pages.durations import durations
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer
from headrace.queries.process_detail import uuid_of

router = APIRouter(include_in_schema=False)
_MAX_BARS = 40
_MAX_CHILDREN = 200
_MAX_VERSIONS = 15  # read, and written, until all are wanted


@router.get("/runs/{run}")
def show_run_page(
    request: Request,
    engine: Database,
    caller: Viewer,
    run: Annotated[str, Path(max_length=100)],
    all: bool = False,
) -> Response:
    """Show the run with this id. For the beginning of an id, or a number, lead to its run, or list the runs."""
    run_id = uuid_of(run)
    answer = _answer(engine, caller, run_id) if run_id is not None else None
    if answer is None:
        found = answered(find_runs_by_id(engine, caller, run))
        if len(found) > 1:
            return page(request, "runs.html", runs=found, name=run)
        return RedirectResponse(f"/runs/{found[0]['run_id']}", HTTPStatus.SEE_OTHER)
    shown = answer["run"]
    shown["outputs"].sort(key=lambda each: each["outcome"] == Outcome.PUBLISHED)
    children = answered(list_child_runs(engine, caller, UUID(shown["run_id"]), limit=_MAX_CHILDREN + 1))
    return page(
        request,
        "run.html",
        run=shown,
        rows=sum(each["row_count"] or 0 for each in shown["outputs"]),
        limit=max(len(shown["inputs"]), len(shown["outputs"])) if all else _MAX_VERSIONS,
        facets=answer["facets"],
        datasets=answer["datasets"],
        parent=_parent(engine, caller, shown),
        children=children,
        max_children=_MAX_CHILDREN,
        durations=durations(_until(engine, caller, shown), shown["run_id"]),
        dagster=current_context().settings.dagster_url,
    )


@router.get("/runs/{run}/log")
def show_log_end(
    request: Request,
    engine: Database,
    caller: Viewer,
    run: UUID,
    attempt: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show the end of the log of an attempt, a part of the page of its run."""
    found = answered(show_log(engine, caller, run, attempt))
    return page(request, "run_log.html", log=found, run=run, attempt=attempt)


def _answer(engine: Engine, caller: Caller, run_id: UUID) -> Any:  # noqa: ANN401 - JSON
    """Return the API's answer about the run with this id; None for an id of a Dagster run."""
    found = answered(show_run(engine, caller, run_id))
    return found if found["run"]["run_id"] == str(run_id) else None


def _parent(engine: Engine, caller: Caller, run: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the run of the box, or None; the caller may not see it."""
    if run["parent_run_id"] is None:
        return None
    try:
        return answered(show_run(engine, caller, UUID(run["parent_run_id"])))["run"]
    except UnknownRun:
        return None


def _until(engine: Engine, caller: Caller, run: Any) -> list[Any]:  # noqa: ANN401 - JSON
    """Return this run of the process and those before it, newest first."""
    try:
        process = process_named(engine, caller, run["process_key"])
    except UnknownProcess:  # its runs are in the archive, and it has gone
        return [run]
    before = cursor_of(run["started_at"], run["run_id"])
    return [run, *answered(list_runs(engine, caller, process, cursor=before, limit=_MAX_BARS - 1))["items"]]
