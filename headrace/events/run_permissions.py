"""Which reports of runs elsewhere a caller may make, as `reports` says it of OpenLineage events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from headrace.access.callers import Caller, Permission, Scope
from headrace.catalog.run_events import RunEvent
from headrace.events.ingestion import process_keys, run_ids
from headrace.events.permissions import foreign_output, reports_everything, written_by


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event is not the caller's to report. of_another_run: somebody else, who has that run's token, may."""

    reason: str
    of_another_run: bool = False


def run_refusals(engine: Engine, caller: Caller, events: Sequence[RunEvent]) -> list[Refusal | None]:
    """Why each of the events is not the caller's to report; None for one that is.

    The token of a run reports that run, and its outputs also apart from it. A caller with some domains only reports
    outputs of these, and runs of processes that write any of them, or nothing. Raises Forbidden when the caller may not
    report at all.
    """
    caller.require(Permission.REPORT)
    if reports_everything(caller):
        return [None] * len(events)
    capability = caller.capability
    if capability is None:
        scope = caller.scope(Permission.REPORT)
        assert scope is not None  # noqa: S101 - `require` was asked before
        processes = process_keys(engine, events)
        written = written_by(engine, caller, {key for key in processes if key is not None})
        return [
            _outside(event, scope, "the domains of this token")
            or _of_another_process(event, scope, written.get(process or "", ()))
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


def _of_another_process(event: RunEvent, scope: Scope, written: Sequence[str]) -> Refusal | None:
    """Who says that a run has failed, or is done, wakes people, and starts what comes after it."""
    foreign = foreign_output(scope, written)
    if foreign is None:
        return None
    return Refusal(f"{event.process} writes {foreign} and nothing that this token may report")


def _outside(event: RunEvent, scope: Scope, what: str) -> Refusal | None:
    for output in event.outputs:
        if not scope.covers(output.dataset):
            return Refusal(f"the output {output.dataset} is not among {what}")
    return None
