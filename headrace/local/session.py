"""One `headrace up` per state folder: a lock that is released when its holder dies, and a note of the holder."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


class ServiceError(Exception):
    """Headrace's services cannot start, run or stop; the message gives the reason and a solution."""


class AlreadyRunning(ServiceError):
    """Another `headrace up` serves this state folder."""


@dataclass(frozen=True, slots=True)
class Session:
    """A running `headrace up`: its process and, once known, the URLs of Dagster's UI and the service."""

    pid: int
    url: str | None = None
    service_url: str | None = None


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Acquire exclusive use of `home`; raises AlreadyRunning with process and URL.

    The system releases the lock of a killed process, so a stale note does no harm.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / "up.lock").open("a")
    except OSError as error:
        raise ServiceError(
            f"cannot write the state folder {home}: {error.strerror}. Set HEADRACE_HOME to one that you can write."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            session = read(home)
            where = f" at {session.url}" if session and session.url else ""
            who = f" (process {session.pid})" if session else ""
            raise AlreadyRunning(
                f"Headrace is already running{where}{who}. Stop it with Ctrl-C in its terminal or `headrace down`."
            ) from error
        write_note(home, Session(os.getpid()))
        try:
            yield
        finally:
            _note(home).unlink(missing_ok=True)


def is_free(home: Path) -> bool:
    """Return True if no process serves from `home`."""
    try:
        with alone(home):
            return True
    except AlreadyRunning:
        return False


def write_note(home: Path, session: Session) -> None:
    """Write the note atomically, so that readers never see a partial one."""
    fresh = _note(home).with_suffix(".new")
    fresh.write_text(json.dumps(asdict(session)), encoding="utf-8")
    fresh.replace(_note(home))


def read(home: Path) -> Session | None:
    """Return the note, current or stale; None without one."""
    try:
        return Session(**json.loads(_note(home).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _note(home: Path) -> Path:
    return home / "up.json"
