"""Child processes that leave nothing behind: each in its own session, its output in a file, found by a marker."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

# In the environment of all processes that `headrace up` starts, and of their children; the value is the state folder.
MARK = "HEADRACE_SERVED_FROM"
MAX_LOG_BYTES = 10_000_000
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Service:
    """A running child process and its log file."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_words(self, lines: int = 15) -> str:
        """Return the end of its log, indented, with the log's path."""
        tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
        return "\n".join([*("    " + _ANSI.sub("", line) for line in tail), f"  full log: {self.log}"])


def start(
    name: str, command: Sequence[str], *, home: Path, folder: Path, environment: Mapping[str, str]
) -> Service:
    """Start `command` in `folder`. The previous log is kept as `<name>.log.1`."""
    log = home / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, MARK: str(home)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is only sent to `headrace up`, which then stops its children in order.
            start_new_session=True,
        )
    return Service(name, process, log)


def rotate(service: Service) -> None:
    """Move a long log to `<name>.log.1`. The process goes on writing to the same file, which it opened to append."""
    if service.log.stat().st_size > MAX_LOG_BYTES:
        shutil.copyfile(service.log, service.log.with_suffix(".log.1"))
        os.truncate(service.log, 0)


def stop(service: Service, seconds: float) -> bool:
    """Ask the process to end and wait; False if it has not ended after `seconds`."""
    with suppress(ProcessLookupError):
        service.process.send_signal(signal.SIGTERM)
    try:
        service.process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def sweep(home: Path, seconds: float = 5) -> int:
    """End every process with the marker of `home`, by force after `seconds`; returns their number.

    PostgreSQL is excluded: one that a child started belongs to the state folder, not to the child.
    """
    found = [process for process in psutil.process_iter(["name"]) if _is_marked(process, home)]
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(found, timeout=seconds)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=seconds)
    return len(found)


def _is_marked(process: psutil.Process, home: Path) -> bool:
    """Return True for marked processes. Those of other users cannot be inspected, and are not Headrace's."""
    try:
        return (
            process.pid != os.getpid()
            and process.name() != "postgres"
            and process.environ().get(MARK) == str(home)
        )
    except (psutil.Error, OSError):
        return False
