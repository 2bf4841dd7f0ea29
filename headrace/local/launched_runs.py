"""Dagster's records of the runs of a code server, corrected when that server stops or has died."""

import json
import time
from pathlib import Path

import dagster as dg
from dagster import DagsterRun, DagsterRunStatus, RunsFilter

from headrace.dagster_internals import GRPC_INFO_TAG

_UNDERWAY = [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]


def cancel(sockets: Path, seconds: float) -> int:
    """Cancel the runs of the code servers that listen in `sockets`, and wait for their end; returns their number."""
    with dg.DagsterInstance.get() as instance:
        found = _underway(instance, f"{sockets}/")
        for run in found:
            instance.run_coordinator.cancel_run(run.run_id)
        deadline = time.monotonic() + seconds
        while _underway(instance, f"{sockets}/") and time.monotonic() < deadline:
            time.sleep(0.2)
        return len(found)


def fail_lost(sockets_prefix: str, *, but_not: Path) -> int:
    """Mark runs of dead code servers, whose sockets have this prefix, as failed; returns their number.

    but_not: the folder with the sockets of live ones.

    Otherwise they would be shown as running forever, and occupy their places in the queue.
    """
    with dg.DagsterInstance.get() as instance:
        current = {run.run_id for run in _underway(instance, f"{but_not}/")}
        found = [run for run in _underway(instance, sockets_prefix) if run.run_id not in current]
        for run in found:
            instance.report_run_failed(run, "Headrace was stopped or killed while this run was underway.")
        return len(found)


def upgrade_storage() -> None:
    """Create Dagster's tables, or migrate them to the installed Dagster's schema."""
    with dg.DagsterInstance.get() as instance:
        instance.upgrade()


def _underway(instance: dg.DagsterInstance, sockets_prefix: str) -> list[DagsterRun]:
    """Return the active runs. Runs of other commands (`dagster asset materialize`) have no code server, and are left
    alone."""
    return [
        run
        for run in instance.get_runs(RunsFilter(statuses=_UNDERWAY))
        if str(json.loads(run.tags.get(GRPC_INFO_TAG, "{}")).get("socket", "")).startswith(sockets_prefix)
    ]
