"""The dialects of databases: everything by which their SQL differs, one value for each.

PostgreSQL and Derby are tested against the database; of Db2, Oracle, SQL Server and Teradata the statements are tested,
and none has been run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r'"((?:[^"]|"")+)"|([A-Za-z_][A-Za-z0-9_$#]*)')
NAME = (
    r'(?:"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_$#]*)'  # in a declaration: as SQL has it, in quotes if it is odd
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database's SQL differs from that of others.

    folding: what it makes of names that are not quoted. max_name: bytes. types: by Spark's type, without decimals;
    timestamps are instants in `timestamp`, except where that type has no zone: then they are in UTC. create_table,
    table_options: around the columns. replace_view: creates a view or replaces it, and keeps its grants; None: it is
    dropped first. view_text, table_bytes: queries of one value by the schema and name in its catalog. snapshot: a query
    of the present one, as of which `as_of` reads a relation. bounds: the aggregates of the least and greatest value in
    Spark's order, by type, where they are not MIN and MAX; None: the database may have another order, and other
    values may be equal.
    """

    name: str
    driver: str
    folding: Literal["upper", "lower", "none"]
    types: Mapping[str, str]
    view_text: str
    table_bytes: str | None = None
    max_name: int = 128
    max_precision: int = 38
    decimal: str = "DECIMAL"
    create_table: str = "CREATE TABLE"
    table_options: str = ""
    replace_view: str | None = "CREATE OR REPLACE VIEW"
    snapshot: str | None = None
    as_of: str = field(default="", repr=False)
    bounds: Mapping[str, tuple[str, str]] | None = None

    def quoted(self, name: str) -> str:
        """Quote a name as the catalog has it."""
        return '"' + name.replace('"', '""') + '"'

    def relation(self, parts: Sequence[str]) -> str:
        """Quote the parts of a relation's name."""
        return ".".join(map(self.quoted, parts))

    def folded(self, name: str) -> str:
        """Return the catalog's name of one that is written without quotes."""
        return name if self.folding == "none" else getattr(name, self.folding)()

    def parts(self, relation: str) -> tuple[str, ...]:
        """Split `schema.table` into the catalog's names; a part in double quotes is taken literally.

        Raises ValueError.
        """
        parts: list[str] = []
        position = 0
        while match := _PART.match(relation, position):
            parts.append(match[1].replace('""', '"') if match[1] else self.folded(match[2]))
            position = match.end()
            if position == len(relation):
                return tuple(parts)
            if relation[position] != ".":
                break
            position += 1
        raise ValueError(
            f"{relation!r} is not the name of a table: write schema.table, odd names in double quotes"
        )

    def written(self, parts: Sequence[str]) -> str:
        """Write the parts of a relation's name, in quotes where SQL needs them: what `parts` splits again."""
        return ".".join(
            name if _PLAIN.fullmatch(name) and self.folded(name) == name else self.quoted(name)
            for name in parts
        )

    def column(self, name: str) -> str:
        """Return the catalog's name of a dataset's column: readers need no quotes for a plain one."""
        return self.folded(name) if _PLAIN.fullmatch(name) else name

    def dataset_column(self, name: str) -> str:
        """Return a dataset's name of a column in the catalog: lower case for a plain one that is not quoted."""
        return name.lower() if self.folding == "upper" and _PLAIN.fullmatch(name) and name.isupper() else name

    def type(self, type: str) -> str:
        """Return the column type that holds all values of Spark's type. Raises ValueError if there is none."""
        if type.startswith("decimal("):
            precision, scale = map(int, type.removeprefix("decimal(").rstrip(")").split(","))
            if precision > self.max_precision:
                raise ValueError(f"the type {type}, as its decimals have at most {self.max_precision} digits")
            return f"{self.decimal}({precision},{scale})"
        if type not in self.types:
            raise ValueError(f"the type {type}")
        return self.types[type]

    def has_zone(self, type: str) -> bool:
        """Return True if the column type of Spark's `timestamp` or `timestamp_ntz` holds instants."""
        return "ZONE" in self.types[type]

    def table(self, parts: Sequence[str], columns: Mapping[str, str]) -> str:
        """Return the statement that creates a table, with its columns by the catalog's names."""
        defined = ", ".join(f"{self.quoted(name)} {type}" for name, type in columns.items())
        return f"{self.create_table} {self.relation(parts)} ({defined}){self.table_options}"

    def replacements(self, parts: Sequence[str], query: str, *, exists: bool) -> list[list[str]]:
        """Return the ways to make a query a view, each the statements of one transaction, the best first.

        PostgreSQL replaces a view only by one with the same columns and more.
        """
        view = self.relation(parts)
        anew = [f"CREATE VIEW {view} AS {query}"]
        if not exists:
            return [anew]
        dropping = [f"DROP VIEW {view}", *anew]
        return (
            [dropping]
            if self.replace_view is None
            else [[f"{self.replace_view} {view} AS {query}"], dropping]
        )


