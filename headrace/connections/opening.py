"""Opening a connection with the client that its URL asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.connections.connection import Connection
from headrace.connections.database import Database
from headrace.connections.jdbc import opened_by_jdbc
from headrace.connections.postgresql import opened_by_libpq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def opened(connection: Connection, session: Callable[[], SparkSession]) -> Iterator[Database]:
    """Connect to the database. session: called for a JDBC driver, which Spark's JVM has loaded.

    Raises StoreUnavailable if the driver is missing, the database is not reached, or refuses the user.
    """
    opening = (
        opened_by_libpq(connection) if connection.driver is None else opened_by_jdbc(connection, session())
    )
    with opening as database:
        yield database
