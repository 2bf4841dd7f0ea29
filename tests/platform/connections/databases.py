"""Databases of the tests: Derby within Spark's JVM, and PostgreSQL where its JDBC driver is installed."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL
from sqlalchemy.engine import make_url

from headrace.settings import settings
from tests.paths import POSTGRESQL_DRIVER

NO_DRIVER = f"no {POSTGRESQL_DRIVER} (`make drivers` installs it)"
NEEDS_DRIVER = pytest.mark.skipif(not POSTGRESQL_DRIVER.exists(), reason=NO_DRIVER)
BY_JDBC = "postgresql_by_jdbc"
DATABASES = ["derby", "postgresql", pytest.param(BY_JDBC, marks=NEEDS_DRIVER)]  # of tests that run on each
_NUMBERS = count()


@contextmanager
def configured(monkeypatch: pytest.MonkeyPatch, root: Path, toml: str) -> Iterator[None]:
    """Let the settings be those of a project with this headrace.toml."""
    (root / "headrace.toml").write_text(toml)
    monkeypatch.setenv("HEADRACE_PROJECT", str(root))
    settings.cache_clear()
    yield
    settings.cache_clear()


def derby(name: str) -> str:
    """The settings of a connection to a new database within the JVM."""
    return f'[connections.{name}]\nurl = "jdbc:derby:memory:{name}{next(_NUMBERS)};create=true"\n'


@dataclass
class Postgres:
    """A database of the tests' server, over TCP, as Java needs it."""

    url: URL  # for psycopg
    port: int

    def variables(self, *, jdbc: bool = False) -> dict[str, str]:
        """The settings of a connection to it, by the ends of their variables."""
        url = f"postgresql://127.0.0.1:{self.port}/{self.url.database}"
        jars = {"JARS": f'["{POSTGRESQL_DRIVER}"]'} if jdbc else {}
        return {
            "URL": f"jdbc:{url}" if jdbc else url,
            "USER": "postgres",
            "PASSWORD": "not checked",
            **jars,
        }

    def settings(self, name: str, user: str = "postgres", *, jdbc: bool = False) -> str:
        """The settings of a connection to it, as TOML."""
        found = self.variables(jdbc=jdbc)
        jars = f"jars = {found['JARS']}\n" if jdbc else ""
        return (
            f'[connections.{name}]\nurl = "{found["URL"]}"\nuser = "{user}"\n'
            f'password = "{found["PASSWORD"]}"\n{jars}'
        )

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.url.render_as_string(hide_password=False), autocommit=True)


@contextmanager
def postgres_over_tcp(server: str) -> Iterator[Postgres]:
    """A new database on the server, which itself listens on a socket in the filesystem only."""
    url = make_url(server).set(database=f"jdbc_{next(_NUMBERS)}")
    assert isinstance(url.query["host"], str)
    path = f"{url.query['host']}/.s.PGSQL.{url.query['port']}"

    def forward(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    class Forwarder(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as behind:
                behind.connect(path)
                back = threading.Thread(target=forward, args=(behind, self.request))
                back.start()
                forward(self.request, behind)
                back.join()

    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(str(url.database))))
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forwarder) as listener:
        listener.daemon_threads = True
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield Postgres(url, listener.server_address[1])
        listener.shutdown()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(str(url.database))))
