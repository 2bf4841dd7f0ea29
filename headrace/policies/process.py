"""The process that evaluates rules (`worker.py`): one for each process that asks, kept for the next question.

A rule without an end is stopped with the process, and the next question starts another.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import IO, Any

_COMMAND = [sys.executable, "-P", "-m", "headrace.policies.worker"]  # -P: no module of the project
_START_SECONDS = 60  # of the worker on a busy machine
_LOCK = Lock()  # of _kept: questions are answered one after another
_kept: _Worker | None = None


@dataclass(frozen=True, slots=True)
class _Worker:
    """A running worker. lines: what it writes; None at its end. errors: its standard error. of: who started it."""

    process: subprocess.Popen[str]
    lines: SimpleQueue[str | None]
    errors: IO[str]
    of: int

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.errors.close()
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()


def answers(
    rules: Sequence[Mapping[str, Any]], subjects: Sequence[Mapping[str, Any]], seconds: float
) -> tuple[list[list[bool | str]], str]:
    """Return the answers of the first rules, as far as the worker came, and why it came no further.

    See `worker` for rules, subjects and answers. seconds: how long each rule may take.
    """
    global _kept
    with _LOCK:
        worker = _kept if _kept is not None and _kept.of == os.getpid() else _started()
        _kept = worker
        found, problem = _asked(worker, rules, subjects, seconds)
        if problem is None:
            return found, ""
        reason = _last_line(worker) if worker.process.poll() is not None else ""
        worker.end()
        _kept = None
    return found, problem or f"its evaluation failed: {reason or f'signal {-worker.process.returncode}'}"


def _asked(
    worker: _Worker,
    rules: Sequence[Mapping[str, Any]],
    subjects: Sequence[Mapping[str, Any]],
    seconds: float,
) -> tuple[list[list[bool | str]], str | None]:
    """Return the answers, and why some lack: '' if the worker has died, None if none do."""
    found: list[list[bool | str]] = []
    asking = Thread(
        target=_write, args=(worker, json.dumps({"rules": rules, "subjects": subjects})), daemon=True
    )
    asking.start()  # beside the answers, which fill their pipe while a long question is written
    while len(found) < len(rules):
        try:
            line = worker.lines.get(timeout=seconds)
        except Empty:
            return found, f"it did not end within {seconds:.0f} seconds"
        if line is None:
            worker.process.wait()
            return found, ""
        found.append(json.loads(line))
    asking.join()
    return found, None


def _write(worker: _Worker, question: str) -> None:
    assert worker.process.stdin is not None  # noqa: S101 - a pipe
    try:
        worker.process.stdin.write(question + "\n")
        worker.process.stdin.flush()
    except (OSError, ValueError):
        return  # it has ended, which the missing answers show


def _started() -> _Worker:
    errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed with the worker
    process = subprocess.Popen(
        _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
    )
    worker = _Worker(process, SimpleQueue(), errors, os.getpid())
    Thread(target=_read, args=(process, worker.lines), daemon=True).start()
    with suppress(Empty):
        worker.lines.get(timeout=_START_SECONDS)  # that it is ready; a rule has its time from then on
    return worker


def _read(process: subprocess.Popen[str], lines: SimpleQueue[str | None]) -> None:
    assert process.stdout is not None  # noqa: S101 - a pipe
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def _last_line(worker: _Worker) -> str:
    worker.errors.seek(0)
    return worker.errors.read().strip().rpartition("\n")[2]


@atexit.register
def _end() -> None:
    if _kept is not None and _kept.of == os.getpid():
        _kept.end()
