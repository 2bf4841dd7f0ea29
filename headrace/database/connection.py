"""Connections to the catalog's database: one pooled engine per process, schema migrated, errors readable."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import PoolProxiedConnection

from headrace.context import current_context
from headrace.database import embedded, repeatable
from headrace.database.migrations import HEAD
from headrace.database.repeatable import ScriptChanges
from headrace.database.row_security import keep_to_caller
from headrace.errors import CatalogError, CatalogUnavailable, Forbidden, SchemaOutdated

_LOCK = threading.Lock()
_ENGINES: dict[tuple[int, str], Engine] = {}
_MIGRATION_LOCK = 0x6865616472616365  # "headrace"
_OLDEST_SERVER = 150000  # NULLS NOT DISTINCT
_IDLE_SECONDS = 1.0
_KEEPALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}


def connect() -> Engine:
    """Return the engine of the configured catalog, cached for this process, with its schema upgraded.

    Raises CatalogUnavailable with what to do, SchemaOutdated when the database is newer than this code or shared.
    """
    configured = current_context().settings.database_url
    with _LOCK:
        key = (os.getpid(), configured or str(current_context().settings.home))
        if key not in _ENGINES:
            engine = engine_for(configured or embedded.start(current_context().settings.home))
            if configured is None:
                sa.event.listen(
                    engine, "do_connect", partial(_connect_embedded, current_context().settings.home)
                )
            _upgrade_own(engine)
            _ENGINES[key] = engine
        return _ENGINES[key]


def connect_if_running() -> Engine | None:
    """Return the engine of the configured catalog, None while its embedded server is stopped. Raises CatalogError."""
    settings = current_context().settings
    return connect() if settings.database_url is not None or embedded.running(settings.home) else None


def disconnect() -> None:
    """Close the cached engine; the next `connect` creates a new one (after the server was stopped, a setting
    changed).
    """
    with _LOCK:
        for engine in _ENGINES.values():
            engine.dispose()
        _ENGINES.clear()


def dagster_url() -> str:
    """Return the URL of Dagster's storage: the configured database, or `dagster` on the embedded server."""
    configured = current_context().settings.database_url
    return configured or embedded.dagster_url(current_context().settings.home)


def engine_for(url: str, *, pool_size: int = 16) -> Engine:
    """Return an engine on any PostgreSQL URL, not connected yet. Raises CatalogUnavailable for another URL."""
    try:
        parsed = make_url(url)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: a port that is not a number
        raise CatalogUnavailable(
            "HEADRACE_DATABASE_URL is not a URL: write postgresql://user:password@host:5432/database"
        ) from error
    if parsed.drivername.split("+")[0] not in {"postgresql", "postgres"}:
        raise CatalogUnavailable(
            f"HEADRACE_DATABASE_URL has the scheme {parsed.drivername!r}: the catalog needs postgresql://"
        )
    parsed = parsed.set(drivername="postgresql+psycopg")
    missing = {
        name: value
        for name, value in {
            "connect_timeout": "10",
            "application_name": _application_name(),
            **_KEEPALIVE,
        }.items()
        if name not in parsed.query
    }
    # A new connection has to plan its statements again: none is closed after use, and the last used is taken first.
    engine = sa.create_engine(
        parsed.update_query_dict(missing), pool_size=pool_size, max_overflow=0, pool_use_lifo=True
    )
    sa.event.listen(engine, "connect", _prepare_session)
    sa.event.listen(engine, "begin", _keep_to_caller)
    sa.event.listen(engine, "checkin", _note_use)
    sa.event.listen(engine, "checkout", _test_idle)
    return engine


def _application_name() -> str:
    """Return the name by which an administrator finds this process among the server's sessions."""
    return f"{' '.join([Path(sys.argv[0]).name, *sys.argv[1:2]])} {socket.gethostname()}:{os.getpid()}"


def revision(engine: Engine) -> str | None:
    """Return the database's Alembic revision, by one cheap query; None where the catalog is not installed."""
    with reading(engine) as connection:
        return _revision(connection)


def _revision(connection: Connection) -> str | None:
    if connection.scalar(sa.text("SELECT to_regclass('catalog.alembic_version')")) is None:
        return None
    found = connection.scalar(sa.text("SELECT version_num FROM catalog.alembic_version"))
    return None if found is None else str(found)


