"""The terminal while a command works: progress, and a line for each run."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from headrace.terminal.errors import Interrupted
from headrace.terminal.output import span

if TYPE_CHECKING:
    import dagster as dg

    from headrace.orchestration.launching import FinishedRun
    from headrace.orchestration.materialization import PlannedRun

STDOUT, STDERR = 1, 2
INTERRUPTED = 130  # the exit code of Ctrl-C; with Dagster, SIGTERM looks the same
LINE_INTERVAL_SECONDS = 60.0


@contextmanager
def activity(what: str) -> Iterator[Callable[[str], None]]:
    """Show a run's progress, and nothing that Spark and transforms print; yields a function for the run's log."""
    with own_output() as terminal, progress(what, terminal) as on_progress:
        yield lambda line: on_progress(f"{what}: {line}")


def execute_all(
    runs: Sequence[PlannedRun], instance: dg.DagsterInstance, on_finished: Callable[[FinishedRun], None]
) -> list[FinishedRun]:
    """Execute the runs in order, showing progress. Raises Interrupted."""
    from headrace.orchestration import launching

    finished = launching.execute_all(runs, instance, activity, on_finished)
    if finished and finished[-1].ending is launching.Ending.INTERRUPTED:
        last = finished[-1]
        raise Interrupted(
            f"interrupted while materializing {launching.described(last)}, which is unchanged;"
            f" `headrace why {last.dagster_run_id}` shows the run. Runs that ended before are published; the same"
            " command with --stale does the rest.",
            INTERRUPTED,
        )
    return finished


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
    from headrace.orchestration.launching import Ending, described, named

    if run.ending is Ending.SUCCESS:
        return "\n         ".join([f"done     {described(run)} in {span_of(run.seconds)}", *run.warnings])
    if run.ending is Ending.SUPERSEDED:
        return (
            f"superseded {described(run)} after {span_of(run.seconds)}: another run did the same work first, "
            f"and its versions are published\n         headrace why {run.dagster_run_id}"
        )
    if run.ending is Ending.SKIPPED:
        return f"skipped  {described(run)}: an input was not produced"
    lines = [
        f"failed   {named(run.missing or run.datasets, run.partitions)} after {span_of(run.seconds)}",
        *([f"published nevertheless: {', '.join(run.published)}"] if run.published else []),
        *run.reasons,
        f"headrace why {run.dagster_run_id}",
    ]
    return "\n         ".join(lines)


def span_of(seconds: float) -> str:
    """Format seconds in their largest unit."""
    return span(timedelta(seconds=seconds))
