"""The store of databases, beyond the guarantees of every store."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from threading import Timer
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.connections.connection import connection
from headrace.connections.database import Database
from headrace.connections.failures import StatementFailed
from headrace.connections.opening import opened
from headrace.declarations.loading.project import load
from headrace.queries.reading import readable_versions
from headrace.queries.versions import version
from headrace.settings import settings
from headrace.spark.errors import SchemaMismatch, StoreUnavailable
from headrace.stores.display import masked, rows
from headrace.stores.jdbc.local_rows import local_rows
from headrace.stores.jdbc.place import Place
from headrace.stores.jdbc.tables import append
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from headrace.stores.writes import OutputFormat
from tests.platform.connections.databases import BY_JDBC, DATABASES, Postgres, derby
from tests.platform.projects import failure, load_project, write_project
from tests.platform.stores.test_local_rows import PLAIN

ORDERS = """
type: headrace.Dataset
attributes:
  key: shop/orders
  output: {store: jdbc, connection: sales, table: shop.orders}
  sql: SQL
"""


@pytest.fixture(params=DATABASES)
def sales(
    request: pytest.FixtureRequest, engine: Engine, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    """An open connection to the database of the store."""
    if request.param == "derby":
        monkeypatch.setenv("HEADRACE_CONNECTIONS__SALES__URL", derby("sales").split('"')[1])
        monkeypatch.setenv("HEADRACE_CONNECTIONS__SALES__PASSWORD", "s3cret-of-sales")
        monkeypatch.setenv("HEADRACE_CONNECTIONS__SALES__USER", "shop")
    else:
        served: Postgres = request.getfixturevalue("postgresql_over_tcp")
        for name, value in {
            **served.variables(jdbc=request.param == BY_JDBC),
            "PASSWORD": "s3cret-of-sales",
        }.items():
            monkeypatch.setenv(f"HEADRACE_CONNECTIONS__SALES__{name}", value)
    settings.cache_clear()
    with opened(connection("sales"), lambda: spark) as database:
        database.execute("CREATE SCHEMA shop")
        yield database
        if request.param != "derby":
            database.execute("DROP SCHEMA shop CASCADE")


def run(root: Path, engine: Engine, sql: str, text: str = ORDERS) -> Any:
    project = load_project(write_project(root, "shop", text.replace("SQL", sql)), engine)
    [result] = project.materialize("shop/orders")
    return result


def test_a_view_cannot_be_written_through(sales: Database, engine: Engine, tmp_path: Path) -> None:
    assert run(tmp_path, engine, "SELECT id FROM range(3)").success
    with pytest.raises(StatementFailed):
        sales.execute("INSERT INTO shop.orders VALUES (7)")
    with pytest.raises(StatementFailed):
        sales.execute("DELETE FROM shop.orders")
    assert sales.value("SELECT count(*) FROM shop.orders") == 3


@pytest.mark.parametrize("sales", ["postgresql"], indirect=True)
def test_a_view_keeps_its_grants(sales: Database, engine: Engine, tmp_path: Path) -> None:
    assert run(tmp_path, engine, "SELECT id FROM range(3)").success
    sales.execute("GRANT SELECT ON shop.orders TO PUBLIC")
    granted = "SELECT count(*) FROM information_schema.role_table_grants WHERE grantee = 'PUBLIC'"
    granted += " AND table_name = 'orders'"
    assert run(tmp_path, engine, "SELECT id, 1 AS added FROM range(4)").success
    assert sales.value("SELECT sum(added) FROM shop.orders") == 4
    assert sales.value(granted) == 1


def test_another_dataset_does_not_take_over_a_view(sales: Database, engine: Engine, tmp_path: Path) -> None:
    assert run(tmp_path, engine, "SELECT id FROM range(3)").success
    other = ORDERS.replace("key: shop/orders", "key: shop/others").replace("SQL", "SELECT 1 AS id")
    project = load_project(write_project(tmp_path / "other", "shop", other), engine)
    [result] = project.materialize("shop/others")
    assert result.success
    logged = " ".join(entry.user_message for entry in project.instance.all_logs(result.run_id))
    assert "another dataset, has made the view" in logged
    assert sales.value("SELECT count(*) FROM shop.orders") == 3
    place = Place.of("shop/others", "sales:shop.orders")
    assert len(place.tags(sales)) == 1
    assert place.tags(sales) != Place.of("shop/orders", "sales:shop.orders").tags(sales)


def test_what_the_database_cannot_hold_is_refused_before_a_table_is_created(
    sales: Database, spark: SparkSession
) -> None:
    store = OpenStores(spark, settings().warehouse_uri).named("jdbc")
    output = OutputFormat("table", location="sales:shop.orders")
    long = sales.dialect.max_name + 1
    for frame, problem in (
        (spark.sql("SELECT array(1) AS list"), r"cannot store column list: the type array<int>"),
        (spark.sql(f"SELECT 1 AS {'x' * long}"), rf"has {long} bytes"),
        (spark.sql("SELECT 1 AS headrace_set_aside"), r"no two columns named headrace_set_aside|HEADRACE"),
    ):
        with pytest.raises(SchemaMismatch, match=problem):
            store.write(frame, dataset="shop/orders", tag=new_tag(), output=output)
    too_long = OutputFormat("table", location=f"sales:shop.{'t' * (long - 30)}")
    with pytest.raises(SchemaMismatch, match=r"Set a shorter `table` of the output"):
        store.write(spark.range(1), dataset="shop/orders", tag=new_tag(), output=too_long)
    assert sales.relations(sales.dialect.folded("shop"), "") == {}


def test_a_missing_schema_is_created(sales: Database, engine: Engine, tmp_path: Path) -> None:
    orders = ORDERS.replace("table: shop.orders", "table: landing.orders")
    assert run(tmp_path, engine, "SELECT 1 AS id", orders).success
    assert sales.value("SELECT id FROM landing.orders") == 1
    if sales.dialect.name == "PostgreSQL":
        sales.execute("DROP SCHEMA landing CASCADE")


@pytest.mark.parametrize("sales", ["postgresql"], indirect=True)
def test_a_missing_schema_is_created_by_two_runs_at_the_same_time(
    sales: Database, spark: SparkSession
) -> None:
    store = OpenStores(spark, settings().warehouse_uri).named("jdbc")
    output = OutputFormat("table", location="sales:landing.orders")
    with psycopg.connect(connection("sales").conninfo) as other:
        other.execute("CREATE SCHEMA landing")
        commit = Timer(2, other.commit)
        commit.start()
        [written] = store.write(spark.range(2), dataset="shop/orders", tag=new_tag(), output=output)
        commit.join()
    assert written.row_count == 2
    sales.execute("DROP SCHEMA landing CASCADE")


def test_the_catalog_is_a_connection_without_settings(
    engine: Engine, tmp_path: Path, spark: SparkSession
) -> None:
    assert run(tmp_path, engine, "SELECT id FROM range(3)", ORDERS.replace("sales", "catalog")).success
    with engine.connect() as database:
        assert database.exec_driver_sql("SELECT sum(id) FROM shop.orders").scalar() == 3


@pytest.mark.parametrize("sales", DATABASES[1:], indirect=True)
def test_first_rows_of_postgresql_are_those_that_spark_reads(
    sales: Database, engine: Engine, tmp_path: Path, spark: SparkSession
) -> None:
    text = ORDERS.replace(
        "  sql: SQL", "  checks: [{name: early, sql: id < 2, quarantine: true}]\n  sql: SQL"
    )
    query = f"SELECT * FROM ({' '.join(PLAIN.split())}) CROSS JOIN range(3)"  # noqa: S608
    assert run(tmp_path, engine, query, text).success
    [published] = readable_versions(engine, "shop/orders", None, None, None)
    names = [column.name for column in published.columns]
    found = local_rows([published], names, frozenset({"text"}), 5)
    if connection("sales").driver is not None:
        assert found is None
        return
    store = OpenStores(spark, settings().warehouse_uri).named("jdbc")
    assert found is not None
    assert sorted(found, key=itemgetter("id")) == sorted(
        rows(masked(store.read([published]), frozenset({"text"}))), key=itemgetter("id")
    )
    assert len(found) == 2
    assert local_rows([published], ["id"], frozenset(), 1) in ([{"id": 0}], [{"id": 1}])


@pytest.mark.parametrize("schema", ["catalog", "iceberg", "openlineage"])
def test_the_schemas_of_the_catalog_itself_take_no_datasets(schema: str, engine: Engine) -> None:
    with pytest.raises(StoreUnavailable, match=f"cannot be in the schema {schema} of the connection catalog"):
        Place.of("shop/orders", f"catalog:{schema}.orders")


@pytest.mark.parametrize("sales", DATABASES[1:], indirect=True)
def test_a_schema_that_the_user_may_not_create_is_named(
    sales: Database, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "weak_" + str(sales.value("SELECT current_database()"))
    sales.execute(f"CREATE ROLE {name} LOGIN")
    monkeypatch.setenv("HEADRACE_CONNECTIONS__SALES__USER", name)
    settings.cache_clear()
    result = run(tmp_path, engine, "SELECT 1 AS id", ORDERS.replace("table: shop.orders", "table: nowhere.x"))
    sales.execute(f"DROP ROLE {name}")
    assert "(connection sales) failed: " in failure(result)
    assert "permission denied for database" in failure(result)


def test_the_password_is_shown_nowhere(
    sales: Database, engine: Engine, tmp_path: Path, spark: SparkSession
) -> None:
    assert run(tmp_path, engine, "SELECT id FROM range(3)").success
    store = OpenStores(spark, settings().warehouse_uri).named("jdbc")
    output = OutputFormat("table", location="sales:shop.orders")
    [written] = store.write(spark.range(2), dataset="shop/orders", tag=new_tag(), output=output)
    runs = spark._jsparkSession.sharedState().statusStore().executionsList()
    plans = [runs.apply(number).physicalPlanDescription() for number in range(runs.size())]
    assert "JDBC" in str(plans) or connection("sales").driver is None
    assert plans
    assert "s3cret-of-sales" not in f"{plans} {written}"
    with engine.begin() as database:
        for table in ("dataset_version", "dataset", "run_attempt"):
            rows = database.exec_driver_sql(f"SELECT x::text FROM catalog.{table} x").fetchall()  # noqa: S608
            assert rows
            assert "s3cret-of-sales" not in str(rows)


@pytest.mark.parametrize("sales", ["derby"], indirect=True)
def test_rows_that_spark_wrote_twice_are_noticed(
    sales: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(*arguments: Any) -> None:
        append(*arguments)
        append(*arguments)

    monkeypatch.setattr("headrace.stores.jdbc.store.append", twice)
    store = OpenStores(spark, settings().warehouse_uri).named("jdbc")
    output = OutputFormat("table", location="sales:shop.orders")
    with pytest.raises(StoreUnavailable, match=r"has 6 rows, and 3 were written: Spark repeated a task"):
        store.write(spark.range(3), dataset="shop/orders", tag=new_tag(), output=output)


@pytest.mark.parametrize("sales", ["derby"], indirect=True)
def test_times_are_refused_where_java_has_summer_time(
    sales: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.stores.jdbc.store.summer_zone", lambda _: "Europe/Amsterdam")
    store = OpenStores(spark, settings().warehouse_uri).named("jdbc")
    output = OutputFormat("table", location="sales:shop.orders")
    with pytest.raises(StoreUnavailable, match=r"at cannot be written exactly.*-Duser\.timezone=UTC"):
        store.write(spark.sql("SELECT now() AS at"), dataset="shop/orders", tag=new_tag(), output=output)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("{store: jdbc}", "needs `connection`"),
        ("{store: jdbc, connection: sales, location: 's3a://x/y'}", "has no `location`"),
        ("{connection: sales}", "has no `connection` and no `table`"),
        (
            "{store: jdbc, connection: sales, table: orders}",
            "Write schema.table as the database's SQL has it",
        ),
        ("{store: jdbc, connection: Sales}", "'Sales' has the wrong form"),
    ],
)
def test_declarations_are_refused_with_the_reason(
    output: str, problem: str, engine: Engine, tmp_path: Path
) -> None:
    text = ORDERS.replace("{store: jdbc, connection: sales, table: shop.orders}", output).replace(
        "SQL", "SELECT 1 AS id"
    )
    [found] = load(write_project(tmp_path, "shop", text.replace("SQL", "SELECT 1 AS id"))).problems
    assert problem in str(found)


PARTITIONED = """
  partitions: {type: static, keys: [a, b, c], column: k, ranges: true}
  checks:
    - {unique: [n]}
    - {name: small, sql: n < 5, severity: warning}
    - {name: positive, sql: n > 0, quarantine: true}
