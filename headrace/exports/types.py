"""Column types of the OL_* tables in PostgreSQL, DB2 and Teradata."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn, CreateTable


class Text(sa.VARCHAR):
    """Text of up to `length` octets in UTF-8: DB2 counts octets, the others characters."""


class _Timestamp(sa.TIMESTAMP):
    """A timestamp with a number of fractional digits."""

    def __init__(self, precision: int) -> None:
        super().__init__(timezone=True)
        self.precision = precision


class Moment(sa.TypeDecorator[datetime]):
    """A time in UTC; PostgreSQL keeps the zone, DB2 and Teradata have none."""

    impl = _Timestamp
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to the database's form."""
        if value is None or dialect.name == "postgresql":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to an aware time."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


@compiles(Text, "teradatasql")
def _unicode_text(element: Text, compiler: Any, **_: Any) -> str:  # noqa: ANN401 - SQLAlchemy's hook
    # Teradata's default is LATIN, in which names in other alphabets are errors.
    return f"VARCHAR({element.length}) CHARACTER SET UNICODE"


@compiles(_Timestamp)
def _timestamp(element: _Timestamp, compiler: Any, **_: Any) -> str:  # noqa: ANN401
    return f"TIMESTAMP({element.precision})"


@compiles(_Timestamp, "postgresql")
def _timestamp_with_zone(element: _Timestamp, compiler: Any, **_: Any) -> str:  # noqa: ANN401
    return f"TIMESTAMP({element.precision}) WITH TIME ZONE"


@compiles(CreateTable, "teradatasql")
def _multiset_table(element: CreateTable, compiler: Any, **given: Any) -> str:  # noqa: ANN401
    # The default in ANSI mode; in Teradata mode a table would silently drop duplicate rows.
    text = str(compiler.visit_create_table(element, **given))
    return text.replace("CREATE TABLE", "CREATE MULTISET TABLE", 1)


@compiles(CreateColumn, "teradatasql")
def _column_with_default(element: CreateColumn, compiler: Any, **given: Any) -> str | None:  # noqa: ANN401
    # Teradata's dialect omits defaults.
    text: str | None = compiler.visit_create_column(element, **given)
    default = element.element.server_default
    if text is None or not isinstance(default, sa.DefaultClause) or " DEFAULT " in text:
        return text
    return f"{text} DEFAULT {compiler.get_column_default_string(element.element)}"
