"""Exceptions of databases, raised by java.sql or libpq or within a job of Spark's, as Headrace's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.connections.connection import Connection
from headrace.spark.errors import ResourceError, StoreUnavailable

# The classes of java.sql, and those of the drivers: PSQLException, SqlSyntaxErrorException, SQLServerException; ADBC's
# from a task of Spark's, such as `adbc_driver_manager.DataError: INVALID_DATA: [libpq] Failed to execute query`.
_OF_DATABASE = re.compile(
    r"(?:[\w$]+\.)*(?:\w*SQL\w*Exception|BatchUpdateException|Sql\w*Exception)(?:: (.*))?"
    r"|\badbc_driver_manager\.\w+: (?:[A-Z_]+: )?(?:\[libpq\] )?(.*)"
)
_OF_LIBPQ = ("psycopg", "adbc_driver_manager")  # the packages of its exceptions
_STATE = re.compile(r"SQLSTATE: (\w{5})")  # in ADBC's messages
_NO_DRIVER = re.compile(r"ClassNotFoundException: ([\w.$]+)")
_REFUSED = re.compile(
    r"authentication failed|Login failed|ORA-01017|SQL30082N|invalid username|user ID or password|"
    r"ERRORCODE=-4214|UserId, Password or Account is invalid|Connection authentication failure|"
    r"no pg_hba\.conf entry|no password (?:was provided|supplied)|role \"[^\"]*\" does not exist|SCRAM",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"Connection refused|Connection to \S+ refused|UnknownHost|connection attempt failed|ERRORCODE=-4499|"
    r"ORA-1[27]\d{3}|could not establish the connection|TCP/IP connection to the host|No route to host|timed out|"
    r"Connection reset|has been closed|could not translate host|failed to resolve host|No such file or directory|"
    r"database \"[^\"]*\" does not exist|server closed the connection|connection is closed|connection is lost",
    re.IGNORECASE,
)
_CANCELLED = (
    "57014",
    "XCL52",
    "HYT00",
)  # SQLSTATEs of a limit of time: PostgreSQL's and Db2's, Derby's, ODBC's
_NO_DATABASE = ("08", "3D", "XJ004")  # SQLSTATEs: no connection, unknown database


class StatementFailed(ResourceError):
    """A database refused a statement. state: its SQLSTATE, '' if unknown."""

    def __init__(self, message: str, state: str = "") -> None:
        super().__init__(message)
        self.state = state


@contextmanager
def explained(connection: Connection, subject: str = "", hidden: Collection[str] = ()) -> Iterator[None]:
    """Convert exceptions of the connection's database to StoreUnavailable or StatementFailed; others pass unchanged.

    subject: begins the message, as the name of a table. hidden: columns whose values may not be in it.
    """
    try:
        yield
    except ResourceError:
        raise
    except Exception as error:  # py4j and Spark have their own
        found = meaning(error, connection, subject, hidden)
        if found is None:
            raise
        raise found from error


def meaning(
    error: BaseException, connection: Connection, subject: str = "", hidden: Collection[str] = ()
) -> ResourceError | None:
    """Return the meaning of an exception for this connection, None if no database or driver raised it."""
    text = _text(error, connection)
    name, section = connection.name, f"[connections.{connection.name}] in headrace.toml"
    missing = _NO_DRIVER.search(text)
    if missing and missing[1] == connection.driver:
        return StoreUnavailable(
            f"The driver of the connection {name}, {connection.driver}, is not in Spark. Name its jar in `jars` of "
            f"{section}, and restart what runs already."
        )
    causes = [match[1] or match[2] for match in _OF_DATABASE.finditer(text) if match[1] or match[2]]
    if type(error).__module__.partition(".")[0] in _OF_LIBPQ:
        causes.append(str(error).partition("\n")[0])
    if not causes:
        return None
    cause, state = causes[-1].strip().rstrip("."), _state(error, text)
    if state.startswith("28") or _REFUSED.search(text):
        return StoreUnavailable(
            f"{connection.dialect.name} refuses the user of the connection {name}: {cause}. Correct `user`, and "
            f"`password_file` or HEADRACE_CONNECTIONS__{name.upper()}__PASSWORD."
        )
    if state in _CANCELLED or "SQLTimeoutException" in text:
        return StatementFailed(
            f"{connection.dialect.name} cancelled a statement of the connection {name}, which took too long: {cause}. "
            "Let an index serve it, or wait for a lock to be released.",
            state,
        )
    if state.startswith(_NO_DATABASE) or _UNREACHABLE.search(text):
        return StoreUnavailable(
            f"{connection.dialect.name} is not reached by the connection {name} at {connection.url}: {cause}. Check "
            f"that it runs, and correct `url` of {section}."
        )
    place = f"{subject}: " if subject else ""
    if hidden:
        cause = f"its message is hidden because it may contain values of {', '.join(sorted(hidden))}"
    return StatementFailed(f"{place}{connection.dialect.name} (connection {name}) failed: {cause}.", state)


def _text(error: BaseException, connection: Connection) -> str:
    """Return what an exception and its causes say, without the password."""
    lines: list[str] = []
    current: BaseException | None = error
    while current is not None and len(lines) < 12:  # a longer chain is a cycle
        lines += [str(current), str(getattr(current, "_stackTrace", None) or "")]
        current = current.__cause__
    text = "\n".join(line for line in "\n".join(lines).splitlines() if not line.startswith("\tat "))
    password = connection.password.get_secret_value() if connection.password else ""
    return text.replace(password, "***") if password else text


def _state(error: BaseException, text: str) -> str:
    """Return the SQLSTATE of an exception of libpq's, or of a java.sql.SQLException that py4j passes on."""
    if own := getattr(error, "sqlstate", None):
        return str(own)
    if of_task := _STATE.search(text):
        return of_task[1]
    java: Any = getattr(error, "java_exception", None)
    while java is not None:
        try:
            return str(java.getSQLState() or "")
        except Exception:  # py4j's, for an exception of another class
            java = java.getCause()
    return ""
