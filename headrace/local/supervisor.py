"""Run the service on one machine: start its processes, watch them, and stop them completely.

Own code instead of honcho or circus: each process starts when the one before is healthy, and a stop cancels the runs of
Dagster and PostgreSQL's sessions in order, which a Procfile cannot express.
"""

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import FrameType

import psycopg
import sqlalchemy as sa

from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import embedded
from headrace.errors import CatalogUnavailable
from headrace.local import ports as webserver
from headrace.local import processes, session
from headrace.local import services as parts
from headrace.local.environment import environment
from headrace.local.preflight import preflight
from headrace.local.servers import SERVICE
from headrace.local.session import AlreadyRunning, ServiceError, Session
from headrace.nouns import counted
from headrace.project import project_root

Say = Callable[[str], None]


def _print(text: str) -> None:
    with suppress(OSError):  # the terminal was closed, which must not leave the services running
        print(text, flush=True)


SESSIONS_END_SECONDS = 5.0
LOCK_SECONDS = 5.0  # between two questions whether the daemon lock is still held
DAEMON_LOCK = 0x6865616472616365 + 1  # one `up` per database


def up(port: int | None = None, *, workspace: Path | None = None, say: Say = _print) -> None:
    """Serve Dagster's UI and daemon on 127.0.0.1 until Ctrl-C, SIGTERM or SIGHUP; then stop everything.

    port: the UI's; by default the first free one from 3000 on. Returns when stopped on demand. Raises PreflightError,
    CatalogError, AlreadyRunning (also if another `up` serves the same database), and ServiceError if the port is
    taken, a service does not start, or one exits.
    """
    preflight()
    home = current_context().settings.home.resolve()
    with (
        session.alone(home),
        _signalled() as stop_wanted,
        _port("Dagster's UI", port, webserver.FIRST_PORT) as port,
        _port("the service", None, SERVICE.first_port) as service_port,
        _only_daemon(home) as daemon_lock,
    ):
        processes.sweep(home)  # left by a killed `up`
        url = f"http://{webserver.HOST}:{port}"
        service_url = f"http://{webserver.HOST}:{service_port}"
        session.write_note(home, Session(os.getpid(), url, service_url))
        say("Starting Headrace; Ctrl-C stops it.")
        os.environ.update({**environment(), **_shared(url, service_url)})
        workspace = workspace or project_root() / "workspace.yaml"
        with parts.running(home, workspace, port, service_port, stop_wanted, say) as services:
            if not stop_wanted.is_set():
                say(_welcome(home, url, service_port, webserver.health(port).load_errors))
            reloads = parts.Reloads(workspace, port)
            while not stop_wanted.wait(0.5):
                parts.check_alive(services)
                for service in services:
                    processes.rotate(service)
                daemon_lock.keep()
                if current_context().settings.database_url is None and embedded.was_killed(home):
                    _start_again(home, say)
                reloads.keep(say)
            say("Stopping Headrace.")
        _stop_database(home, say)
        say("Headrace has stopped.")


@dataclass(frozen=True, slots=True)
class StoppedServices:
    """The services that `down` stopped, in words, and the sessions of other commands that still use PostgreSQL."""

    services: tuple[str, ...]
    sessions: tuple[str, ...] = ()


def down(*, force: bool = False) -> StoppedServices:
    """Stop what `up` started, from another terminal or after it was killed, and the embedded PostgreSQL.

    PostgreSQL keeps running while other commands use it, unless `force`. Raises AlreadyRunning if another user's `up`
    prevents it, CatalogUnavailable if PostgreSQL does not stop.
    """
    sessions: tuple[str, ...] = ()
    home = current_context().settings.home.resolve()
    stopped: list[str] = []
    if home.exists():
        if _ask_to_stop(home):
            stopped.append("Headrace")
        with session.alone(home):
            if leftovers := processes.sweep(home):
                stopped.append(f"{counted(leftovers, 'process')} that a killed `headrace up` had left")
            parts.remove_sockets(home)
            if current_context().settings.database_url is None:
                sessions = () if force else _other_sessions(home)
                database.disconnect()
                if not sessions and embedded.stop(home):
                    stopped.append("PostgreSQL")
    return StoppedServices(tuple(stopped), sessions)