def _upgrade_own(engine: Engine) -> None:
    """Upgrade a catalog that no other project uses, if it needs it.

    Raises SchemaOutdated where other projects use the catalog: `upgrade` is for them.
    """
    found = revision(engine)
    scripts = _pending_scripts(engine) if found == HEAD else None
    if scripts is not None and not scripts.is_upgrade:
        return
    if found is not None and found <= HEAD:
        _refuse_shared(engine, found, scripts)
    migrate(engine)


def _refuse_shared(engine: Engine, found: str, scripts: ScriptChanges | None) -> None:
    with reading(engine) as connection:
        rows = connection.execute(
            sa.text("SELECT name, platform_version FROM catalog.project WHERE name <> :name ORDER BY name"),
            {"name": current_context().settings.project_name},
        ).all()
    if not rows:
        return
    others = ", ".join(f"{row.name} (with {row.platform_version})" for row in rows)
    if scripts is not None:
        raise SchemaOutdated(
            f"the catalog at {_place(engine)} has the functions and views of Headrace {scripts.platform_version}, and "
            f"this version ({version('headrace')}) has different ones. Other projects use the catalog: {others}. Run "
            "`headrace catalog upgrade`; the other projects continue to work."
        )
    raise SchemaOutdated(
        f"the catalog at {_place(engine)} is at revision {found}, and this version of Headrace needs {HEAD}. Other "
        f"projects use it: {others}. Upgrade the platform in each of them, then run `headrace catalog upgrade`."
    )


def upgrade(engine: Engine | None = None) -> str:
    """Upgrade a catalog that several projects share to this platform's schema, and return its revision.

    Raises SchemaOutdated, and changes nothing, when the catalog was upgraded by a newer platform.
    """
    configured = current_context().settings.database_url
    engine = engine or engine_for(configured or embedded.start(current_context().settings.home))
    migrate(engine)
    left = _pending_scripts(engine)
    if left.changed:
        raise SchemaOutdated(
            f"the catalog at {_place(engine)} has the functions and views of Headrace {left.platform_version}, "
            f"which is newer than this version ({version('headrace')}): nothing was changed. "
            "This version works with them."
        )
    return HEAD


def migrate(engine: Engine) -> None:
    """Apply the revisions, then the repeatable scripts; of several processes that call it together one does the work.

    Leaves the scripts of a newer platform as they are. Raises SchemaOutdated when the database is at a revision that
    this code does not know.
    """
    from alembic.command import upgrade as run_migrations
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    with reading(engine) as connection:
        server = connection.connection.dbapi_connection.info.server_version  # type: ignore[union-attr]
        if server < _OLDEST_SERVER:
            raise CatalogUnavailable(
                f"{_place(engine)} is PostgreSQL {server // 10000}: the catalog needs 15 or newer"
            )
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        connection.execute(sa.text("CREATE SCHEMA IF NOT EXISTS catalog"))
        config.attributes["connection"] = connection
        before = _revision(connection)
        try:
            run_migrations(config, "head")
        except CommandError as error:
            raise SchemaOutdated(
                f"the catalog at {_place(engine)} is at revision {before}, which this version of Headrace "
                f"does not know (it knows up to {HEAD}). Update Headrace, or point HEADRACE_DATABASE_URL elsewhere."
            ) from error
        repeatable.apply(connection, all_scripts=before != HEAD)
        # Always: an administrator may have made the roles since the last call.
        connection.execute(sa.text("SELECT catalog.protect()"))
        connection.commit()