"""


def test_partitions_have_counts_checks_and_quarantines_of_their_own(
    sales: Database, engine: Engine, tmp_path: Path
) -> None:
    sql = "SELECT * FROM VALUES ('a', 1), ('a', 2), ('b', 2), ('b', 7), ('b', 0) AS t (k, n)"
    text = ORDERS.replace("SQL", sql) + PARTITIONED
    project = load_project(write_project(tmp_path, "shop", text), engine)

    [result] = project.materialize("shop/orders", partitions=("a", "c"))

    assert result.success, failure(result)
    found = {key: version(engine, "shop/orders", partition=key) for key in "abc"}
    assert {key: each.version.row_count for key, each in found.items()} == {"a": 2, "b": 2, "c": 0}
    assert {key: each.quarantine_rows for key, each in found.items()} == {"a": 0, "b": 1, "c": 0}
    assert found["a"].statistics["n"] == {"null_count": 0, "min": 1, "max": 2}
    failed = {
        key: {each.name: each.failed_rows for each in one.checks if each.failed_rows}
        for key, one in found.items()
    }
    assert failed == {"a": {}, "b": {"small": 1, "positive": 1}, "c": {}}


def test_a_view_of_partitions_shows_a_column_that_only_some_have(
    sales: Database, engine: Engine, tmp_path: Path
) -> None:
    parted = "  partitions: {type: static, keys: [a, b], column: k}\n  allow_breaking_schema_change: true\n"
    for key, sql in (
        ("a", "SELECT 'a' AS k, 1 AS n"),
        ("b", "SELECT 'b' AS k, 2 AS n, DATE'2026-01-02' AS due"),
    ):
        text = ORDERS.replace("SQL", sql) + parted
        [result] = load_project(write_project(tmp_path, "shop", text), engine).materialize(
            "shop/orders", partitions=(key, key)
        )
        assert result.success, failure(result)
    assert sales.value("SELECT count(*) FROM shop.orders") == 2
    assert sales.value("SELECT min(n) FROM shop.orders WHERE due IS NULL") == 1


GROWING = """
type: headrace.Dataset
attributes: {key: shop/feed, sql: "SELECT 1 AS id, 'a' AS name, 1 AS version UNION ALL SELECT 2, 'b', 1"}
---
type: headrace.Dataset
attributes:
  key: shop/orders
  output: {store: jdbc, connection: sales}
  incremental: {mode: merge, input: feed, keys: [id], watermark: version, order_by: version}
  sql: SELECT id, name, version FROM shop.feed
"""


def test_a_growing_dataset_is_merged(sales: Database, engine: Engine, tmp_path: Path) -> None:
    project = load_project(write_project(tmp_path, "shop", GROWING), engine)
    assert all(result.success for result in project.materialize())
    later = GROWING.replace("SELECT 2, 'b', 1", "SELECT 2, 'c', 2 UNION ALL SELECT 3, 'd', 2")
    project = load_project(write_project(tmp_path, "shop", later), engine)
    assert all(result.success for result in project.materialize())
    found = sales.query("SELECT id, name FROM shop.orders ORDER BY id")
    assert [tuple(row.values()) for row in found] == [(1, "a"), (2, "c"), (3, "d")]
