"""Statements over java.sql in Spark's JVM, with a JDBC driver: Spark reads and writes the rows with the same one.

A cell costs a round trip to the JVM: tens of thousands are for Spark's JDBC source.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from headrace.connections.connection import Connection
from headrace.connections.database import ANSWER_SECONDS, Database, Value
from headrace.connections.failures import explained
from headrace.spark.errors import StoreUnavailable
from headrace.spark.hadoop import has_client
from headrace.spark.java_sql import connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class JdbcDatabase(Database):
    """An open java.sql.Connection."""

    def __init__(self, connection: Connection, jvm: Any, java: Any) -> None:  # noqa: ANN401 - objects of the JVM
        super().__init__(connection)
        self._vm = jvm
        self._java = java

    @override
    def query(
        self,
        sql: str,
        values: Sequence[Value] = (),
        max_rows: int | None = None,
        seconds: int | None = None,
    ) -> list[dict[str, Value]]:
        with explained(self.connection):
            statement = self._java.prepareStatement(sql)
            try:
                for place, value in enumerate(values, 1):
                    self._bind(statement, place, value)
                if max_rows is not None:
                    statement.setMaxRows(max_rows)
                if seconds is not None:
                    statement.setQueryTimeout(seconds)
                found = statement.executeQuery()
                shape = found.getMetaData()
                columns = [
                    (place, shape.getColumnLabel(place), shape.getColumnTypeName(place).lower())
                    for place in range(1, shape.getColumnCount() + 1)
                ]
                rows = []
                while found.next():
                    rows.append({label: self._value(found, place, type) for place, label, type in columns})
                return rows
            finally:
                statement.close()
                self._java.rollback()

    @override
    def execute(self, *statements: str) -> None:
        with explained(self.connection):
            statement = self._java.createStatement()
            try:
                for each in statements:
                    statement.execute(each)
                self._java.commit()
            finally:
                statement.close()
                self._java.rollback()

    @override
    def call(self, sql: str, values: Sequence[Value] = ()) -> None:
        with explained(self.connection):
            statement = self._java.prepareCall(sql)
            try:
                for place, value in enumerate(values, 1):
                    self._bind(statement, place, value)
                statement.execute()
                self._java.commit()
            finally:
                statement.close()
                self._java.rollback()

    @override
    def relations(self, schema: str, prefix: str) -> dict[str, str]:
        with explained(self.connection):
            metadata = self._java.getMetaData()
            escape = metadata.getSearchStringEscape()

            def literally(text: str) -> str:
                return "".join(f"{escape}{each}" if each in "_%" else each for each in text)

            found = metadata.getTables(None, literally(schema), literally(prefix) + "%", None)
            relations = {}
            while found.next():
                name = found.getString("TABLE_NAME")
                found_in = str(found.getString("TABLE_SCHEM"))
                if self.dialect.folding == "none":  # their case does not matter
                    found_in, schema = found_in.lower(), schema.lower()
                # Derby has no escape, so that `_` stands for any character.
                if name.startswith(prefix) and found_in == schema:
                    relations[name] = found.getString("TABLE_TYPE")
            found.close()
            return relations

    def _bind(self, statement: Any, place: int, value: Value) -> None:  # noqa: ANN401
        sql = self._vm.java.sql
        match value:
            case None | bool():
                statement.setObject(place, value)
            case int():
                statement.setBigDecimal(place, self._vm.java.math.BigDecimal(str(value)))
            case Decimal():
                statement.setBigDecimal(place, self._vm.java.math.BigDecimal(format(value, "f")))
            case dt.datetime() if value.tzinfo is not None:
                instant = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"
                of_instant = getattr(sql.Timestamp, "from")  # a word of Python's
                statement.setTimestamp(place, of_instant(self._vm.java.time.Instant.parse(instant)))
            case dt.datetime():
                statement.setTimestamp(place, sql.Timestamp.valueOf(value.isoformat(" ")))
            case dt.date():
                statement.setDate(place, sql.Date.valueOf(value.isoformat()))
            case _:
                statement.setObject(place, value)

    def _value(self, found: Any, place: int, type: str) -> Value:  # noqa: ANN401
        if "timestamptz" in type or "with time zone" in type or "datetimeoffset" in type:
            moment = found.getTimestamp(place)
            return None if moment is None else dt.datetime.fromisoformat(moment.toInstant().toString())
        if "clob" in type:
            return None if (text := found.getString(place)) is None else str(text)
        value = found.getObject(place)
        if type.startswith(("timestamp", "datetime")) or (type == "date" and value is not None):
            moment = found.getTimestamp(place)
            if moment is None:
                return None
            time = dt.datetime.fromisoformat(moment.toLocalDateTime().toString())
            return time.date() if type == "date" and time.time() == dt.time() else time
        if value is None or isinstance(value, str | int | float | Decimal | bool | bytes):
            return value
        return str(found.getString(place))


@contextmanager
def opened_by_jdbc(connection: Connection, session: SparkSession) -> Iterator[Database]:
    """Connect to the database.

    Raises StoreUnavailable if the driver is missing, the database is not reached, or refuses the user; always with
    Spark Connect, which gives no access to drivers.
    """
    assert connection.driver is not None  # noqa: S101 - JDBC's
    if not has_client(session):
        raise StoreUnavailable(
            f"The connection {connection.name} needs Spark's JVM, to which Spark Connect gives no access. Set "
            "spark.master instead of spark.remote."
        )
    with explained(connection):
        jvm, java = connect(session, connection.driver, connection.url, connection.secrets, ANSWER_SECONDS)
    if java is None:
        raise StoreUnavailable(
            f"The driver {connection.driver} does not know the URL of the connection {connection.name}, "
            f"{connection.url}. Correct `url` or `driver` of [connections.{connection.name}] in headrace.toml."
        )
    try:
        with explained(connection):
            java.setAutoCommit(False)
        yield JdbcDatabase(connection, jvm, java)
    finally:
        with suppress(Exception):  # the connection may be broken, and that error has been raised
            java.rollback()
            java.close()
