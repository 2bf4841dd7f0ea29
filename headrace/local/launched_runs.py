"""Dagster's records of the runs of a code server, corrected when that server stops or has died.

    python -m headrace.local.launched_runs prepare PREFIX SOCKETS
    python -m headrace.local.launched_runs stop SOCKETS SECONDS     prints how many runs it ended

`headrace up` runs it as a process: Dagster, which it imports, would otherwise occupy 100 MB in `up`.
"""

import json
import sys
import time
from pathlib import Path

import dagster as dg
from dagster import DagsterRun, DagsterRunStatus, RunsFilter

from headrace.dagster_internals import GRPC_INFO_TAG, MAX_RETRIES_TAG

_UNDERWAY = [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]


def stop(sockets: Path, seconds: float) -> int:
    """End the runs of the code servers that listen in `sockets`; returns their number.

    The daemon starts them again at the next start. Otherwise what triggered them would be lost: a completion, a
    partition of a backfill, a tick of a schedule. Runs that a person had cancelled before stay cancelled.
    """
    with dg.DagsterInstance.get() as instance:
        found = _underway(instance, f"{sockets}/")
        for run in found:
            instance.run_coordinator.cancel_run(run.run_id)
        deadline = time.monotonic() + seconds
        while _underway(instance, f"{sockets}/") and time.monotonic() < deadline:
            time.sleep(0.2)
        for run in found:
            if run.status is not DagsterRunStatus.CANCELING:
                _start_again_later(instance, run.run_id)
        return len(found)


def _start_again_later(instance: dg.DagsterInstance, run_id: str) -> None:
    """Let Dagster's retries, which are for failed runs only, start a stopped run once more, each time it is stopped."""
    run = instance.get_run_by_id(run_id)
    if run is None or run.status in (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE):
        return
    group = instance.get_run_group(run_id)
    instance.add_run_tags(run_id, {MAX_RETRIES_TAG: str(len(list(group[1])) if group else 1)})
    instance.report_run_failed(
        run, "Headrace was stopped while this run was active; it starts again with Headrace."
    )


def fail_lost(sockets_prefix: str, *, but_not: Path) -> int:
    """Mark runs of dead code servers, whose sockets have this prefix, as failed; returns their number.

    but_not: the folder with the sockets of live ones.

    Otherwise they would be shown as running forever, and occupy their places in the queue.
    """
    with dg.DagsterInstance.get() as instance:
        current = {run.run_id for run in _underway(instance, f"{but_not}/")}
        found = [run for run in _underway(instance, sockets_prefix) if run.run_id not in current]
        for run in found:
            instance.report_run_failed(run, "Headrace was stopped or killed while this run was active.")
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


def main(command: str, *arguments: str) -> None:
    """Run the command line above."""
    if command == "prepare":
        prefix, sockets = arguments
        upgrade_storage()
        fail_lost(prefix, but_not=Path(sockets))
    else:
        folder, seconds = arguments
        print(stop(Path(folder), float(seconds)))


if __name__ == "__main__":
    main(*sys.argv[1:])
