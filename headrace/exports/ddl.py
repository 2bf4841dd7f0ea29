"""DDL that installs and removes the OL_* tables, in each database's dialect."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable, DropTable
from sqlalchemy.sql.elements import CompilerElement

from headrace.exports.tables import SCHEMA_VERSION, SPEC_VERSION, in_schema

VERSION_TABLE = "ol_schema_version"


def create_statements(dialect: Dialect, schema: str | None) -> list[str]:
    """Return the statements for every table, every index, then the version record."""
    tables = in_schema(schema)
    statements = [create_table(table, dialect) for table in tables]
    statements += [each for table in tables for each in create_indexes(table, dialect)]
    return [*statements, version_record(tables[-1], dialect)]


def drop_statements(dialect: Dialect, schema: str | None) -> list[str]:
    """Return the statements that drop every table, the last one first; an index is dropped with its table."""
    return [drop_table(table, dialect) for table in reversed(in_schema(schema))]


def create_table(table: sa.Table, dialect: Dialect) -> str:
    """Return the statement that creates the table, without its indexes."""
    return _text(CreateTable(table), dialect)


def create_indexes(table: sa.Table, dialect: Dialect) -> list[str]:
    """Return a statement for each index of the table, by name."""
    indexes = sorted(table.indexes, key=lambda index: str(index.name))
    return [_text(CreateIndex(index), dialect) for index in indexes]


def drop_table(table: sa.Table, dialect: Dialect) -> str:
    """Return the statement that drops the table."""
    return _text(DropTable(table), dialect)


def version_record(table: sa.Table, dialect: Dialect) -> str:
    """Return the statement that records the version of the model of these tables."""
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if dialect.name == "postgresql":
        moment += "+00"
    values = {
        "version_id": 1,
        "openlineage_spec_version": SPEC_VERSION,
        "schema_version": SCHEMA_VERSION,
        "applied_at": sa.cast(sa.literal_column(f"'{moment}'"), table.c.applied_at.type),
        "description": "The OpenLineage tables as first installed",
    }
    return _text(sa.insert(table).values(values), dialect)


def _text(element: CompilerElement, dialect: Dialect) -> str:
    literally = {"literal_binds": True} if isinstance(element, sa.Insert) else {}
    compiled = str(element.compile(dialect=dialect, compile_kwargs=literally))
    return "\n".join(line.rstrip() for line in compiled.strip().splitlines())
