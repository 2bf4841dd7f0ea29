"""Child processes that leave nothing behind: each in its own session, its output in a file, found by a mark."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

# In the environment of all that `headrace up` starts, and of what those start; the value is the state folder.
MARK = "HEADRACE_SERVED_FROM"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Service:
    """One running child and the file that its output goes to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def last_words(self, lines: int = 15) -> str:
        """The end of its log, indented, with the log's path."""
        tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
        return "\n".join([*("    " + _ANSI.sub("", line) for line in tail), f"  the whole log: {self.log}"])


def start(
    name: str, command: Sequence[str], *, home: Path, folder: Path, environment: Mapping[str, str]
) -> Service:
    """Start `command` in `folder`. The log of the time before is kept as `<name>.log.1`."""
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
            # Ctrl-C in the terminal reaches `headrace up` alone, which then stops its children in order.
            start_new_session=True,
        )
    return Service(name, process, log)


def stop(service: Service, seconds: float) -> bool:
    """Ask it to end and wait; False when it has not ended after `seconds`."""
    with suppress(ProcessLookupError):
        service.process.send_signal(signal.SIGTERM)
    try:
        service.process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def sweep(home: Path, seconds: float = 5) -> int:
    """End every process that carries the mark of `home`, by force after `seconds`; how many there were.

    PostgreSQL is spared: one that a child happened to start belongs to the state folder, not to the child.
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
    """Other users' processes cannot be asked, and are not ours."""
    try:
        return (
            process.pid != os.getpid()
            and process.name() != "postgres"
            and process.environ().get(MARK) == str(home)
        )
    except (psutil.Error, OSError):
        return False
