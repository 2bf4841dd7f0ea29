"""Launch runs from the terminal: load declarations, plan runs, execute them in order, show progress."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from headrace.cli.common.output import span

if TYPE_CHECKING:
    import dagster as dg

    from headrace.orchestration.materialization import PlannedRun

STDOUT, STDERR = 1, 2


class Ending(StrEnum):
    """How a planned run ended."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"  # another run had done the same work by then, and its versions stand
    SKIPPED = "SKIPPED"  # a run that makes one of its inputs failed before


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A planned run after its end.

    published: what it made, also where another process of it failed; missing: what it should have made and did not.
    reasons: a line for each process that failed.
    """

    datasets: tuple[str, ...]
    partitions: tuple[str, ...]
    ending: Ending
    seconds: float
    dagster_run_id: str | None = None
    reasons: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@contextmanager
def dagster_instance() -> Iterator[dg.DagsterInstance]:
    """Dagster's instance of this deployment, its storage started."""
    from headrace.local.environment import environment

    os.environ.update(environment())
    import dagster as dg

    with dg.DagsterInstance.get() as instance:
        yield instance


def plan(
    instance: dg.DagsterInstance, selection: Sequence[str], partitions: tuple[str, str] | None, *, stale: bool
) -> list[PlannedRun]:
    """The runs that a selection needs, in order. Registers what is declared. Raises InvalidSelection."""
    from headrace.catalog.registry import register
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.declarations.loading.project import records
    from headrace.execution.plan import ProcessPlan
    from headrace.orchestration.materialization import plan_runs, select

    engine = connect()
    register(engine, *records(project_code().loaded.plans))
    processes = [each for each in project_code().loaded.plans if isinstance(each, ProcessPlan)]
    chosen = select(project_code().defs, processes, selection)
    return plan_runs(
        project_code().defs.resolve_asset_graph(), instance, chosen, partitions, engine if stale else None
    )


def execute_all(
    runs: Sequence[PlannedRun], instance: dg.DagsterInstance, on_finished: Callable[[FinishedRun], None]
) -> list[FinishedRun]:
    """Execute the runs in order; `on_finished` is called with each.

    A run that reads what a failed one should have made is left out; the others go on.
    """
    missing: set[str] = set()
    finished = []
    for number, run in enumerate(runs, 1):
        if any(item.dataset in missing for each in run.plans for item in each.inputs):
            result = FinishedRun(datasets(run), keys(run), Ending.SKIPPED, 0.0, missing=datasets(run))
        else:
            what = f"({number}/{len(runs)}) {described(run)}"
            with own_output() as terminal, progress(what, terminal) as on_progress:
                result = _executed(run, instance, partial(_print_run, on_progress, what))
        missing.update(result.missing)
        finished.append(result)
        on_finished(result)
    return finished


def _print_run(on_progress: Callable[[str], None], what: str, line: str) -> None:
    on_progress(f"{what}: {line}")


def datasets(run: PlannedRun) -> tuple[str, ...]:
    """The datasets that a run makes."""
    return tuple(key.to_user_string() for key in run.assets)


def keys(run: PlannedRun) -> tuple[str, ...]:
    """The partitions that a run makes; none where its datasets are not partitioned."""
    return tuple(key for key in run.partitions if key is not None)


def described(run: PlannedRun | FinishedRun) -> str:
    """The datasets and partitions of a run, in a line."""
    return _named(run.datasets if isinstance(run, FinishedRun) else datasets(run), run.partitions)


def _named(names: Sequence[str], keys: Sequence[str | None]) -> str:
    partitions = [key for key in keys if key is not None]
    if not partitions:
        return ", ".join(names)
    several = f"{partitions[0]} to {partitions[-1]}, {len(partitions)} partitions"
    return f"{', '.join(names)} [{partitions[0] if len(partitions) == 1 else several}]"


