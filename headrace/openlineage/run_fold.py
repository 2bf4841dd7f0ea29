"""Fold the merged events of one run into the run and its attempt; pure.

A scheduler counts attempts and gives times and exit codes, so it decides state and times of the runs that it reports
(`events.run_fold`). A document decides where no scheduler reports, and adds its facets in any case.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from headrace.catalog.records import RunState
from headrace.catalog.run_events import Ending
from headrace.events.run_fold import ExternalAttempt, ExternalRun
from headrace.events.scheduler_events import SCHEDULER
from headrace.openlineage.documents import Document
from headrace.openlineage.model import EventType

_ENDS = {
    EventType.COMPLETE: RunState.SUCCESS,
    EventType.FAIL: RunState.FAILED,
    EventType.ABORT: RunState.TERMINATED,
}
_FAILURES = {RunState.FAILED, RunState.TERMINATED}
_COLUMN_FACETS = {"parent", "errorMessage", SCHEDULER}  # stored in columns of their own


def fold_document(run_id: UUID, document: Document) -> ExternalRun:
    """Fold a document into a run: OpenLineage gives each retry a run of its own, so a run has one attempt."""
    ended, parent = document.ended, document.content("parent")
    state = _ENDS[ended.kind] if ended else RunState.RUNNING
    start = datetime.fromisoformat(document.first)
    end = datetime.fromisoformat(ended.at) if ended else None
    attempt = ExternalAttempt(
        number=1,
        state=state,
        ending=Ending.GENUINE if ended else None,
        start_ts=start,
        end_ts=end,
        exit_code=None,
        host=None,
        reason=document.content("errorMessage").get("message") if state in _FAILURES else None,
        log_location=None,
        last_at=datetime.fromisoformat(document.last),
    )
    return ExternalRun(
        run_id=run_id,
        process_id=UUID(document.job),
        run=None,
        state=state,
        attempt=1,
        start_ts=start,
        end_ts=end,
        partitions=(),
        log_location=None,
        parent_run_id=UUID(parent["run"]) if "run" in parent else None,
        parent_process_id=UUID(parent["process"]) if "process" in parent else None,
        facets=_facets(document),
        historical=document.historical,
        attempts=(attempt,),
        completions=(),
    )


def with_facets(run: ExternalRun, document: Document | None) -> ExternalRun:
    """Return a scheduler's run with the facets of its document, if it has one."""
    return run if document is None else replace(run, facets={**_facets(document), **run.facets})


def _facets(document: Document) -> dict[str, Any]:
    return {
        name: stated.content
        for name, stated in sorted(document.facets.items())
        if name not in _COLUMN_FACETS and stated.content is not None
    }
