"""Materialize a project's dataset in this process and kill it at a named place.

The place is `before:<step>` or `after:<step>` of a step of materialization; `jvm:<step>` kills Spark's JVM before the
step and lets this process live; `none` kills nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg

from headrace.database.connection import connect
from headrace.execution import materialization as run
from tests.platform.projects import load_project


def die_at(place: str) -> None:
    """Put a killing step in the place of the one that `place` names."""
    when, _, step = place.partition(":")
    if when == "none":
        return
    original: Callable[..., Any] = getattr(run, step)

    def killing(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if when == "jvm":
            _kill_jvm()
        outcome = original(*arguments, **named)
        if when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome

    def reporting(*arguments: Any) -> Any:
        yield from original(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(run, step, reporting if place == "after:report" else killing)


def materialize(root: str, selection: str, run_id: str, place: str) -> int:
    """Return 0 if the run succeeded. Prints `running` once it begins."""
    project = load_project(Path(root), connect())
    key = dg.AssetKey.from_user_string(selection)
    job = project.definitions.get_repository_def().get_implicit_job_def_for_assets([key])
    assert job is not None
    die_at(place)
    print("running", flush=True)
    result = job.execute_in_process(
        instance=project.instance, asset_selection=[key], run_id=run_id, raise_on_error=False
    )
    return 0 if result.success else 1


def _kill_jvm() -> None:
    from pyspark import SparkContext

    process = SparkContext._gateway.proc
    process.kill()
    process.wait()
