"""Browse processes, and the page of one: what starts it, what it reads and writes, its runs and its next one."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy import Engine
from starlette.responses import Response

from headrace.access.callers import Caller
from headrace.api.lineage import Way, show_process_lineage
from headrace.api.paging import Cursor
from headrace.api.processes import (
    list_processes,
    list_runs,
    show_newest_runs,
    show_next_run,
    show_process,
)
from headrace.api.slas import list_sla_statuses
from headrace.api.subjects import Database, Process, process_named
from headrace.autosys import condition_in_words
from headrace.autosys.conditions import ConditionError, parse
from headrace.catalog.records import RunState, Technology
from headrace.pages.durations import durations
from headrace.pages.rendering import answered, page
from headrace.pages.sessions import Viewer

router = APIRouter(include_in_schema=False)
_PER_PAGE = 50
_MAX_RUNS = 25
_MAX_BARS = 60
_MAX_NEIGHBOURS = 20  # of each list, until all are wanted
_BETWEEN_CONDITIONS = re.compile(r",\s+(?=\w+\s*\()")

Words = Annotated[str, Query(max_length=500)]


@router.get("/processes")
def show_processes(
    request: Request,
    engine: Database,
    caller: Viewer,
    q: Words = "",
    technology: Technology | Literal[""] = "",
    lifecycle: Literal["ACTIVE", "UNSCANNED", "RETIRED"] | None = None,
    cursor: Cursor = None,
) -> Response:
    """Show the processes with these words, by key."""
    wanted = Technology(technology) if technology else None
    found = answered(
        list_processes(
            engine, caller, q, technology=wanted, lifecycle=lifecycle, cursor=cursor, limit=_PER_PAGE
        )
    )
    newest = answered(show_newest_runs(engine, caller, [UUID(each["process_id"]) for each in found["items"]]))
    return page(
        request,
        "processes.html",
        found=found,
        runs={each["process_id"]: each for each in newest},
        q=q,
        technologies=list(Technology),
    )


@router.get("/processes/{process:path}")
def show_process_page(
    request: Request,
    engine: Database,
    caller: Viewer,
    process: str,
    state: RunState | Literal[""] = "",
    cursor: Cursor = None,
    show: Literal["next"] | None = None,
    all: bool = False,
) -> Response:
    """Show a process. show: only its next run, which takes longer to find out."""
    process_id = process_named(engine, caller, process)
    answer = answered(show_process(engine, caller, process_id))
    about = answer["process"]
    if show == "next":
        expected = answered(show_next_run(engine, caller, process_id))
        return page(request, "process_next.html", process=about, expected=expected)
    wanted = RunState(state) if state else None
    return page(
        request,
        "process.html",
        process=about,
        condition=_condition(about["metadata"]),
        facets=answer["facets"],
        objectives=_objectives(engine, caller, about["key"]),
        before=_neighbours(engine, caller, process_id, Way.UPSTREAM),
        after=_neighbours(engine, caller, process_id, Way.DOWNSTREAM),
        durations=durations(answered(list_runs(engine, caller, process_id, limit=_MAX_BARS))["items"]),
        runs=answered(list_runs(engine, caller, process_id, state=wanted, cursor=cursor, limit=_MAX_RUNS)),
        state=state,
        states=list(RunState),
        limit=None if all else _MAX_NEIGHBOURS,
    )


def _objectives(engine: Engine, caller: Caller, key: str) -> list[Any]:
    found = answered(list_sla_statuses(engine, caller, key=[key]))["items"]
    return [each for each in found if each["subject_type"] == "PROCESS"]


def _neighbours(engine: Engine, caller: Caller, process: Process, way: Way) -> list[dict[str, str]]:
    """Return the processes that this one waits for, or that wait for it, with the condition in words."""
    walk = answered(show_process_lineage(engine, caller, process, way, depth=1))
    nodes = {node["id"]: node for node in walk["nodes"]}
    far = "source" if way is Way.UPSTREAM else "target"
    found = [
        {"key": nodes[edge[far]]["key"], "condition": _conditions_in_words(edge["condition"])}
        for edge in walk["edges"]
        if nodes[edge[far]]["kind"] == "PROCESS"
    ]
    return sorted(found, key=lambda each: each["key"])


def _condition(metadata: Any) -> str | None:  # noqa: ANN401 - JSON
    """Return the whole condition of a job in words, if the caller may see it."""
    text = metadata.get("condition") if isinstance(metadata, dict) else None
    return _conditions_in_words(text) if isinstance(text, str) else None


def _conditions_in_words(text: str | None) -> str:
    return ", ".join(_in_words(each) for each in _BETWEEN_CONDITIONS.split(text or ""))


def _in_words(text: str) -> str:
    try:
        return condition_in_words(parse(text))
    except ConditionError:
        return text