def literal(text: str) -> str:
    """Return SQL for a text."""
    return "'" + text.replace("'", "''") + "'"


_COMMON = {
    "smallint": "SMALLINT",
    "tinyint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "REAL",
    "date": "DATE",
}
_POSTGRESQL = Dialect(
    name="PostgreSQL",
    driver="org.postgresql.Driver",
    folding="lower",
    max_name=63,
    decimal="NUMERIC",
    types={
        **_COMMON,
        "boolean": "BOOLEAN",
        "double": "DOUBLE PRECISION",
        "string": "TEXT",
        "binary": "BYTEA",
        "timestamp": "TIMESTAMP WITH TIME ZONE",
        "timestamp_ntz": "TIMESTAMP",
    },
    view_text="SELECT definition FROM pg_catalog.pg_views WHERE schemaname = ? AND viewname = ?",
    table_bytes="SELECT pg_catalog.pg_total_relation_size(c.oid) FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relname = ?",
    bounds={
        "boolean": ("bool_and({0})", "bool_or({0})"),
        "string": ('MIN({0} COLLATE "C")', 'MAX({0} COLLATE "C")'),
        "float": ("MIN({0}::double precision)", "MAX({0}::double precision)"),
        "date": ("MIN({0}) - DATE '1970-01-01'", "MAX({0}) - DATE '1970-01-01'"),
        "timestamp": (
            "(EXTRACT(EPOCH FROM MIN({0})) * 1000000)::bigint",
            "(EXTRACT(EPOCH FROM MAX({0})) * 1000000)::bigint",
        ),
    },
)
_DB2 = Dialect(
    name="Db2",
    driver="com.ibm.db2.jcc.DB2Driver",
    folding="upper",
    max_precision=31,
    types={
        **_COMMON,
        "boolean": "BOOLEAN",
        "double": "DOUBLE",
        "string": "CLOB",  # as Spark binds nulls
        "binary": "BLOB",
        "timestamp": "TIMESTAMP(6)",
        "timestamp_ntz": "TIMESTAMP(6)",
    },
    view_text="SELECT TEXT FROM SYSCAT.VIEWS WHERE VIEWSCHEMA = ? AND VIEWNAME = ?",
    table_bytes="SELECT SUM(DATA_OBJECT_P_SIZE + LOB_OBJECT_P_SIZE) * 1024 "
    "FROM TABLE(SYSPROC.ADMIN_GET_TAB_INFO(?, ?))",
)
_ORACLE = Dialect(
    name="Oracle",
    driver="oracle.jdbc.OracleDriver",
    folding="upper",
    decimal="NUMBER",
    types={
        "boolean": "NUMBER(1)",
        "tinyint": "NUMBER(3)",
        "smallint": "NUMBER(5)",
        "int": "NUMBER(10)",
        "bigint": "NUMBER(19)",
        "float": "BINARY_FLOAT",
        "double": "BINARY_DOUBLE",
        "string": "VARCHAR2(4000)",
        "binary": "BLOB",
        "date": "DATE",
        "timestamp": "TIMESTAMP(6) WITH TIME ZONE",
        "timestamp_ntz": "TIMESTAMP(6)",
    },
    view_text="SELECT TEXT FROM ALL_VIEWS WHERE OWNER = ? AND VIEW_NAME = ?",
    table_bytes="SELECT NUM_ROWS * AVG_ROW_LEN FROM ALL_TABLES WHERE OWNER = ? AND TABLE_NAME = ?",
    snapshot="SELECT TIMESTAMP_TO_SCN(SYSTIMESTAMP) FROM DUAL",
    as_of="{relation} AS OF SCN {snapshot}",
)
_SQL_SERVER = Dialect(
    name="SQL Server",
    driver="com.microsoft.sqlserver.jdbc.SQLServerDriver",
    folding="none",
    types={
        **_COMMON,
        "boolean": "BIT",
        "double": "FLOAT(53)",
        "string": "NVARCHAR(MAX)",
        "binary": "VARBINARY(MAX)",
        "timestamp": "DATETIME2(6)",
        "timestamp_ntz": "DATETIME2(6)",
    },
    replace_view="CREATE OR ALTER VIEW",
    view_text="SELECT m.definition FROM sys.sql_modules m JOIN sys.views v ON v.object_id = m.object_id "
    "JOIN sys.schemas s ON s.schema_id = v.schema_id WHERE s.name = ? AND v.name = ?",
    table_bytes="SELECT SUM(p.reserved_page_count) * 8192 FROM sys.dm_db_partition_stats p "
    "JOIN sys.tables t ON t.object_id = p.object_id JOIN sys.schemas s ON s.schema_id = t.schema_id "
    "WHERE s.name = ? AND t.name = ?",
)
_TERADATA = Dialect(
    name="Teradata",
    driver="com.teradata.jdbc.TeraDriver",
    folding="none",
    types={
        **_COMMON,
        "boolean": "BYTEINT",
        "tinyint": "BYTEINT",
        "float": "FLOAT",
        "double": "FLOAT",
        "string": "VARCHAR(10000) CHARACTER SET UNICODE",
        "binary": "BLOB",
        "timestamp": "TIMESTAMP(6)",
        "timestamp_ntz": "TIMESTAMP(6)",
    },
    create_table="CREATE MULTISET TABLE",  # a SET table drops equal rows
    table_options=" NO PRIMARY INDEX",
    replace_view="REPLACE VIEW",
    view_text="SELECT RequestText FROM DBC.TablesV WHERE DatabaseName = ? AND TableName = ? AND TableKind = 'V'",
    table_bytes="SELECT SUM(CurrentPerm) FROM DBC.TableSizeV WHERE DatabaseName = ? AND TableName = ?",
)
_DERBY = Dialect(
    name="Derby",
    driver="org.apache.derby.iapi.jdbc.AutoloadedDriver",
    folding="upper",
    max_precision=31,
    types={
        **_COMMON,
        "boolean": "BOOLEAN",
        "double": "DOUBLE",
        "string": "CLOB",  # as Spark binds nulls
        "binary": "BLOB",
        "timestamp": "TIMESTAMP",
        "timestamp_ntz": "TIMESTAMP",
    },
    replace_view=None,
    view_text="SELECT v.VIEWDEFINITION FROM SYS.SYSVIEWS v JOIN SYS.SYSTABLES t ON t.TABLEID = v.TABLEID "
    "JOIN SYS.SYSSCHEMAS s ON s.SCHEMAID = t.SCHEMAID WHERE s.SCHEMANAME = ? AND t.TABLENAME = ?",
    table_bytes="SELECT SUM(NUMALLOCATEDPAGES * PAGESIZE) FROM TABLE (SYSCS_DIAG.SPACE_TABLE(?, ?)) p",
)
DIALECTS: Mapping[str, Dialect] = {
    "postgresql": _POSTGRESQL,
    "db2": _DB2,
    "oracle": _ORACLE,
    "sqlserver": _SQL_SERVER,
    "teradata": _TERADATA,
    "derby": _DERBY,
}
"""By the name in a URL."""


def engine_of(url: str) -> str:
    """Return the name of the database in a URL: `db2` of `jdbc:db2://host/name`."""
    return url.removeprefix("jdbc:").partition(":")[0]
