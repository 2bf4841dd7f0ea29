"""The embedded server: started concurrently, after crashes, by several users; stopped without leftovers."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psutil
import psycopg
import pytest

from headrace.database import connection as database
from headrace.database import embedded
from headrace.errors import CatalogUnavailable
from headrace.settings import settings
from tests.paths import WAIT_SECONDS

pytestmark = pytest.mark.slow

NOBODY = 65534
PROJECT = Path(__file__).parents[3]
START = """
import sys
from pathlib import Path
from headrace.database import embedded
print(embedded.start(Path(sys.argv[1])))
"""


@pytest.fixture
def home() -> Iterator[Any]:
    """Not below pytest's folder, which pytest closes to the server's user."""
    folder = Path(mkdtemp(prefix="headrace-embedded-"))
    yield folder / "home"
    embedded.stop(folder / "home")
    shutil.rmtree(folder)


def servers(home: Any) -> Any:
    """Processes of the server in this folder."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(home.resolve() / "postgres") in (process.info["cmdline"] or [])
    ]


def test_two_processes_start_one_server_and_it_outlives_them(home: Any) -> None:
    def start(_: Any) -> Any:
        return subprocess.run(
            [sys.executable, "-c", START, str(home)], cwd=PROJECT, capture_output=True, text=True, check=True
        ).stdout

    with ThreadPoolExecutor(2) as pool:
        urls = set(pool.map(start, range(2)))
    assert len(urls) == 1
    assert len(servers(home)) == 1
    with psycopg.connect(urls.pop().strip()) as connection:
        assert connection.info.dbname == "headrace"
    with psycopg.connect(embedded.dagster_url(home)) as connection:
        assert connection.info.dbname == "dagster"


def test_stop_leaves_no_process_and_start_finds_the_data_again(home: Any) -> None:
    url = embedded.start(home)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
    children = servers(home)[0].children(recursive=True) + servers(home)
    assert embedded.stop(home)
    assert not any(child.is_running() for child in children)
    assert not embedded.stop(home)
    assert not embedded.running(home)
    with psycopg.connect(embedded.start(home)) as connection:
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)


@pytest.mark.parametrize("pid", [None, os.getpid(), 999_999_999], ids=["none", "of another", "of nobody"])
def test_a_server_that_was_killed_is_started_again(home: Any, pid: Any) -> None:
    """Its postmaster.pid stays, and may name no process, or by now another program."""
    embedded.start(home)
    (server,) = servers(home)
    family = [server, *server.children(recursive=True)]
    stale = home / "postgres" / "postmaster.pid"
    content = stale.read_text()
    server.send_signal(signal.SIGKILL)
    psutil.wait_procs(family, timeout=WAIT_SECONDS)
    if pid is not None:
        stale.write_text("\n".join([str(pid), *content.split("\n")[1:]]))
    with psycopg.connect(embedded.start(home)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_living_process_starts_a_killed_server_again_and_not_a_stopped_one(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(home))
    monkeypatch.delenv("HEADRACE_DATABASE_URL", raising=False)
    settings.cache_clear()
    database.disconnect()
    try:
        engine = database.connect()
        (server,) = servers(home)
        family = [server, *server.children(recursive=True)]
        server.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=WAIT_SECONDS)
        time.sleep(1.1)  # a connection that was used a moment ago is not tested before its next use
        with database.transaction(engine) as cursor:
            assert cursor.execute("SELECT 1 AS one").fetchone() == {"one": 1}
        engine.dispose()
        assert embedded.stop(home)
        with pytest.raises(CatalogUnavailable), database.transaction(engine):
            pytest.fail("a stopped server was started")
        assert servers(home) == []
    finally:
        database.disconnect()
        settings.cache_clear()


def test_none_but_the_owner_can_open_the_socket(home: Any) -> None:
    embedded.start(home)
    (socket,) = [path for path in (home / "postgres").iterdir() if path.is_socket()]
    assert socket.stat().st_mode & 0o077 == 0


def test_a_path_too_long_for_a_socket(home: Any) -> None:
    long = home / ("x" * 60) / ("y" * 60)
    long.mkdir(parents=True)
    try:
        with psycopg.connect(embedded.start(long)) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        embedded.stop(long)


def test_a_folder_that_cannot_be_written_is_one_clear_message(home: Any) -> None:
    home.parent.joinpath("file").write_text("in the way")
    with pytest.raises(CatalogUnavailable, match=r"cannot write the state folder .*Set HEADRACE_HOME"):
        embedded.start(home.parent / "file" / "home")


def test_a_server_that_does_not_start_says_why(home: Any) -> None:
    embedded.start(home)
    embedded.stop(home)
    with (home / "postgres" / "postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = 1\n")
    with pytest.raises(CatalogUnavailable, match=r"(?s)does not start.*no_such_setting"):
        embedded.start(home)


def test_a_folder_with_a_space_and_signs_in_its_name(home: Any) -> None:
    odd = home / "my data+100%"
    odd.mkdir(parents=True)
    try:
        with psycopg.connect(embedded.start(odd)) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        embedded.stop(odd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as somebody else")
def test_another_user_of_the_machine_has_a_server_of_its_own(home: Any) -> None:
    """The server library's global lock file belongs to its first user; no one else may depend on it."""
    embedded.start(home)
    theirs = Path(mkdtemp(prefix="headrace-nobody-"))
    os.chown(theirs, NOBODY, NOBODY)
    context = multiprocessing.get_context(
        "fork"
    )  # a new interpreter may be in a folder that the other user cannot read
    with ProcessPoolExecutor(1, mp_context=context, initializer=_become_nobody) as nobody:
        try:
            nobody.submit(embedded.start, theirs / "home").result()
            (server,) = servers(theirs / "home")
            assert server.uids().real == NOBODY
            with pytest.raises(CatalogUnavailable, match="belongs to another user"):
                nobody.submit(embedded.start, home).result()
            assert nobody.submit(embedded.stop, theirs / "home").result()
        finally:
            embedded.stop(theirs / "home")
            shutil.rmtree(theirs)


def _become_nobody() -> None:
    os.setgid(NOBODY)
    os.setuid(NOBODY)
