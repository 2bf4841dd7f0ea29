"""Target databases of the OL_* tables, by URL: PostgreSQL, DB2 or Teradata."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import Engine
from sqlalchemy.engine import URL, Dialect, make_url

from headrace.context import current_context
from headrace.errors import CatalogError

# By scheme of a URL: the driver, the package to install for it, and the database's name.
_DATABASES = {
    "postgresql": ("postgresql+psycopg", None, "PostgreSQL"),
    "postgres": ("postgresql+psycopg", None, "PostgreSQL"),
    "db2": ("db2+ibm_db", "db2", "DB2"),
    "ibm_db_sa": ("db2+ibm_db", "db2", "DB2"),
    "teradatasql": ("teradatasql", "teradata", "Teradata"),
}


class TargetRefused(CatalogError):
    """A database that cannot have the OL_* tables as requested; the message gives the reason and a solution."""


def lineage_database(url: str | None) -> str:
    """Return the given URL or the configured one. Raises TargetRefused if there is neither."""
    configured = current_context().settings.lineage_database_url
    found = url or (configured.get_secret_value() if configured else None)
    if found is None:
        raise TargetRefused("no database given: pass its URL, or set HEADRACE_LINEAGE_DATABASE_URL")
    return found


def dialect_of(url: str) -> Dialect:
    """Return the dialect of the database in the URL, without connecting. Raises TargetRefused."""
    parsed = _parsed(url)
    try:
        dialect = parsed.get_dialect()()
    except (sa.exc.NoSuchModuleError, ImportError) as error:
        raise _missing_driver(url) from error
    # DB2's dialect, which sets its own level on import, warns about every key that it compiles unconnected.
    logging.getLogger("ibm_db_sa").setLevel(logging.ERROR)
    return dialect


def engine_of(url: str) -> Engine:
    """Create an engine without connecting. Raises TargetRefused."""
    parsed = _parsed(url)
    try:
        return sa.create_engine(parsed)
    except (sa.exc.NoSuchModuleError, ImportError) as error:
        raise _missing_driver(url) from error


@contextmanager
def translating_errors(engine: Engine) -> Iterator[None]:
    """Convert the database's errors to TargetRefused; the message contains no password."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
        message = lines[0] if lines else type(error.orig).__name__
        password = engine.url.password
        if password:
            message = message.replace(str(password), "***")
        place = engine.url.render_as_string(hide_password=True)
        raise TargetRefused(f"{place}: {message}") from error


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (sa.exc.ArgumentError, ValueError) as error:
        raise TargetRefused(
            "not a database URL: write postgresql://user:password@host:5432/database, "
            "db2://user:password@host:50000/database or teradatasql://user:password@host"
        ) from error
    kind = parsed.drivername.split("+")[0]
    if kind not in _DATABASES:
        raise TargetRefused(
            f"{kind!r} is not supported for OL_* tables: "
            "use the URL of PostgreSQL (postgresql://), DB2 (db2://) or Teradata (teradatasql://)"
        )
    return parsed.set(drivername=_DATABASES[kind][0])


def _missing_driver(url: str) -> TargetRefused:
    _, extra, name = _DATABASES[make_url(url).drivername.split("+")[0]]
    return TargetRefused(f"{name}'s driver is not installed: pip install 'headrace[{extra}]'")
