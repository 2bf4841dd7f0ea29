"""Statements on real databases: values come back as they were bound, and failures say what to do."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.connections.arrow import fetched
from headrace.connections.connection import connection
from headrace.connections.database import Database, Value
from headrace.connections.failures import StatementFailed, explained
from headrace.connections.opening import opened
from headrace.spark.errors import StoreUnavailable
from tests.platform.connections.databases import DATABASES, NEEDS_DRIVER, Postgres, configured, derby

VALUES: dict[str, tuple[str, Value]] = {
    "whole": ("BIGINT", 9_007_199_254_740_993),
    "amount": ("DECIMAL(20,3)", Decimal("12345678901234567.125")),
    "text": ("VARCHAR(40)", "it's é 😀"),
    "day": ("DATE", dt.date(1900, 2, 28)),
    "wall": ("TIMESTAMP", dt.datetime(2026, 3, 29, 2, 30, 0, 1)),  # noqa: DTZ001
    "flag": ("BOOLEAN", True),
}


def test_values_are_bound_and_come_back(database: Database) -> None:
    columns = ", ".join(f"{name} {type}" for name, (type, _) in VALUES.items())
    database.execute(f"CREATE TABLE shop.plain ({columns})")
    literals = "9007199254740993, 12345678901234567.125, 'it''s é 😀', DATE('1900-02-28'), "
    moment = "TIMESTAMP('2026-03-29 02:30:00.000001')"
    if database.dialect.name == "PostgreSQL":
        moment = "TIMESTAMP '2026-03-29 02:30:00.000001'"
    database.execute(
        f"INSERT INTO shop.plain VALUES ({literals}{moment}, TRUE)",  # noqa: S608
        "INSERT INTO shop.plain VALUES (NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    for name, (_, value) in VALUES.items():
        found = database.query(f"SELECT {name} FROM shop.plain WHERE {name} = ?", [value])  # noqa: S608
        assert [list(row.values()) for row in found] == [[value]]
    [nulls] = database.query("SELECT * FROM shop.plain WHERE whole IS NULL")
    assert set(nulls.values()) == {None}
    assert database.value("SELECT max(wall) FROM shop.plain") == VALUES["wall"][1]
    assert database.value("SELECT day FROM shop.plain WHERE whole = 1") is None


@pytest.mark.parametrize("database", DATABASES[1:], indirect=True)
def test_times_with_a_zone_are_instants(database: Database) -> None:
    noon = dt.datetime(2026, 7, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    database.execute(
        "CREATE TABLE shop.moments (at timestamptz)",
        "INSERT INTO shop.moments VALUES ('2026-07-01 10:00:00Z'), ('2026-07-01 09:59:59.999999Z')",
    )
    assert database.query("SELECT at FROM shop.moments WHERE at >= ?", [noon]) == [{"at": noon}]


def test_statements_are_one_transaction(database: Database) -> None:
    database.execute("CREATE TABLE shop.kept (id INTEGER NOT NULL)")
    with pytest.raises(StatementFailed) as refused:
        database.execute("INSERT INTO shop.kept VALUES (1)", "INSERT INTO shop.kept VALUES (NULL)")
    assert refused.value.state.startswith("23")
    assert database.value("SELECT count(*) FROM shop.kept") == 0


def test_relations_are_listed_by_the_beginning_of_their_names(database: Database) -> None:
    folded = database.dialect.folded
    database.execute("CREATE TABLE shop.a_b (id INTEGER)", "CREATE TABLE shop.axb (id INTEGER)")
    database.execute("CREATE VIEW shop.a_view AS SELECT id FROM shop.a_b")
    found = database.relations(folded("shop"), folded("a_"))
    assert found == {folded("a_b"): "TABLE", folded("a_view"): "VIEW"}
    text = database.value(database.dialect.view_text, [folded("shop"), folded("a_view")])
    assert "a_b" in str(text)
    assert database.dialect.table_bytes is not None
    database.execute("INSERT INTO shop.a_b VALUES (1)")
    assert int(str(database.value(database.dialect.table_bytes, [folded("shop"), folded("a_b")]))) > 0


def test_a_refused_statement_names_the_connection_and_the_cause(database: Database) -> None:
    with pytest.raises(StatementFailed, match=rf"{database.dialect.name} \(connection crm\) failed: .*gone"):
        database.query('SELECT * FROM shop."gone" WHERE id = ?', [1])


UNREACHABLE = {
    "jdbc:derby:/nowhere/at/all": "Derby is not reached by the connection crm at jdbc:derby:/nowhere/at/all",
    "postgresql://127.0.0.1:1/x": "PostgreSQL is not reached by the connection crm .*refused",
    "postgresql://no-such-host.invalid/x": "PostgreSQL is not reached by the connection crm",
    "jdbc:postgresql://127.0.0.1:1/x": "PostgreSQL is not reached by the connection crm .*Connection refused|"
    "PostgreSQL is not reached by the connection crm .*refused",
    "jdbc:oracle:thin:@//127.0.0.1:1/x": r"driver of the connection crm, oracle\.jdbc\.OracleDriver, is not in Spark",
}


@pytest.mark.parametrize(
    "url",
    [
        pytest.param(url, marks=NEEDS_DRIVER if url.startswith("jdbc:postgresql") else ())
        for url in UNREACHABLE
    ],
)
def test_an_unreachable_database_says_what_to_do(
    url: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CONNECTIONS__CRM__PASSWORD", "s3cret")
    with (
        configured(monkeypatch, tmp_path, f'[connections.crm]\nurl = "{url}"\n'),
        pytest.raises(StoreUnavailable, match=UNREACHABLE[url]) as refused,
        opened(connection("crm"), lambda: spark),
    ):
        pytest.fail("it is open")
    assert r"[connections.crm] in headrace.toml" in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("jdbc", [False, pytest.param(True, marks=NEEDS_DRIVER)])
def test_a_refused_user_is_told_so(
    jdbc: bool,
    postgresql_over_tcp: Postgres,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        configured(monkeypatch, tmp_path, postgresql_over_tcp.settings("crm", user="stranger", jdbc=jdbc)),
        pytest.raises(
            StoreUnavailable,
            match=r"refuses the user of the connection crm: .*stranger.*HEADRACE_CONNECTIONS__CRM__PASSWORD",
        ),
        opened(connection("crm"), lambda: spark),
    ):
        pytest.fail("it is open")


def test_a_driver_that_does_not_know_the_url_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = (
        '[connections.crm]\nurl = "jdbc:db2://h/x"\ndriver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"\n'
    )
    with (
        configured(monkeypatch, tmp_path, toml),
        pytest.raises(
            StoreUnavailable, match=r"AutoloadedDriver does not know the URL of the connection crm"
        ),
        opened(connection("crm"), lambda: spark),
    ):
        pytest.fail("it is open")


def test_values_of_sensitive_columns_are_not_in_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with configured(monkeypatch, tmp_path, derby("crm")):
        for hidden, shown in (
            ((), "value 'ann@x.com' is too long"),
            (("email",), "may contain values of email"),
        ):
            with (
                pytest.raises(StatementFailed, match=shown) as refused,
                explained(connection("crm"), "t", hidden),
            ):
                raise RuntimeError("java.sql.SQLDataException: value 'ann@x.com' is too long")
            assert ("ann@x.com" in str(refused.value)) == (not hidden)


class Remote:
    """A session of Spark Connect, as far as it shows what it is."""


def test_spark_connect_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote: SparkSession = Remote()  # type: ignore[assignment]
    with (
        configured(monkeypatch, tmp_path, derby("crm")),
        pytest.raises(StoreUnavailable, match=r"needs Spark's JVM.*Set spark\.master"),
        opened(connection("crm"), lambda: remote),
    ):
        pytest.fail("it is open")


def test_questions_within_texts_names_and_comments_are_not_parameters(database: Database) -> None:
    database.execute(
        'CREATE TABLE shop.asked ("why?" VARCHAR(9))', "INSERT INTO shop.asked VALUES ('is ''it''?')"
    )
    query = """SELECT "why?" AS answer FROM shop.asked -- is it?
        WHERE "why?" = ? AND 'a ? b' <> ''"""
    assert [list(row.values()) for row in database.query(query, ["is 'it'?"])] == [["is 'it'?"]]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_other_types_of_postgresql_come_as_text(database: Database) -> None:
    [found] = database.query(
        """SELECT '{"a":1}'::jsonb AS j, '{"a"}'::jsonb ?? 'a' AS has, interval '1 day' AS i, ARRAY[1, 2] AS a,"""
        "'6b8b4567-0000-4000-8000-000000000000'::uuid AS u".replace("""'{"a"}'""", """'["a"]'""")
    )
    assert found == {
        "j": '{"a": 1}',
        "has": True,
        "i": "1 day",
        "a": "{1,2}",
        "u": "6b8b4567-0000-4000-8000-000000000000",
    }


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_infinite_times_of_postgresql_are_the_first_and_last(database: Database, spark: SparkSession) -> None:
    database.execute(
        'CREATE TABLE shop.prices (id int, at timestamptz, "Wall" timestamp, day date)',
        "INSERT INTO shop.prices VALUES (1, '-infinity', '-infinity', '-infinity'), "
        "(2, 'infinity', 'infinity', 'infinity'), (3, '2026-03-29 01:30Z', '2026-03-29 02:30', '0044-03-15 BC')",
    )
    found = fetched(spark, database.connection, "shop.prices").orderBy("id")
    utc = "to_utc_timestamp(at, current_timezone())"
    texts = found.selectExpr(f"CAST({utc} AS string)", "CAST(Wall AS string)", "CAST(day AS string)")
    assert [tuple(row) for row in texts.collect()] == [
        ("0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01"),
        ("9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999", "9999-12-31"),
        ("2026-03-29 01:30:00", "2026-03-29 02:30:00", "-0043-03-15"),
    ]


@pytest.mark.parametrize("database", DATABASES[1:], indirect=True)
def test_a_query_that_takes_too_long_is_cancelled(database: Database) -> None:
    with pytest.raises(StatementFailed, match=r"cancelled a statement of the connection crm"):
        database.query("SELECT pg_sleep(30)", seconds=1)
    assert database.value("SELECT 1") == 1
