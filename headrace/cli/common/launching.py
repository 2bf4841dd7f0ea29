"""Launch runs from the terminal: load declarations, plan runs, execute them in order, show progress."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from headrace.cli.common.errors import Interrupted, warn
from headrace.cli.common.output import span
from headrace.settings import settings

if TYPE_CHECKING:
    import dagster as dg

    from headrace.orchestration.materialization import PlannedRun

STDOUT, STDERR = 1, 2
INTERRUPTED = 130  # the exit code of Ctrl-C; with Dagster, SIGTERM looks the same
LINE_INTERVAL_SECONDS = 60.0


class Ending(StrEnum):
    """Outcome of a planned run."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"  # another run did the same work first; its versions are published
    SKIPPED = "SKIPPED"  # a run that produces one of its inputs failed


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A planned run after its end.

    published: the versions it published, even if another of its processes failed; missing: the versions it failed to
    produce.
    reasons: one line per failed process.
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
    """Yield the deployment's Dagster instance, with its storage started."""
    from headrace.local.environment import environment

    os.environ.update(environment())
    settings.cache_clear()  # the address of the service may be new
    import dagster as dg

    with dg.DagsterInstance.get() as instance:
        yield instance


def plan(
    instance: dg.DagsterInstance, selection: Sequence[str], partitions: tuple[str, str] | None, *, stale: bool
) -> list[PlannedRun]:
    """Plan the runs for a selection, in order, and register the declared datasets. Raises InvalidSelection."""
    from headrace.cli.common.frames import session
    from headrace.database.connection import connect
    from headrace.declarations.loading.code import project_code
    from headrace.declarations.loading.project import records
    from headrace.execution.plan import ProcessPlan
    from headrace.execution.registration import register
    from headrace.openlineage import renames
    from headrace.orchestration.materialization import plan_runs, select

    engine = connect()
    declared, produced_by = records(project_code().loaded.plans)
    renames.follow_declarations(engine, declared)
    for warning in register(engine, declared, produced_by, session):
        warn(warning)
    processes = [each for each in project_code().loaded.plans if isinstance(each, ProcessPlan)]
    chosen = select(project_code().defs, processes, selection)
    return plan_runs(
        project_code().defs.resolve_asset_graph(), instance, chosen, partitions, engine if stale else None
    )


def execute_all(
    runs: Sequence[PlannedRun], instance: dg.DagsterInstance, on_finished: Callable[[FinishedRun], None]
) -> list[FinishedRun]:
    """Execute the runs in order, and call `on_finished` after each.

    A run that reads the output of a failed run is skipped; the others continue.
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
    """Return the datasets that a run produces."""
    return tuple(key.to_user_string() for key in run.assets)


def keys(run: PlannedRun) -> tuple[str, ...]:
    """Return the partitions that a run produces; none if its datasets are not partitioned."""
    return tuple(key for key in run.partitions if key is not None)


def described(run: PlannedRun | FinishedRun) -> str:
    """Describe the datasets and partitions of a run in one line."""
    return _named(run.datasets if isinstance(run, FinishedRun) else datasets(run), run.partitions)


def _named(names: Sequence[str], keys: Sequence[str | None]) -> str:
    partitions = [key for key in keys if key is not None]
    if not partitions:
        return ", ".join(names)
    several = f"{partitions[0]} to {partitions[-1]}, {len(partitions)} partitions"
    return f"{', '.join(names)} [{partitions[0] if len(partitions) == 1 else several}]"


@contextmanager
def own_output() -> Iterator[TextIO]:
    """Reserve the terminal for Headrace's own output: discard stdout and stderr of Spark and transforms.

    Dagster captures both within a run in any case, and would repeat them here, mixed with the JSON of --json. Yields
    the original stderr.
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
    """Show the current activity and its duration on stderr, or `stream`: live on a terminal, elsewhere a line a minute.

    Yields a function that updates the text.
    """
    console = Console(file=stream or sys.stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        with _progress_lines(what, stream or sys.stderr) as update:
            yield update
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task(what, total=None)
        yield lambda line: display.update(task, description=line)


@contextmanager
def _progress_lines(what: str, stream: TextIO) -> Iterator[Callable[[str], None]]:
    """Write the activity as a line every minute, for logs of cron jobs and pipes."""
    text = [what]
    ended = threading.Event()

    def write() -> None:
        started = time.monotonic()
        while not ended.wait(LINE_INTERVAL_SECONDS):
            print(f"{text[0]} ({span_of(time.monotonic() - started)})", file=stream, flush=True)

    thread = threading.Thread(target=write, name="progress-lines", daemon=True)
    thread.start()
    try:
        yield lambda line: text.__setitem__(0, line)
    finally:
        ended.set()
        thread.join()


def line(run: FinishedRun) -> str:
    """Return the line printed after a run."""
    if run.ending is Ending.SUCCESS:
        return f"done     {described(run)} in {span_of(run.seconds)}"
    if run.ending is Ending.SUPERSEDED:
        return (
            f"superseded {described(run)} after {span_of(run.seconds)}: another run did the same work first, "
            f"and its versions are published\n         headrace why {run.dagster_run_id}"
        )
    if run.ending is Ending.SKIPPED:
        return f"skipped  {described(run)}: an input was not produced"
    lines = [
        f"failed   {_named(run.missing or run.datasets, run.partitions)} after {span_of(run.seconds)}",
        *([f"published nevertheless: {', '.join(run.published)}"] if run.published else []),
        *run.reasons,
        f"headrace why {run.dagster_run_id}",
    ]
    return "\n         ".join(lines)


def span_of(seconds: float) -> str:
    """Format seconds in their largest unit."""
    from datetime import timedelta

    return span(timedelta(seconds=seconds))


def _executed(
    run: PlannedRun, instance: dg.DagsterInstance, on_progress: Callable[[str], None]
) -> FinishedRun:
    from headrace.orchestration.materialization import execute

    started = time.monotonic()
    # Without this configuration, Dagster logs to the terminal whatever loggers are defined.
    result = execute(_logging_to(on_progress), run, instance, {"loggers": {"console": {}}})
    if any(_was_interrupted(event) for event in result.all_events):
        raise Interrupted(
            f"interrupted while materializing {described(run)}, which is unchanged; `headrace why {result.run_id}`"
            " shows the run. Runs that ended before are published; the same command with --stale does the rest.",
            INTERRUPTED,
        )
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
    """Return the outcome according to Dagster, except for a superseded run, which only the catalog knows."""
    from headrace.catalog.records import RunState
    from headrace.database.connection import connect
    from headrace.errors import UnknownRun
    from headrace.retention.run_reports import why

    if not result.success:
        return Ending.FAILED
    try:
        reports = why(connect(), result.run_id)
    except UnknownRun:  # of assets that do not belong to Headrace
        return Ending.SUCCESS
    superseded = any(report.state is RunState.SUPERSEDED for report in reports)
    return Ending.SUPERSEDED if superseded else Ending.SUCCESS


def _logging_to(on_progress: Callable[[str], None]) -> dg.Definitions:
    """Return the definitions with the run's log sent to `on_progress` and not the terminal; Dagster stores it."""
    import dagster as dg

    from headrace.declarations.loading.code import project_code

    class Reporter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = getattr(record, "dagster_meta", {}).get("orig_message") or record.getMessage()
            on_progress(line.splitlines()[0] if line else "")

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
