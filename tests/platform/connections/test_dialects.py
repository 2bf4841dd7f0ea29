"""What differs between databases; the statements of those that no test can run are compared as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.connections.connection import connection
from headrace.connections.dialects import DIALECTS, literal
from headrace.connections.relations import Source
from tests.platform.connections.databases import configured

TAG = "20260329013000"
COLUMNS = {"id": "bigint", "a b": "string", "at": "timestamp", "amount": "decimal(20,2)", "ok": "boolean"}
TABLES = {
    "postgresql": 'CREATE TABLE "shop"."orders" ("id" BIGINT, "a b" TEXT, "at" TIMESTAMP WITH TIME ZONE, '
    '"amount" NUMERIC(20,2), "ok" BOOLEAN)',
    "db2": 'CREATE TABLE "SHOP"."ORDERS" ("ID" BIGINT, "a b" CLOB, "AT" TIMESTAMP(6), "AMOUNT" DECIMAL(20,2), '
    '"OK" BOOLEAN)',
    "oracle": 'CREATE TABLE "SHOP"."ORDERS" ("ID" NUMBER(19), "a b" VARCHAR2(4000), '
    '"AT" TIMESTAMP(6) WITH TIME ZONE, "AMOUNT" NUMBER(20,2), "OK" NUMBER(1))',
    "sqlserver": 'CREATE TABLE "shop"."orders" ("id" BIGINT, "a b" NVARCHAR(MAX), "at" DATETIME2(6), '
    '"amount" DECIMAL(20,2), "ok" BIT)',
    "teradata": 'CREATE MULTISET TABLE "shop"."orders" ("id" BIGINT, '
    '"a b" VARCHAR(10000) CHARACTER SET UNICODE, "at" TIMESTAMP(6), "amount" DECIMAL(20,2), "ok" BYTEINT) '
    "NO PRIMARY INDEX",
    "derby": 'CREATE TABLE "SHOP"."ORDERS" ("ID" BIGINT, "a b" CLOB, "AT" TIMESTAMP, "AMOUNT" DECIMAL(20,2), '
    '"OK" BOOLEAN)',
}
VIEWS = {
    "postgresql": [
        ['CREATE OR REPLACE VIEW "v" AS SELECT 1'],
        ['DROP VIEW "v"', 'CREATE VIEW "v" AS SELECT 1'],
    ],
    "db2": [['CREATE OR REPLACE VIEW "v" AS SELECT 1'], ['DROP VIEW "v"', 'CREATE VIEW "v" AS SELECT 1']],
    "oracle": [['CREATE OR REPLACE VIEW "v" AS SELECT 1'], ['DROP VIEW "v"', 'CREATE VIEW "v" AS SELECT 1']],
    "sqlserver": [['CREATE OR ALTER VIEW "v" AS SELECT 1'], ['DROP VIEW "v"', 'CREATE VIEW "v" AS SELECT 1']],
    "teradata": [['REPLACE VIEW "v" AS SELECT 1'], ['DROP VIEW "v"', 'CREATE VIEW "v" AS SELECT 1']],
    "derby": [['DROP VIEW "v"', 'CREATE VIEW "v" AS SELECT 1']],
}


@pytest.mark.parametrize("engine", TABLES)
def test_a_table_has_the_types_and_names_of_its_database(engine: str) -> None:
    dialect = DIALECTS[engine]
    columns = {dialect.column(name): dialect.type(type) for name, type in COLUMNS.items()}
    assert dialect.table(dialect.parts("shop.orders"), columns) == TABLES[engine]


@pytest.mark.parametrize("engine", VIEWS)
def test_a_view_is_replaced_without_losing_grants_where_the_database_can(engine: str) -> None:
    assert DIALECTS[engine].replacements(["v"], "SELECT 1", exists=True) == VIEWS[engine]
    assert DIALECTS[engine].replacements(["v"], "SELECT 1", exists=False) == [['CREATE VIEW "v" AS SELECT 1']]


def test_every_dialect_is_tested() -> None:
    assert set(DIALECTS) == set(TABLES) == set(VIEWS)


def test_names_are_folded_as_the_database_folds_them_unless_they_are_quoted() -> None:
    assert DIALECTS["oracle"].parts('Sales.orders."Odd ""one"""') == ("SALES", "ORDERS", 'Odd "one"')
    assert DIALECTS["postgresql"].parts("Sales.Orders") == ("sales", "orders")
    assert DIALECTS["sqlserver"].parts("Sales.Orders") == ("Sales", "Orders")
    assert DIALECTS["oracle"].relation(["A", 'b"c']) == '"A"."b""c"'
    for odd in ("", "a.", ".a", "a b", "a;DROP TABLE b", 'a."b', "a--"):
        with pytest.raises(ValueError, match="is not the name of a table"):
            DIALECTS["postgresql"].parts(odd)


def test_columns_keep_their_names_in_both_directions() -> None:
    for dialect in DIALECTS.values():
        for name in ("id", "a b", "é", "Mixed", 'say "hi"'):
            expected = name.lower() if name == "Mixed" and dialect.folding != "none" else name
            assert dialect.dataset_column(dialect.column(name)) in (name, expected)


def test_types_that_a_database_lacks_are_named() -> None:
    with pytest.raises(ValueError, match=r"the type array<int>"):
        DIALECTS["postgresql"].type("array<int>")
    with pytest.raises(ValueError, match=r"the type decimal\(38,2\), as its decimals have at most 31 digits"):
        DIALECTS["db2"].type("decimal(38,2)")


def test_a_text_is_one_literal() -> None:
    assert literal("it's; --") == "'it''s; --'"


def test_oracle_reads_a_table_as_of_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml = "".join(
        f'[connections.{name}]\nurl = "{url}"\n'
        for name, url in (("ora", "jdbc:oracle:thin:@//h/x"), ("pg", "jdbc:postgresql://h/x"))
    )
    with configured(monkeypatch, tmp_path, toml):
        assert DIALECTS["oracle"].snapshot == "SELECT TIMESTAMP_TO_SCN(SYSTIMESTAMP) FROM DUAL"
        source = Source("ora", "sales.orders")
        assert source.relation(connection("ora"), "123") == '"SALES"."ORDERS" AS OF SCN 123'
        assert source.relation(connection("ora")) == '"SALES"."ORDERS"'
        query = Source("pg", query="SELECT 1 AS id;\n")
        assert query.relation(connection("pg")) == "(SELECT 1 AS id) headrace"
