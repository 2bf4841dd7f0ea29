"""Processes that run a project and that tests kill.

They are forked from one process per worker that has imported all they need: to import it costs more than a small run.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock

from headrace.database.connection import connect, transaction
from headrace.settings import settings
from tests.paths import WAIT_SECONDS
from tests.platform.projects import load_project

_CONTEXT = get_context("forkserver")
_LOCKED = """
SELECT FROM catalog.run_attempt
WHERE os_pid = %s AND state = 'RUNNING' AND NOT pg_try_advisory_xact_lock(lock_key)
"""
_CONTEXT.set_forkserver_preload(["tests.platform.children", "pyspark.sql", "pandas", "pyarrow.parquet"])


def start(output: Path, work: Callable[..., int], *arguments: str) -> BaseProcess:
    """Start a process that ends with the exit code that `work(*arguments)` returns, in the present environment.

    What it prints goes to the file `output`, which is there when this returns.
    """
    output.touch()
    process = _CONTEXT.Process(target=_child, args=(output, dict(os.environ), work, arguments), daemon=True)
    process.start()
    return process


def exit_code(process: BaseProcess) -> int | None:
    """Wait until the process has ended, and the server has noticed: that frees the lock of its run a moment later."""
    process.join(WAIT_SECONDS)
    deadline = time.monotonic() + WAIT_SECONDS
    while _holds_lock(process):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process.exitcode


def _holds_lock(process: BaseProcess) -> bool:
    with transaction(connect()) as cursor:
        return cursor.execute(_LOCKED, [process.pid]).fetchone() is not None


def kill_at(step: str, root: Path, output: Path) -> None:
    """Materialize a project in a process that is killed when it begins a step, a function by its full name."""
    run = start(output, _materialize_until, str(root), step)
    assert exit_code(run) == -signal.SIGKILL, output.read_text()


def _materialize_until(root: str, step: str) -> int:
    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch(step, die):
        load_project(Path(root), connect()).materialize()
    return 0


def _child(
    output: Path, environment: dict[str, str], work: Callable[..., int], arguments: tuple[str, ...]
) -> None:
    log = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.clear()
    os.environ.update(environment)
    settings.cache_clear()
    sys.exit(work(*arguments))
