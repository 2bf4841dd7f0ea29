"""Check which reports of external runs a caller may make; `permissions` does so for OpenLineage events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from headrace.access.callers import Caller, Permission, Scope
from headrace.catalog.run_events import RunEvent
from headrace.job_reports.ingestion import process_keys, run_ids
from headrace.openlineage.permissions import KnownProcess, foreign, known_processes, reports_everything


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the caller may not report an event. of_another_run: a caller with that run's token may."""

    reason: str
    of_another_run: bool = False


def run_refusals(engine: Engine, caller: Caller, events: Sequence[RunEvent]) -> list[Refusal | None]:
    """Return, for each event, why the caller may not report it; None if it may.

    A run's token reports that run, and its outputs also outside it. A caller with some domains only reports outputs in
    these, and runs of processes that write to any of them, or that only events made known and that write nothing.
    Raises Forbidden if the caller may not report at all.
    """
    caller.require(Permission.REPORT)
    if reports_everything(caller):
        return [None] * len(events)
    capability = caller.capability
    if capability is None:
        scope = caller.scope(Permission.REPORT)
        assert scope is not None  # noqa: S101 - `require` was asked before
        processes = process_keys(engine, events)
        known = known_processes(engine, caller, {key for key in processes if key is not None})
        return [
            _outside(event, scope, "the domains of this token")
            or _of_another_process(event, scope, known.get(process or ""))
            for event, process in zip(events, processes, strict=True)
        ]
    outputs = Scope(frozenset(), capability.outputs)
    return [
        Refusal(
            f"this token reports the run {capability.run_id}, and the report is of the run {run_id}", True
        )
        if run_id not in (None, capability.run_id)
        else _outside(event, outputs, "the outputs that this token was issued for")
        for event, run_id in zip(events, run_ids(engine, events), strict=True)
    ]


def _of_another_process(event: RunEvent, scope: Scope, process: KnownProcess | None) -> Refusal | None:
    reason = None if process is None else foreign(scope, process)
    return None if reason is None else Refusal(f"{event.process} {reason}")


def _outside(event: RunEvent, scope: Scope, what: str) -> Refusal | None:
    for output in event.outputs:
        if not scope.covers(output.dataset):
            return Refusal(f"the output {output.dataset} is not among {what}")
    return None
