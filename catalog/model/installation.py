"""The OL_* tables in a database: installed, verified against the model, removed; other tables are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, Inspector

from catalog.model import ddl
from catalog.model.tables import SCHEMA_VERSION, SPEC_VERSION, in_schema
from catalog.model.targets import TargetRefused, said_by

_LEGACY = "lin_"


@dataclass(frozen=True, slots=True)
class Installed:
    """What `install` came to.

    created: tables that were not there. legacy: the LIN_* tables beside them, which stay as they are.
    """

    created: tuple[str, ...]
    legacy: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """How a database compares with the model; no problems: all of it is there.

    problems: a line each. version: what the version record says, `spec 2-0-2, schema 1.0.0`. legacy: as in Installed.
    """

    problems: tuple[str, ...]
    version: str | None
    legacy: tuple[str, ...]


def install(engine: Engine, schema: str | None = None) -> Installed:
    """Create what is missing of the tables and indexes, and the version record.

    What was begun and cut off is completed; done twice, the second time changes nothing. Raises TargetRefused, with
    nothing created, when something else has one of the names, or the version is another.
    """
    with said_by(engine), engine.connect() as connection:
        inspector = sa.inspect(connection)
        _refuse_views(inspector, schema)
        there = _names(inspector, schema)
        standing = [table for table in in_schema(schema) if table.name in there]
        problems = [each for table in standing for each in _columns_wrong(inspector, table, schema)]
        version = _version(connection, schema) if ddl.VERSION_TABLE in there else None
        if version not in (None, _expected()):
            problems.append(f"the version record says {version}, and this is {_expected()}")
        if problems:
            raise TargetRefused(
                "the tables that are there are not those of this model; rename or remove them first "
                "(--drop removes every OL_* table, with its rows):\n  " + "\n  ".join(problems)
            )
        created = []
        for table in in_schema(schema):
            if table.name not in there:
                _run(connection, ddl.create_table(table, engine.dialect))
                created.append(table.name)
            known = _index_names(inspector, table, schema) if table.name in there else set()
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
        return Installed(tuple(created), _legacy(there))


def drop(engine: Engine, schema: str | None = None) -> tuple[str, ...]:
    """Remove the OL_* tables and no others; returns their names. Raises TargetRefused."""
    with said_by(engine), engine.connect() as connection:
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


def verify(engine: Engine, schema: str | None = None) -> Verified:
    """Compare tables, columns, lengths, keys, indexes and the version record with the model. Raises TargetRefused."""
    with said_by(engine), engine.connect() as connection:
        inspector = sa.inspect(connection)
        there = _names(inspector, schema)
        problems = []
        for table in in_schema(schema):
            if table.name not in there:
                problems.append(f"{table.name} is missing")
                continue
            problems += _columns_wrong(inspector, table, schema)
            problems += _indexes_wrong(inspector, table, schema)
        version = _version(connection, schema) if ddl.VERSION_TABLE in there else None
        if version != _expected():
            problems.append(f"the version record says {version or 'nothing'}, and this is {_expected()}")
        return Verified(tuple(problems), version, _legacy(there))


def _run(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement)
    if connection.dialect.name == "teradatasql":
        connection.commit()  # Teradata takes nothing after a DDL statement in its transaction


def _names(inspector: Inspector, schema: str | None) -> set[str]:
    return {name.lower() for name in inspector.get_table_names(schema=schema)}


def _legacy(there: set[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in there if name.startswith(_LEGACY)))


def _refuse_views(inspector: Inspector, schema: str | None) -> None:
    views = {name.lower() for name in inspector.get_view_names(schema=schema)}
    if taken := sorted(views & {table.name for table in in_schema(schema)}):
        raise TargetRefused(
            f"{', '.join(taken)}: there are views of these names, such as the catalog itself has. "
            "Name another schema with --schema."
        )


def _columns_wrong(inspector: Inspector, table: sa.Table, schema: str | None) -> Iterator[str]:
    found = {column["name"].lower(): column for column in inspector.get_columns(table.name, schema=schema)}
    for column in table.columns:
        stored = found.get(column.name)
        if stored is None:
            yield f"{table.name}.{column.name} is missing"
            continue
        length, wanted = getattr(stored["type"], "length", None), getattr(column.type, "length", None)
        if wanted is not None and length is not None and length < wanted:
            yield f"{table.name}.{column.name} holds {length} characters, and {wanted} are needed"
        if stored.get("nullable") is False and column.nullable:
            yield f"{table.name}.{column.name} has to be filled, and need not be"
    key = [
        name.lower() for name in inspector.get_pk_constraint(table.name, schema=schema)["constrained_columns"]
    ]
    if key != [column.name for column in table.primary_key]:
        wanted_key = ", ".join(table.primary_key.columns.keys())
        yield f"{table.name} has the primary key ({', '.join(key)}), not ({wanted_key})"


def _indexes_wrong(inspector: Inspector, table: sa.Table, schema: str | None) -> Iterator[str]:
    known = _index_names(inspector, table, schema)
    for index in sorted(str(each.name) for each in table.indexes):
        if index not in known:
            yield f"{table.name} has no index {index}"


def _index_names(inspector: Inspector, table: sa.Table, schema: str | None) -> set[str]:
    return {str(index["name"]).lower() for index in inspector.get_indexes(table.name, schema=schema)}


def _version(connection: Connection, schema: str | None) -> str | None:
    """What the newest record says; None where there is none."""
    table = in_schema(schema)[-1]
    newest = sa.select(table.c.openlineage_spec_version, table.c.schema_version).order_by(
        table.c.version_id.desc()
    )
    row = connection.execute(newest).first()
    return None if row is None else f"spec {row[0]}, schema {row[1]}"


def _expected() -> str:
    return f"spec {SPEC_VERSION}, schema {SCHEMA_VERSION}"
