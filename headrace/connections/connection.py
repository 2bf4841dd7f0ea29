"""A named connection of the settings, with its dialect, driver and password."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from pydantic import SecretStr

from headrace.connections.dialects import DIALECTS, Dialect, engine_of
from headrace.context import current_context
from headrace.settings import ConnectionSettings
from headrace.spark.errors import StoreUnavailable

CATALOG = "catalog"  # the connection to the catalog's own database, which needs no settings


@dataclass(frozen=True, slots=True)
class Connection:
    """A database: its address and the driver's properties, of which `secrets` are never shown.

    driver: the class of a JDBC driver; None: PostgreSQL's libpq, which needs none.
    """

    name: str
    url: str
    driver: str | None
    dialect: Dialect
    properties: Mapping[str, str]
    password: SecretStr | None = field(repr=False)

    @property
    def secrets(self) -> dict[str, str]:
        """The driver's properties, with the password."""
        if self.password is None:
            return dict(self.properties)
        return {**self.properties, "password": self.password.get_secret_value()}

    @property
    def conninfo(self) -> str:
        """The connection string of libpq, with the password."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(self.url, **self.secrets)

    @property
    def spark_options(self) -> dict[str, str]:
        """The options of Spark's JDBC source, which Spark redacts: `password` in every log, `url` in plans."""
        return {"url": self.url, "driver": str(self.driver), **self.secrets}


def connection(name: str) -> Connection:
    """Return the connection of this name in the settings; `catalog` is the catalog's database, unless they have one.

    Raises StoreUnavailable for an unknown one, a database without a dialect, and an unreadable password file.
    """
    known = current_context().settings.connections
    if name not in known and name == CATALOG:
        return _to_catalog()
    if name not in known:
        raise StoreUnavailable(
            f"There is no connection {name!r}. Add [connections.{name}] with its `url` to headrace.toml; there "
            f"{'are ' + ', '.join(sorted(known)) if known else 'are none'}."
        )
    found = known[name]
    engine = engine_of(found.url)
    if engine not in DIALECTS:
        raise StoreUnavailable(
            f"The connection {name} is to jdbc:{engine}, whose dialect Headrace does not know; it knows "
            f"{', '.join(sorted(DIALECTS))}."
        )
    dialect = DIALECTS[engine]
    user = {"user": found.user} if found.user else {}
    properties = {**found.properties, **user}
    driver = (found.driver or dialect.driver) if found.url.startswith("jdbc:") else None
    return Connection(name, found.url, driver, dialect, properties, _password(name, found))


def _to_catalog() -> Connection:
    from headrace.database.connection import connect  # psycopg, which loading declarations does not need

    engine = connect()
    _, given = engine.dialect.create_connect_args(engine.url)
    password = SecretStr(str(given["password"])) if given.get("password") else None
    properties = {
        name: str(value)
        for name, value in given.items()
        if name not in ("context", "password", "application_name", "connect_timeout")
    }
    return Connection(
        CATALOG,
        f"postgresql:///{quote(engine.url.database or '', safe='')}",
        None,
        DIALECTS["postgresql"],
        properties,
        password,
    )


def _password(name: str, found: ConnectionSettings) -> SecretStr | None:
    if found.password_file is None:
        return found.password
    try:
        return SecretStr(found.password_file.expanduser().read_text(encoding="utf-8").rstrip("\r\n"))
    except OSError as error:
        raise StoreUnavailable(
            f"The password file {found.password_file} of the connection {name} cannot be read "
            f"({error.strerror}). Correct `password_file` of [connections.{name}] in headrace.toml."
        ) from error