def _pending_scripts(engine: Engine) -> ScriptChanges:
    with reading(engine) as connection:
        return repeatable.pending(connection)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a SQLAlchemy connection, rolled back unless committed; a lost database raises CatalogUnavailable."""
    with translated(engine), engine.connect() as connection:
        yield connection


@contextmanager
def transaction(engine: Engine) -> Iterator[psycopg.Cursor[dict[str, Any]]]:
    """Open a psycopg cursor (rows are dicts) in one transaction, committed at the end, rolled back on an exception.

    Raises CatalogUnavailable when the database is lost.
    """
    with translated(engine):
        pooled = engine.raw_connection()
        connection = pooled.driver_connection
        assert isinstance(connection, psycopg.Connection)  # noqa: S101 - engine_for chose the driver
        try:
            keep_to_caller(connection)
            with connection.cursor(row_factory=dict_row) as cursor:
                yield cursor
            connection.commit()
        except psycopg.OperationalError:
            if connection.closed:
                engine.dispose()  # the pool's others are dead as well
            raise
        finally:
            pooled.close()  # back to the pool, which rolls back what was not committed


@contextmanager
def own_session(engine: Engine) -> Iterator[psycopg.Connection]:
    """Yield an open session (`open_session`) and close it at the end of the block."""
    with open_session(engine) as session:
        yield session


def open_session(engine: Engine) -> psycopg.Connection:
    """Open a connection outside the pool, for a lock that is kept for hours; closing it frees its locks.

    A new one: one from the pool would be the one with the catalog's prepared statements, lost with it.
    """
    arguments, options = engine.dialect.create_connect_args(engine.url)
    with translated(engine):
        session = psycopg.connect(*arguments, **options, autocommit=True)
        # An idle limit would free the lock of a live process; a vanished host must not keep it.
        session.execute(
            "SET idle_session_timeout = 0; SET tcp_keepalives_idle = 30; SET tcp_keepalives_count = 4"
        )
    return session


@contextmanager
def translated(engine: Engine) -> Iterator[None]:
    """Translate driver errors of a lost or full database to CatalogUnavailable.

    Refusals by row-level security become Forbidden.
    """
    try:
        yield
    except (psycopg.errors.InsufficientPrivilege, sa.exc.ProgrammingError) as error:
        caller = current_context().principal
        if caller is None or not isinstance(
            getattr(error, "orig", error), psycopg.errors.InsufficientPrivilege
        ):
            raise
        raise Forbidden(
            f"{caller.subject} may not read or change that in organisation {caller.organisation}"
        ) from error
    except psycopg.OperationalError as error:
        raise _readable(engine, error) from error
    except sa.exc.OperationalError as error:
        raise _readable(engine, error.orig) from error


def _connect_embedded(
    home: Path, dialect: sa.Dialect, _: object, arguments: list[Any], options: dict[str, Any]
) -> Any:  # noqa: ANN401 - a connection of the driver
    """Connect to the embedded server; one that was killed, and not stopped, is started again."""
    try:
        return dialect.connect(*arguments, **options)
    except psycopg.OperationalError:
        if not embedded.was_killed(home):
            raise
        embedded.start(home)
        return dialect.connect(*arguments, **options)


def _keep_to_caller(connection: Connection) -> None:
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, psycopg.Connection)  # noqa: S101 - engine_for chose the driver
    keep_to_caller(driver)


def _note_use(_: object, record: PoolProxiedConnection) -> None:
    record.info["used"] = time.monotonic()


def _test_idle(connection: psycopg.Connection, record: PoolProxiedConnection, _: object) -> None:
    """Make the pool drop a connection that died while idle (a server restart); a busy one is not tested."""
    if time.monotonic() - record.info.get("used", time.monotonic()) < _IDLE_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.OperationalError as error:
        raise sa.exc.DisconnectionError from error


def _prepare_session(connection: psycopg.Connection, _: object) -> None:
    # jit: the planner's estimates for recursive and jsonb queries trigger a compilation that costs more than the
    # queries.
    connection.execute("SET timezone = 'UTC'; SET jit = off")
    connection.commit()


def _readable(engine: Engine, error: BaseException | None) -> CatalogError:
    """Return the error for a person; neither the message nor the place shows a password."""
    state = getattr(error, "sqlstate", None)
    place = _place(engine)
    # libpq's lines that begin with a tab are guesses ("Is the server running?") about the line before.
    text = [line for line in str(error).strip().splitlines() if not line.startswith("\t")]
    message = text[-1].removeprefix("- ").rstrip(".") if text else "no connection"
    password = engine.url.password
    if password:
        message = message.replace(str(password), "***")
    if (
        state in {"28P01", "28000"}
        or "authentication failed" in message
        or "no password supplied" in message
        or ("role" in message and "does not exist" in message)
    ):
        return CatalogUnavailable(f"{place} refused the user or the password. Correct HEADRACE_DATABASE_URL.")
    if state == "3D000" or ('database "' in message and "does not exist" in message):
        return CatalogUnavailable(
            f"{place} does not exist on that server. Create it: createdb {engine.url.database}"
        )
    if state in {"53100", "53200"}:
        return CatalogUnavailable(f"{place} has no space left: {message}. Free some, then retry.")
    if state in {"57014", "55P03", "40001", "40P01"}:
        return CatalogUnavailable(f"{place} cancelled a statement: {message}. Retry.")
    return CatalogUnavailable(
        f"{place} cannot be reached: {message}. Check that the server runs and HEADRACE_DATABASE_URL is right"
        " (without it, Headrace starts its own server)."
    )


def _place(engine: Engine) -> str:
    url = engine.url
    host = url.host or url.query.get("host", "localhost")
    return f"the catalog database {url.database!r} at {host}{f':{url.port}' if url.port else ''}"
