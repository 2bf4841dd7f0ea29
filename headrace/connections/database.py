"""Statements on a database: queries with bound values, and changes in transactions.

with opened(connection("crm"), session) as database:
    rows = database.query("SELECT id, changed_at FROM requests WHERE changed_at > ?", [watermark])
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal

from headrace.connections.connection import Connection

ANSWER_SECONDS = 10  # how long a database may take to accept a connection

Value = str | int | float | Decimal | bool | dt.date | dt.datetime | bytes | None


class Database(ABC):
    """An open connection. Each query, and the statements of each `execute`, are a transaction.

    Its methods raise StatementFailed and StoreUnavailable.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.dialect = connection.dialect

    @abstractmethod
    def query(
        self,
        sql: str,
        values: Sequence[Value] = (),
        max_rows: int | None = None,
        seconds: int | None = None,
    ) -> list[dict[str, Value]]:
        """Return the rows of a query, with `?` for each value; columns are named as the database labels them.

        Times with a zone are aware, all others are not. seconds: after which the database cancels the query.
        """

    def value(self, sql: str, values: Sequence[Value] = ()) -> Value:
        """Return the only value of a query; None without a row."""
        rows = self.query(sql, values, 1)
        return next(iter(rows[0].values())) if rows else None

    @abstractmethod
    def execute(self, *statements: str) -> None:
        """Run statements in one transaction. Oracle and Teradata commit each definition of a table or view."""

    @abstractmethod
    def call(self, sql: str, values: Sequence[Value] = ()) -> None:
        """Run one statement with `?` for each value, such as `CALL x.y(?)`, in a transaction; ignore its results."""

    @abstractmethod
    def relations(self, schema: str, prefix: str) -> dict[str, str]:
        """Return the tables and views of a schema whose names begin with the prefix, with their type, as `VIEW`."""