@contextmanager
def own_output() -> Iterator[TextIO]:
    """The terminal for our words alone: the stdout and stderr that Spark and transforms write to lead nowhere.

    Dagster captures both within a run all the same, and would repeat them here, amid the JSON of --json too. Yields
    what was stderr.
    """
    _flush()
    ours = {descriptor: os.dup(descriptor) for descriptor in (STDOUT, STDERR)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in ours:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    try:
        with os.fdopen(ours[STDERR], "w", closefd=False) as stream:
            yield stream
    finally:
        _flush()
        for descriptor, kept in ours.items():
            os.dup2(kept, descriptor)
            os.close(kept)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


@contextmanager
def progress(what: str, stream: TextIO | None = None) -> Iterator[Callable[[str], None]]:
    """Show on a terminal (stderr, or `stream`) what is being done while it is, and for how long.

    Yields a way to say it anew.
    """
    console = Console(file=stream or sys.stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task(what, total=None)
        yield lambda line: display.update(task, description=line)


def line(run: FinishedRun) -> str:
    """What a person reads when a run has ended."""
    if run.ending is Ending.SUCCESS:
        return f"done     {described(run)} in {span_of(run.seconds)}"
    if run.ending is Ending.SUPERSEDED:
        return (
            f"overtaken {described(run)} after {span_of(run.seconds)}: another run published the same work first, "
            f"and its versions stand\n         headrace why {run.dagster_run_id}"
        )
    if run.ending is Ending.SKIPPED:
        return f"skipped  {described(run)}: an input was not made"
    lines = [
        f"failed   {_named(run.missing or run.datasets, run.partitions)} after {span_of(run.seconds)}",
        *([f"published all the same: {', '.join(run.published)}"] if run.published else []),
        *run.reasons,
        f"headrace why {run.dagster_run_id}",
    ]
    return "\n         ".join(lines)


def span_of(seconds: float) -> str:
    """A number of seconds in its largest unit."""
    from datetime import timedelta

    return span(timedelta(seconds=seconds))


def _executed(
    run: PlannedRun, instance: dg.DagsterInstance, on_progress: Callable[[str], None]
) -> FinishedRun:
    from headrace.orchestration.materialization import execute

    started = time.monotonic()
    # Without this configuration Dagster logs to the terminal, whatever loggers there are.
    result = execute(_logging_to(on_progress), run, instance, {"loggers": {"console": {}}})
    if any(_was_interrupted(event) for event in result.all_events):
        raise KeyboardInterrupt
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
    )


def _ending(result: dg.ExecuteInProcessResult) -> Ending:
    """Dagster's word, but for a run that was overtaken, which is the catalog's to know."""
    from headrace.catalog.records import RunState
    from headrace.database.connection import connect
    from headrace.errors import UnknownRun
    from headrace.retention.run_reports import why

    if not result.success:
        return Ending.FAILED
    try:
        reports = why(connect(), result.run_id)
    except UnknownRun:  # of assets that are not Headrace's
        return Ending.SUCCESS
    overtaken = any(report.state is RunState.SUPERSEDED for report in reports)
    return Ending.SUPERSEDED if overtaken else Ending.SUCCESS


def _logging_to(on_progress: Callable[[str], None]) -> dg.Definitions:
    """The definitions, with a run's log going to `tell` line by line and not to the terminal; Dagster keeps it all."""
    import dagster as dg

    from headrace.declarations.loading.code import project_code

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = getattr(record, "dagster_meta", {}).get("orig_message") or record.getMessage()
            on_progress(line.splitlines()[0] if line else "")

    def console(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("headrace.run", level=logging.INFO)
        logger.addHandler(Teller())
        return logger

    return dg.Definitions.merge(project_code().defs, dg.Definitions(loggers={"console": dg.logger(console)}))


def _was_interrupted(event: dg.DagsterEvent) -> bool:
    """Ctrl-C, which Dagster turns into a failed step."""
    error = event.step_failure_data.error if event.is_step_failure else None
    return error is not None and error.cls_name == "DagsterExecutionInterruptedError"


def _reasons(result: dg.ExecuteInProcessResult) -> Iterator[str]:
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            line = failure.user_failure_data.description if failure.user_failure_data else None
            yield f"{event.step_key}: {line or (failure.error.message.strip() if failure.error else 'no reason given')}"
