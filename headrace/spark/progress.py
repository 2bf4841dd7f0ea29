"""Log the progress of Spark jobs and stages every few seconds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERVAL = 5.0  # seconds


@contextmanager
def progress(
    session: SparkSession, log: logging.Logger, remote: bool, interval: float = INTERVAL
) -> Iterator[None]:
    """Log one line every `interval` seconds in which Spark works: jobs, stages, tasks done of all.

    Nothing is logged for work shorter than the interval.
    """
    follow = _follow_connect if remote else _follow_classic
    with follow(session, log, interval):
        yield


@contextmanager
def _follow_classic(session: SparkSession, log: logging.Logger, interval: float) -> Iterator[None]:
    tracker = session.sparkContext.statusTracker()
    finished = threading.Event()

    def poll() -> None:
        while not finished.wait(interval):
            try:
                jobs = tracker.getActiveJobsIds()
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception as error:  # the JVM may die meanwhile; the run itself reports that
                log.warning("Spark no longer reports progress: %s", error)
                return
            known = [stage for stage in stages if stage is not None]
            if known:
                counts = [(stage.stageId, stage.numCompletedTasks, stage.numTasks) for stage in known]
                log.info("Spark: %s", _line(len(jobs), counts))

    thread = threading.Thread(target=poll, name="spark-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join(timeout=interval)


@contextmanager
def _follow_connect(session: SparkSession, log: logging.Logger, interval: float) -> Iterator[None]:
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo

    class Handler(ProgressHandler):
        last = time.monotonic()

        def __call__(
            self,
            stages: Iterable[StageInfo] | None,
            inflight_tasks: int,
            operation_id: str | None,
            done: bool,
        ) -> None:
            active = [stage for stage in stages or () if not stage.done]
            if active and not done and time.monotonic() - self.last >= interval:
                self.last = time.monotonic()
                counts = [(s.stage_id, s.num_completed_tasks, s.num_tasks) for s in active]
                log.info("Spark: %s", _line(1, counts))

    handler = Handler()
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


def _line(jobs: int, stages: list[tuple[int, int, int]]) -> str:
    """Format `1 job; stage 3 5/12 tasks`."""
    summary = "; ".join(f"stage {number} {done}/{tasks} tasks" for number, done, tasks in stages)
    return f"{jobs} job{'' if jobs == 1 else 's'}; {summary}"
