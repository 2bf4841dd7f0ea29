"""Run selections in this process: plan the runs, execute them in order, and report how each ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import dagster as dg
from sqlalchemy import Engine

from headrace.catalog.records import RunState
from headrace.database.connection import connect
from headrace.declarations.loading.code import project_code
from headrace.declarations.loading.project import records
from headrace.errors import UnknownRun
from headrace.execution.plan import ProcessPlan
from headrace.execution.registration import register
from headrace.openlineage import renames
from headrace.orchestration.materialization import PlannedRun, execute, plan_runs, select
from headrace.retention.run_reports import why

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Activity = Callable[[str], AbstractContextManager[Callable[[str], None]]]


class Ending(StrEnum):
    """Outcome of a planned run."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"  # another run did the same work first; its versions are published
    INTERRUPTED = "INTERRUPTED"  # by Ctrl-C or SIGTERM, which Dagster turns into a failed step
    SKIPPED = "SKIPPED"  # a run that produces one of its inputs failed


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A planned run after its end.

    published: the versions it published, even if another of its processes failed; missing: the versions it failed to
    produce.
    reasons: one line per failed process. warnings: those of its log.
    """

    datasets: tuple[str, ...]
    partitions: tuple[str, ...]
    ending: Ending
    seconds: float
    dagster_run_id: str | None = None
    reasons: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def register_declarations(engine: Engine, session: Callable[[], SparkSession]) -> list[str]:
    """Register the project's declarations; returns a warning for each manifest that could not be updated."""
    declared, produced_by = records(project_code().loaded.plans)
    renames.follow_declarations(engine, declared)
    return register(engine, declared, produced_by, session)


def plan(
    engine: Engine,
    instance: dg.DagsterInstance,
    selection: Sequence[str],
    partitions: tuple[str, str] | None,
    *,
    stale: bool,
    full_refresh: bool = False,
) -> list[PlannedRun]:
    """Plan the runs for a selection of registered datasets, in order. Raises InvalidSelection."""
    processes = [each for each in project_code().loaded.plans if isinstance(each, ProcessPlan)]
    chosen = select(project_code().defs, processes, selection)
    graph, stale_in = project_code().defs.resolve_asset_graph(), engine if stale else None
    return plan_runs(graph, instance, chosen, partitions, stale_in, full_refresh=full_refresh)


def execute_all(
    runs: Sequence[PlannedRun],
    instance: dg.DagsterInstance,
    activity: Activity,
    on_finished: Callable[[FinishedRun], None],
) -> list[FinishedRun]:
    """Execute the runs in order, and call `on_finished` after each; an interrupted run is the last.

    A run that reads the output of a failed run is skipped; the others continue. activity: enters what is being done,
    and yields a function that takes the lines of the run's log.
    """
    missing: set[str] = set()
    finished: list[FinishedRun] = []
    for number, run in enumerate(runs, 1):
        if any(item.dataset in missing for each in run.plans for item in each.inputs):
            result = FinishedRun(datasets(run), keys(run), Ending.SKIPPED, 0.0, missing=datasets(run))
        else:
            with activity(f"({number}/{len(runs)}) {described(run)}") as on_line:
                result = _executed(run, instance, on_line)
        missing.update(result.missing)
        finished.append(result)
        if result.ending is Ending.INTERRUPTED:
            break
        on_finished(result)
    return finished


def datasets(run: PlannedRun) -> tuple[str, ...]:
    """Return the datasets that a run produces."""
    return tuple(key.to_user_string() for key in run.assets)


def keys(run: PlannedRun) -> tuple[str, ...]:
    """Return the partitions that a run produces; none if its datasets are not partitioned."""
    return tuple(key for key in run.partitions if key is not None)


def described(run: PlannedRun | FinishedRun) -> str:
    """Describe the datasets and partitions of a run in one line."""
    return named(run.datasets if isinstance(run, FinishedRun) else datasets(run), run.partitions)


def named(names: Sequence[str], keys: Sequence[str | None]) -> str:
    """Describe datasets, and the partitions of each, in one line."""
    partitions = [key for key in keys if key is not None]
    if not partitions:
        return ", ".join(names)
    several = f"{partitions[0]} to {partitions[-1]}, {len(partitions)} partitions"
    return f"{', '.join(names)} [{partitions[0] if len(partitions) == 1 else several}]"


def _executed(
    run: PlannedRun, instance: dg.DagsterInstance, on_progress: Callable[[str], None]
) -> FinishedRun:
    started, warnings = time.monotonic(), list[str]()
    # Without this configuration, Dagster logs to the terminal whatever loggers are defined.
    result = execute(_logging_to(on_progress, warnings), run, instance, {"loggers": {"console": {}}})
    # A dataset is reported to Dagster only once all its partitions of the run are published.
    on_finished = {
        event.asset_key.to_user_string()
        for event in result.all_events
        if event.is_step_materialization and event.asset_key
    }
    return FinishedRun(
        datasets(run),
        keys(run),
        _ending(result),
        time.monotonic() - started,
        result.run_id,
        tuple(_reasons(result)),
        tuple(name for name in datasets(run) if name in on_finished),
        () if result.success else tuple(name for name in datasets(run) if name not in on_finished),
        tuple(warnings),
    )


def _ending(result: dg.ExecuteInProcessResult) -> Ending:
    """Return the outcome according to Dagster, except for a superseded run, which only the catalog knows."""
    if any(_was_interrupted(event) for event in result.all_events):
        return Ending.INTERRUPTED
    if not result.success:
        return Ending.FAILED
    try:
        reports = why(connect(), result.run_id)
    except UnknownRun:  # of assets that do not belong to Headrace
        return Ending.SUCCESS
    superseded = any(report.state is RunState.SUPERSEDED for report in reports)
    return Ending.SUPERSEDED if superseded else Ending.SUCCESS


def _logging_to(on_progress: Callable[[str], None], warnings: list[str]) -> dg.Definitions:
    """Return the definitions with the run's log sent to `on_progress` and not the terminal; Dagster stores it.

    Its warnings are added to `warnings`.
    """

    class Reporter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = getattr(record, "dagster_meta", {}).get("orig_message") or record.getMessage()
            on_progress(line.splitlines()[0] if line else "")
            if record.levelno == logging.WARNING:
                warnings.append(line)

    def console(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("headrace.run", level=logging.INFO)
        logger.addHandler(Reporter())
        return logger

    return dg.Definitions.merge(project_code().defs, dg.Definitions(loggers={"console": dg.logger(console)}))


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    """Return True for Ctrl-C, which Dagster turns into a failed step."""
    error = event.step_failure_data.error if event.is_step_failure else None
    return error is not None and error.cls_name == "DagsterExecutionInterruptedError"


def _reasons(result: dg.ExecuteInProcessResult) -> Iterator[str]:
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            line = failure.user_failure_data.description if failure.user_failure_data else None
            yield f"{event.step_key}: {line or (failure.error.message.strip() if failure.error else 'no reason given')}"
