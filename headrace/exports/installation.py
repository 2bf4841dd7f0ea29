"""Install, verify and remove the OL_* tables in a database, leaving other tables alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, Inspector

from headrace.exports import ddl
from headrace.exports.tables import SCHEMA_VERSION, SPEC_VERSION, in_schema
from headrace.exports.targets import TargetRefused, translating_errors

_LEGACY = "lin_"


@dataclass(frozen=True, slots=True)
class InstallationResult:
    """Result of `install`.

    created: tables that did not exist. legacy: existing LIN_* tables, which are unchanged.
    """

    created: tuple[str, ...]
    legacy: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """Comparison of a database with the model; no problems: it is complete.

    problems: one line each. version: that of the version record, `spec 2-0-2, schema 1.0.0`. legacy: as in
    InstallationResult.
    """

    problems: tuple[str, ...]
    version: str | None
    legacy: tuple[str, ...]


def install(engine: Engine, schema: str | None = None) -> InstallationResult:
    """Create missing tables and indexes, and the version record.

    Completes an interrupted installation; repeating it changes nothing. Raises TargetRefused, with nothing created, if
    another object has one of the names, or the version differs.
    """
    with translating_errors(engine), engine.connect() as connection:
        inspector = sa.inspect(connection)
        _refuse_views(inspector, schema)
        there = _names(inspector, schema)
        existing = [table for table in in_schema(schema) if table.name in there]
        problems = [
            each
            for table in existing
            for wrong in (_columns_wrong, _indexes_elsewhere)
            for each in wrong(inspector, table, schema)
        ]
        version = _version(connection, inspector, schema) if ddl.VERSION_TABLE in there else None
        if version not in (None, _expected()):
            problems.append(f"the version record has {version}, expected {_expected()}")
        if problems:
            raise TargetRefused(
                "existing tables do not match this model; rename or remove them first "
                "(--drop removes every OL_* table, with its rows):\n  " + "\n  ".join(problems)
            )
        created = []
        for table in in_schema(schema):
            if table.name not in there:
                _run(connection, ddl.create_table(table, engine.dialect))
                created.append(table.name)
            known = _indexes(inspector, table, schema) if table.name in there else {}
            for index, statement in zip(
                sorted(str(each.name) for each in table.indexes),
                ddl.create_indexes(table, engine.dialect),
                strict=True,
            ):
                if index not in known:
                    _run(connection, statement)
        if version is None:
            _run(connection, ddl.version_record(in_schema(schema)[-1], engine.dialect))
        connection.commit()
        return InstallationResult(tuple(created), _legacy(there))


def drop(engine: Engine, schema: str | None = None) -> tuple[str, ...]:
    """Drop the OL_* tables and no others; returns their names. Raises TargetRefused."""
    with translating_errors(engine), engine.connect() as connection:
        inspector = sa.inspect(connection)
        _refuse_views(inspector, schema)
        there = _names(inspector, schema)
        gone = []
        for table in reversed(in_schema(schema)):
            if table.name in there:
                _run(connection, ddl.drop_table(table, engine.dialect))
                gone.append(table.name)
        connection.commit()
        return tuple(gone)


def verify(engine: Engine, schema: str | None = None) -> Verification:
    """Compare tables, columns, keys, indexes and the version record with the model. Raises TargetRefused."""
    with translating_errors(engine), engine.connect() as connection:
        inspector = sa.inspect(connection)
        there = _names(inspector, schema)
        problems = []
        for table in in_schema(schema):
            if table.name not in there:
                problems.append(f"{table.name} is missing")
                continue
            problems += _columns_wrong(inspector, table, schema)
            problems += _indexes_elsewhere(inspector, table, schema)
            problems += _indexes_missing(inspector, table, schema)
        version = _version(connection, inspector, schema) if ddl.VERSION_TABLE in there else None
        if version != _expected():
            problems.append(f"the version record has {version or 'nothing'}, expected {_expected()}")
        return Verification(tuple(problems), version, _legacy(there))


def _run(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement)
    if connection.dialect.name == "teradatasql":
        connection.commit()  # Teradata accepts no statement after DDL in the same transaction


def _names(inspector: Inspector, schema: str | None) -> set[str]:
    return {name.lower() for name in inspector.get_table_names(schema=schema)}


def _legacy(there: set[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in there if name.startswith(_LEGACY)))


def _refuse_views(inspector: Inspector, schema: str | None) -> None:
    views = {name.lower() for name in inspector.get_view_names(schema=schema)}
    if taken := sorted(views & {table.name for table in in_schema(schema)}):
        raise TargetRefused(
            f"{', '.join(taken)}: views with these names exist, as in the catalog itself. "
            "Choose another schema with --schema."
        )


def _columns_wrong(inspector: Inspector, table: sa.Table, schema: str | None) -> Iterator[str]:
    found = {column["name"].lower(): column for column in inspector.get_columns(table.name, schema=schema)}
    for column in table.columns:
        stored = found.get(column.name)
        if stored is None:
            yield f"{table.name}.{column.name} is missing"
            continue
        if _sort(stored["type"]) is not _sort(column.type):
            yield f"{table.name}.{column.name} is {stored['type']}, not {column.type.compile(inspector.dialect)}"
            continue
        length, wanted = getattr(stored["type"], "length", None), getattr(column.type, "length", None)
        if wanted is not None and length is not None and length < wanted:
            yield f"{table.name}.{column.name} holds {length} characters, and {wanted} are needed"
        if stored.get("nullable") is False and column.nullable:
            yield f"{table.name}.{column.name} is NOT NULL, but should be nullable"
        if stored.get("nullable") is True and not column.nullable:
            yield f"{table.name}.{column.name} is nullable, but should be NOT NULL"
        yield from _default_wrong(column, stored.get("default"))
    key = [
        name.lower() for name in inspector.get_pk_constraint(table.name, schema=schema)["constrained_columns"]
    ]
    if key != [column.name for column in table.primary_key]:
        wanted_key = ", ".join(table.primary_key.columns.keys())
        yield f"{table.name} has the primary key ({', '.join(key)}), not ({wanted_key})"


def _default_wrong(column: sa.Column[Any], stored: str | None) -> Iterator[str]:
    if not isinstance(column.server_default, sa.DefaultClause):
        return
    wanted = str(column.server_default.arg)
    if not stored:
        yield f"{column.table.name}.{column.name} has no default"
    elif f"'{wanted}'" not in stored and stored.strip() != wanted:  # whether a database quotes it or not
        yield f"{column.table.name}.{column.name} has the default {stored}, and not '{wanted}'"


def _sort(kind: sa.types.TypeEngine[Any]) -> type:
    """Return the kind of data in a column of this type, in any database."""
    stored = kind.impl if isinstance(kind, sa.TypeDecorator) else kind
    sorts = (sa.String, sa.DateTime, sa.Integer, sa.Numeric)
    return next((each for each in sorts if isinstance(stored, each)), type(stored))


def _indexes_missing(inspector: Inspector, table: sa.Table, schema: str | None) -> Iterator[str]:
    known = _indexes(inspector, table, schema)
    for index in sorted(str(each.name) for each in table.indexes):
        if index not in known:
            yield f"{table.name} has no index {index}"


def _indexes_elsewhere(inspector: Inspector, table: sa.Table, schema: str | None) -> Iterator[str]:
    """Yield indexes with names of the model's and different columns."""
    known = _indexes(inspector, table, schema)
    for index in sorted(table.indexes, key=lambda each: str(each.name)):
        columns, wanted = known.get(str(index.name)), [column.name for column in index.columns]
        if columns not in (None, wanted):
            yield f"{index.name} of {table.name} is on {', '.join(columns)}, not on {', '.join(wanted)}"


def _indexes(inspector: Inspector, table: sa.Table, schema: str | None) -> dict[str, list[str]]:
    """Return the columns of each existing index of the table, by name."""
    return {
        str(index["name"]).lower(): [str(column).lower() for column in index["column_names"]]
        for index in inspector.get_indexes(table.name, schema=schema)
    }


def _version(connection: Connection, inspector: Inspector, schema: str | None) -> str | None:
    """Return the newest version record; None without one, or without its columns."""
    table = in_schema(schema)[-1]
    there = {column["name"].lower() for column in inspector.get_columns(table.name, schema=schema)}
    if not there >= {"version_id", "openlineage_spec_version", "schema_version"}:
        return None
    newest = sa.select(table.c.openlineage_spec_version, table.c.schema_version).order_by(
        table.c.version_id.desc()
    )
    row = connection.execute(newest).first()
    return None if row is None else f"spec {row[0]}, schema {row[1]}"


def _expected() -> str:
    return f"spec {SPEC_VERSION}, schema {SCHEMA_VERSION}"
