"""Routes for processes and their runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from headrace.access.sensitivity import Public
from headrace.api.links import Links, links_to
from headrace.api.paging import MAX_PAGE_SIZE, Cursor, Limit, Page, cursor_of, place_of
from headrace.api.responses import shown
from headrace.api.subjects import Database, Process, Reader
from headrace.catalog.records import RunState, Technology
from headrace.context import current_context
from headrace.estates.next_runs import NextRun, next_run, next_scheduled_run
from headrace.files.logs import LogEnd, log_end
from headrace.http.problems import RequestRefused
from headrace.queries.facets import FacetRow, facets
from headrace.queries.process_detail import (
    ChildRun,
    NewestRun,
    ProcessDetail,
    ProcessSummary,
    RunRow,
    child_runs,
    newest_runs,
    process,
    process_page,
    process_runs,
)
from headrace.queries.rows import RunReport
from headrace.retention.run_facets import RunDataset, run_facets
from headrace.retention.run_reports import why as explain_run

if TYPE_CHECKING:
    from headrace.retention.history import PastRun

router = APIRouter(prefix="/api/v1")
_MAX_RUNS = 5  # runs shown with a process


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """A process, its newest runs, and its OpenLineage facets."""

    process: ProcessDetail
    newest_runs: list[RunRow]
    facets: Public[dict[str, FacetRow]]
    links: Links


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """A run with its attempts and versions; from OpenLineage events, its facets and its datasets with their use."""

    run: RunReport
    facets: Public[dict[str, FacetRow]]
    datasets: list[RunDataset]
    links: Links


@router.get("/process", summary="List processes", tags=["processes"], response_model=Page[ProcessSummary])
def list_processes(
    engine: Database,
    caller: Reader,
    q: Annotated[
        str, Query(max_length=500, description="Only with these words in key, description or owner.")
    ] = "",
    technology: Annotated[Technology | None, Query(description="Only processes of this technology.")] = None,
    lifecycle: Annotated[
        Literal["ACTIVE", "UNSCANNED", "RETIRED"] | None, Query(description="Only items with this status.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """List processes of every kind, ordered by key."""
    (after,) = place_of(cursor, tuple[str]) if cursor else ("",)
    rows = process_page(engine, q, technology=technology, lifecycle=lifecycle, after=after, limit=limit + 1)
    following = cursor_of(rows[limit - 1].key) if len(rows) > limit else None
    return shown(engine, caller, Page(items=rows[:limit], next=following))


@router.get(
    "/process/{process:key}/runs",
    summary="List a process's runs",
    tags=["processes"],
    response_model=Page[RunRow],
)
def list_runs(
    engine: Database,
    caller: Reader,
    process_id: Process,
    state: Annotated[RunState | None, Query(description="Only runs with this status.")] = None,
    archived: Annotated[bool, Query(description="Include archived runs.")] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List runs, newest first."""
    before = place_of(cursor, tuple[datetime, UUID]) if cursor else None
    about = process(engine, process_id).key
    if archived:
        from headrace.retention.history import (
            runs,  # imported here, because Parquet's reader is slow to import
        )

        past = runs(engine, process=about, state=state, before=before, limit=limit + 1)
        rows = [_run_row(each) for each in past]
    else:
        rows = process_runs(engine, process_id, state=state, before=before, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    following = cursor_of(last.started_at, last.run_id) if last else None
    return shown(engine, caller, Page(items=rows[:limit], next=following), about)


@router.get(
    "/process/{process:key}/next-run",
    summary="Forecast the next run of a process",
    tags=["processes"],
    response_model=NextRun | None,
)
def show_next_run(engine: Database, caller: Reader, process_id: Process) -> Response:
    """Forecast when a scanned process next starts and finishes, and why, from its schedule, an Autosys job's conditions
    and the runs of the last 90 days; null for a process without a schedule."""
    about = process(engine, process_id)
    now = datetime.now(UTC)
    found = (
        next_run(engine, about.instance, about.external_name, now)
        if about.technology == Technology.AUTOSYS and about.external_name is not None
        else next_scheduled_run(engine, process_id, now)
    )
    return shown(engine, caller, found, about.key)


@router.get(
    "/process/{process:path}", summary="Show a process", tags=["processes"], response_model=ProcessAnswer
)
def show_process(engine: Database, caller: Reader, process_id: Process) -> Response:
    """Show a process: inputs, outputs, code, newest runs, and OpenLineage facets."""
    found = process(engine, process_id)
    answer = ProcessAnswer(
        process=found,
        newest_runs=process_runs(engine, process_id, limit=_MAX_RUNS),
        facets=facets(engine, "PROCESS", process_id),
        links=links_to("processes", found.key),
    )
    return shown(engine, caller, answer, answer.process.key)


@router.get("/run", summary="Find runs by an id", tags=["processes"], response_model=list[RunReport])
def find_runs_by_id(
    engine: Database,
    caller: Reader,
    run: Annotated[
        str,
        Query(
            min_length=1,
            max_length=100,
            description="A run's id or its beginning, a Dagster run's id, or a scheduler's run number.",
        ),
    ],
) -> Response:
    """Show the run with this id or number; of a Dagster run, all its runs."""
    return shown(engine, caller, list(explain_run(engine, run)))


@router.get(
    "/run/newest",
    summary="Show the newest runs of processes",
    tags=["processes"],
    response_model=list[NewestRun],
)
def show_newest_runs(
    engine: Database,
    caller: Reader,
    process: Annotated[
        list[UUID] | None, Query(max_length=MAX_PAGE_SIZE, description="Of these processes, by id.")
    ] = None,
) -> Response:
    """Show the newest run of each of some processes."""
    return shown(engine, caller, newest_runs(engine, process or ()))


@router.get(
    "/run/{run_id}/children",
    summary="List the runs within a run",
    tags=["processes"],
    response_model=list[ChildRun],
)
def list_child_runs(
    engine: Database,
    caller: Reader,
    run_id: Annotated[UUID, Path(description="The run's id.")],
    limit: Limit = 100,
) -> Response:
    """List the runs of a box's jobs within a run of the box, by start."""
    explain_run(engine, run_id)
    return shown(engine, caller, child_runs(engine, run_id, limit))


@router.get(
    "/run/{run_id}/log",
    summary="Show the end of a run's log",
    tags=["processes"],
    response_model=LogEnd,
)
def show_log(
    engine: Database,
    caller: Reader,
    run_id: Annotated[UUID, Path(description="The run's id.")],
    attempt: Annotated[
        int | None, Query(ge=0, description="Of this attempt; of the last one if not given.")
    ] = None,
) -> Response:
    """Show the last 64 kB of a log in one of the folders of the setting log_folders, or why it cannot be shown."""
    run = explain_run(engine, run_id)[0]
    logs = {each.number: each.log_location for each in run.attempts}
    if attempt is not None and attempt not in logs:
        raise RequestRefused(HTTPStatus.NOT_FOUND, f"the run has no attempt {attempt}", field="query.attempt")
    reported = [location for location in logs.values() if location is not None]
    location = logs[attempt] if attempt is not None else reported[-1] if reported else None
    return shown(engine, caller, log_end(location, current_context().settings.log_folders), run.process_key)


@router.get("/run/{run_id}", summary="Show a run", tags=["processes"], response_model=RunAnswer)
def show_run(
    engine: Database, caller: Reader, run_id: Annotated[UUID, Path(description="The run's id.")]
) -> Response:
    """Show a run: inputs, outputs, attempts with failure reasons, and log location."""
    run = explain_run(engine, run_id)[0]
    openlineage = run_facets(engine, run)
    answer = RunAnswer(
        run=run,
        facets=openlineage.facets,
        datasets=openlineage.datasets,
        links=links_to("runs", str(run.run_id), dagster_run=run.root_dagster_run_id),
    )
    return shown(engine, caller, answer, run.process_key)


def _run_row(past: PastRun) -> RunRow:
    return RunRow(
        run_id=past.run_id,
        state=past.state,
        started_at=past.started_at,
        ended_at=past.ended_at,
        attempt=past.attempt,
        partitions=past.partitions,
        parent_run_id=past.parent_run_id,
        log_location=past.log_location,
        historical=past.historical,
        external_run=past.external_run,
    )
