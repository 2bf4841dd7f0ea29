"""Which reports of runs elsewhere a caller may make, as `reports` says it of OpenLineage events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from catalog.access.callers import Caller, Permission, Scope
from catalog.access.reports import reports_everything
from catalog.ingestion import run_ids
from catalog.run_events import RunEvent


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event is not the caller's to report. of_another_run: somebody else, who has that run's token, may."""

    reason: str
    of_another_run: bool = False


def run_refusals(engine: Engine, caller: Caller, events: Sequence[RunEvent]) -> list[Refusal | None]:
    """Why each of the events is not the caller's to report; None for one that is.

    The token of a run reports that run, and its outputs also apart from it. Raises Forbidden when the caller may not
    report at all.
    """
    caller.require(Permission.REPORT)
    if reports_everything(caller):
        return [None] * len(events)
    capability = caller.capability
    if capability is None:
        scope = caller.scope(Permission.REPORT)
        assert scope is not None  # noqa: S101 - `require` was asked before
        return [_outside(event, scope, "the domains of this token") for event in events]
    outputs = Scope(frozenset(), capability.outputs)
    return [
        Refusal(
            f"this token reports the run {capability.run_id}, and the report is of the run {run_id}", True
        )
        if run_id not in (None, capability.run_id)
        else _outside(event, outputs, "the outputs that this token was issued for")
        for event, run_id in zip(events, run_ids(engine, events), strict=True)
    ]


def _outside(event: RunEvent, scope: Scope, what: str) -> Refusal | None:
    for output in event.outputs:
        if not scope.covers(output.dataset):
            return Refusal(f"the output {output.dataset} is not among {what}")
    return None