def clean() -> tuple[StoppedServices, Path | None]:
    """Run `down`, then delete the state folder; a database or warehouse configured elsewhere stays.

    Returns what was stopped and the deleted folder, None if there was none or other commands use its database. Raises
    ServiceError if the state folder contains other files.
    """
    home = current_context().settings.home.resolve()
    if any(kept.is_relative_to(home) for kept in (project_root(), Path.home())):
        raise ServiceError(
            f"{home} holds more than Headrace's state and is not deleted. Correct HEADRACE_HOME."
        )
    stopped = down()
    if not home.exists() or stopped.sessions:
        return stopped, None
    shutil.rmtree(home)
    return stopped, home


@contextmanager
def _signalled() -> Iterator[Event]:
    """Yield an event that Ctrl-C, SIGTERM and SIGHUP set; a second Ctrl-C ends the wait for an orderly stop."""
    stop_wanted = Event()

    def note(number: int, _: FrameType | None) -> None:
        if stop_wanted.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop_wanted.set()

    before = {
        number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield stop_wanted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _shared(dagster_url: str, service_url: str) -> dict[str, str]:
    """Return the settings shared by every project that this `up` serves, whatever its own headrace.toml contains."""
    here = current_context().settings
    shared = {
        "HEADRACE_SERVICE_URL": service_url,
        "HEADRACE_DAGSTER_URL": here.dagster_url or dagster_url,
        "HEADRACE_DAGSTER_API_URL": here.dagster_api_url or dagster_url,
        "HEADRACE_ARCHIVE": here.archive_location,
    }
    return shared | ({"HEADRACE_DATABASE_URL": here.database_url} if here.database_url else {})


@contextmanager
def _port(what: str, wanted: int | None, first: int) -> Iterator[int]:
    with webserver.reserved_port(wanted, first) as port:
        if port is None and wanted is not None:
            raise ServiceError(
                f"port {wanted} is used by another program. Choose a free one with --port, or omit --port."
            )
        if port is None:
            raise ServiceError(
                f"the ports from {first} to {first + 99}, for {what}, are all in use. Free one."
            )
        yield port


class _DaemonLock:
    """Keeps other `up`s off a database set by database_url, for the life of a session of its own.

    Two daemons on one database would execute each other's runs, with the wrong settings and archive folder. An embedded
    database needs no lock: its state folder has one.
    """

    def __init__(self, home: Path) -> None:
        self._name = f"headrace up {socket.gethostname()}:{home}"
        self._session: psycopg.Connection | None = None
        self._asked: float | None = None

    def keep(self) -> None:
        """Take the lock; again if its session was lost (a failover, a firewall). Called often, it asks now and then.

        Raises AlreadyRunning with the place of the `up` that has it, CatalogUnavailable at the first call only: a
        database that is lost later is asked again.
        """
        now = time.monotonic()
        first = self._asked is None
        if current_context().settings.database_url is None or (
            self._asked is not None and now - self._asked < LOCK_SECONDS
        ):
            return
        self._asked = now
        if self._is_held():
            return
        try:
            self._take()
        except (CatalogUnavailable, psycopg.OperationalError):
            if first:
                raise

    def release(self) -> None:
        """Close the session, which frees the lock."""
        if self._session is not None:
            self._session.close()

    def _is_held(self) -> bool:
        try:
            if self._session is not None:
                self._session.execute("SELECT 1")
                return True
        except psycopg.OperationalError:
            self._session = None
        return False

    def _take(self) -> None:
        session = database.open_session(database.connect())
        session.execute("SELECT set_config('application_name', %s, false)", [self._name])
        if session.execute("SELECT pg_try_advisory_lock(%s)", [DAEMON_LOCK]).fetchone() != (True,):
            holder = _holder(session)
            session.close()
            raise AlreadyRunning(
                f"another `headrace up` serves this database ({holder}), and would execute this one's runs. "
                "Stop it there, serve both projects by one workspace.yaml, or set another database_url."
            )
        self._session = session


@contextmanager
def _only_daemon(home: Path) -> Iterator[_DaemonLock]:
    """Hold the lock of the database's only daemon; raises AlreadyRunning."""
    lock = _DaemonLock(home)
    try:
        lock.keep()
        yield lock
    finally:
        lock.release()


def _holder(own: psycopg.Connection) -> str:
    """Return the place of the `up` with the daemon lock."""
    row = own.execute(
        """
        SELECT application_name
        FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32) | objid::bigint = %s
        """,
        [DAEMON_LOCK],
    ).fetchone()
    return str(row[0]) if row else "which has just ended"


def _welcome(home: Path, url: str, service_port: int, load_errors: dict[str, str]) -> str:
    database_place = (
        "set by database_url" if current_context().settings.database_url else f"embedded, {home / 'postgres'}"
    )
    lines = [
        "",
        "  Headrace is up",
        f"    Dagster UI   {url}",
        f"    pages        http://{webserver.HOST}:{service_port}",
        f"    API          http://{webserver.HOST}:{service_port}/api/v1/docs",
        f"    database     {database_place}",
        f"    warehouse    {current_context().settings.warehouse_uri}",
        f"    logs         {home / 'logs'}",
        "    stop         Ctrl-C here, or `headrace down` in another terminal",
    ]
    for location, message in load_errors.items():
        first, *_ = message.strip().splitlines()
        lines += [
            "",
            f"  The code location {location} did not load: {first}",
            "    the full error is in the UI, under Deployment",
        ]
    return "\n".join([*lines, ""])


def _start_again(home: Path, say: Say) -> None:
    """Start the killed PostgreSQL; it may need some tries, until the processes of the killed one have ended."""
    say("PostgreSQL was killed; starting it again.")
    deadline = time.monotonic() + parts.START_SECONDS
    while True:
        try:
            embedded.start(home)
        except CatalogUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
        else:
            return


def _stop_database(home: Path, say: Say) -> None:
    """Stop PostgreSQL with the services, unless another command uses it."""
    if current_context().settings.database_url is not None:
        return
    sessions = _other_sessions(home)
    database.disconnect()
    if sessions:
        say(f"PostgreSQL keeps running for {', '.join(sessions)}; afterwards `headrace down` stops it.")
    else:
        embedded.stop(home)


def _other_sessions(home: Path) -> tuple[str, ...]:
    """Return the other processes that use the embedded PostgreSQL, by the name that each gives itself."""
    if not embedded.running(home):
        return ()
    database.disconnect()
    activity = sa.table(
        "pg_stat_activity", sa.column("pid"), sa.column("backend_type"), sa.column("application_name")
    )
    others = (
        sa.select(activity.c.application_name)
        .distinct()
        .where(activity.c.backend_type == "client backend", activity.c.pid != sa.func.pg_backend_pid())
    )
    deadline = time.monotonic() + SESSIONS_END_SECONDS
    engine = database.engine_for(embedded.start(home))
    with database.reading(engine) as connection:
        while (names := connection.scalars(others).all()) and time.monotonic() < deadline:
            connection.rollback()  # for a fresh look: the sessions of processes that just ended end as well
            time.sleep(0.2)
    engine.dispose()
    return tuple(name or "a session without a name" for name in names)


def _ask_to_stop(home: Path) -> bool:
    """Send SIGTERM to the `up` that holds the state folder, and finally SIGKILL; returns False if there is none."""
    deadline = time.monotonic() + parts.STOPPED_SECONDS
    asked: int | None = None
    while not session.is_free(home):
        running = session.read(home)
        if running and running.pid != asked:
            _signal(running.pid, signal.SIGTERM)
            asked = running.pid
        if asked and time.monotonic() > deadline:
            _signal(asked, signal.SIGKILL)
            deadline = time.monotonic() + parts.STOPPED_SECONDS
        time.sleep(0.2)
    return asked is not None


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise AlreadyRunning(f"Another user runs Headrace (process {pid}). Stop it as that user.") from error
