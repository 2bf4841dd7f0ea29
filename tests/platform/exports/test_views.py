"""The OL_* views: exactly the model's columns and types, for declared, executed, and reported data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import Cursor
from psycopg.rows import dict_row
from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord
from headrace.context import current_context, organisation_named
from headrace.database.connection import transaction
from headrace.estates.review import format_of
from headrace.exports.copy import VIEWS
from headrace.exports.tables import in_schema
from headrace.files.formats import FORMATS
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Result
from headrace.registration.declarations import register
from tests.platform.exports.conftest import EARLIER, LONG, RUN, Filled, columns, event, facet

OURS = "headrace://default"


def rows(engine: Engine, view: str, *columns: str) -> set[tuple]:
    table = next(each for each in in_schema(VIEWS) if each.name == view)
    with engine.connect() as connection:
        found = connection.execute(sa.select(*[table.c[name] for name in columns])).all()
    assert len(set(found)) == len(found)
    return {tuple(row) for row in found}


def names(filled: Filled, view: str, key: str, name: str = "name") -> dict[str, str]:
    return dict(rows(filled.engine, view, key, name))


def test_columns_types_and_lengths_are_those_of_the_model(engine: Engine) -> None:
    inspector = sa.inspect(engine)
    assert set(inspector.get_view_names(VIEWS)) == {table.name for table in in_schema(None)}
    for table in in_schema(None):
        found = {each["name"]: each["type"] for each in inspector.get_columns(table.name, VIEWS)}
        wanted = {each.name: each.type for each in table.columns}
        dialect = engine.dialect
        assert {name: kind.compile(dialect).removesuffix(' COLLATE "C"') for name, kind in found.items()} == {
            name: kind.compile(dialect) for name, kind in wanted.items()
        }


def test_namespaces_are_headraces_and_reported_ones(filled: Filled) -> None:
    assert {uri for (uri,) in rows(filled.engine, "ol_namespace", "namespace_uri")} == {
        OURS, "s3://lake", "postgres://db:5432", "etl",
    }  # fmt: skip


def test_datasets_have_the_names_that_openlineage_knows_them_by(filled: Filled) -> None:
    found = rows(filled.engine, "ol_dataset", "name", "source_type", "is_active")
    short = {row for row in found if not row[0].startswith("s3/")}
    assert short == {
        ("raw/flights", "FILE", "Y"), ("mart/delays", "FILE", "Y"), ("mart/report", "FILE", "Y"),
        ("dwh.sales", "TABLE", "Y"),
    }  # fmt: skip
    ((name, _, _),) = found - short
    assert len(name) == 256
    assert name.startswith(LONG[:200])
    uris = dict(rows(filled.engine, "ol_namespace", "namespace_id", "namespace_uri"))
    ids = rows(filled.engine, "ol_dataset", "dataset_id", "namespace_id", "name")
    assert {uris[namespace] for _, namespace, _ in ids} == {OURS, "s3://lake", "postgres://db:5432"}
    assert all(key == f"{namespace}/{name}" for key, namespace, name in ids if len(name) < 200)


def test_a_format_of_files_is_of_the_type_file_and_any_other_is_a_table(engine: Engine) -> None:
    suggested = {format_of(f"/feed/orders.{ending}") for ending in ("avro", "dat", "jsonl", "xlsx", "xml")}
    files = {*FORMATS, *suggested}
    register(engine, [DatasetRecord(f"shop/{name}", name) for name in (*files, "db2", "iceberg")], [])
    assert set(rows(engine, "ol_dataset", "name", "source_type")) == {
        *((f"shop/{name}", "FILE") for name in files),
        ("shop/db2", "TABLE"),
        ("shop/iceberg", "TABLE"),
    }


def test_names_that_differ_at_their_end_alone_stay_apart_and_fit_in_octets(engine: Engine) -> None:
    with transaction(engine) as cursor:

        def fitted(text: str) -> str:
            return cursor.execute("SELECT catalog.fitted(%s, 256) AS it", [text]).fetchone()["it"]

        for text in ("x" * 300, "ß" * 200, "日本" * 100, "a" + "😀" * 100):
            one, other = fitted(text + "1"), fitted(text + "2")
            assert one != other
            assert max(len(one.encode()), len(other.encode())) <= 256
        assert fitted("ß" * 128) == "ß" * 128
        assert cursor.execute("SELECT catalog.fitted(NULL, 9) AS it").fetchone() == {"it": None}


def test_fields_are_those_of_the_newest_version_or_as_declared(filled: Filled) -> None:
    datasets = names(filled, "ol_dataset", "dataset_id")
    found = {
        (datasets[dataset][:11], *rest)
        for dataset, *rest in rows(
            filled.engine, "ol_dataset_field", "dataset_id", "field_name", "field_type", "ordinal_position",
            "nullable", "field_description",
        )
    }  # fmt: skip
    assert found == {
        ("mart/delays", "id", "bigint", 1, "N", None), ("mart/delays", "delay", "double", 2, "Y", "minutes"),
        ("raw/flights", "id", "bigint", 1, "N", None), ("raw/flights", "delay", "double", 2, "Y", "minutes"),
        ("dwh.sales", "amount", "int", 1, "Y", None), 
    }  # fmt: skip
    ids = {row[0] for row in rows(filled.engine, "ol_dataset_field", "field_id")}
    assert len(ids) == 5


def test_jobs_and_runs(filled: Filled) -> None:
    jobs = names(filled, "ol_job", "job_id")
    assert set(jobs.values()) == {"mart/delays", "mart/report", "load"}
    found = {
        (str(run), jobs[job], kind)
        for run, job, kind in rows(filled.engine, "ol_run", "run_id", "job_id", "event_type")
    }
    assert found == {
        (str(EARLIER), "load", "START"),
        (str(RUN), "load", "FAIL"),
        (str(filled.run), "mart/delays", "COMPLETE"),
    }
    reported = {
        row[0]: row[1:]
        for row in rows(
            filled.engine, "ol_run", "run_id", "event_time", "nominal_start_time", "nominal_end_time", "producer",
            "schema_url",
        )
    }  # fmt: skip
    assert reported[str(RUN)] == (
        datetime(2026, 11, 28, 1, 5, 0, 500_000, UTC), datetime(2026, 11, 28, tzinfo=UTC), None,
        "https://example.com/spark", "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    )  # fmt: skip
    assert reported[str(filled.run)][3] == "https://github.com/headrace/headrace"


def test_what_runs_read_and_wrote(filled: Filled) -> None:
    datasets = {key: name[:11] for key, name in names(filled, "ol_dataset", "dataset_id").items()}
    read = {
        (run, datasets[each]) for run, each in rows(filled.engine, "ol_run_input", "run_id", "dataset_id")
    }
    made = {
        (run, datasets[each]) for run, each in rows(filled.engine, "ol_run_output", "run_id", "dataset_id")
    }
    assert read == {(str(each), LONG[:11]) for each in (EARLIER, RUN)}
    assert made == {
        (str(EARLIER), "dwh.sales"),
        (str(RUN), "dwh.sales"),
        (str(filled.run), "mart/delays"),
    }


def test_column_lineage_no_longer_reported_is_not_active(filled: Filled) -> None:
    found = rows(
        filled.engine, "ol_column_lineage", "source_field", "target_field", "transformation_type",
        "transformation_subtype", "masking", "is_active",
    )  # fmt: skip
    assert found == {
        ("amount", "amount", "DIRECT", "AGGREGATION", "N", "Y"),
        ("day", "*", "INDIRECT", "FILTER", "N", "Y"),
        ("cents", "amount", "DIRECT", "TRANSFORMATION", "N", "N"),
    }
    ends = rows(
        filled.engine,
        "ol_column_lineage",
        "lineage_id",
        "source_namespace",
        "target_namespace",
        "target_dataset",
    )
    assert {row[1:] for row in ends} == {("s3://lake", "postgres://db:5432", "dwh.sales")}


def test_a_session_of_another_organisation_sees_none_of_it(filled: Filled) -> None:
    with transaction(filled.engine) as cursor:
        cursor.execute("SELECT set_config('headrace.organisation_id', %s, true)", [str(uuid4())])
        for table in in_schema(VIEWS):
            if table.name != "ol_schema_version":
                cursor.execute(f"SELECT count(*) AS rows FROM {table.schema}.{table.name}")  # noqa: S608
                assert cursor.fetchone() == {"rows": 0}, table.name


def test_the_version_record_says_the_same_as_that_of_the_tables(engine: Engine) -> None:
    assert rows(engine, "ol_schema_version", "version_id", "openlineage_spec_version", "schema_version") == {
        (1, "2-0-2", "1.0.0")
    }


@pytest.mark.parametrize(
    "state", ["RUNNING", "QUEUED", "LOST", "SKIPPED", "SUPERSEDED", "TERMINATED", "BLOCKED"]
)
def test_every_state_of_a_run_is_one_of_the_specs_events(filled: Filled, state: Any) -> None:
    from headrace.catalog.published_events import EVENT_TYPES
    from headrace.catalog.records import RunState

    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.process_run SET status = %s WHERE run_id = %s", [state, RUN])
    found = dict(rows(filled.engine, "ol_run", "run_id", "event_type"))
    assert found[str(RUN)] == EVENT_TYPES[RunState(state)]


@pytest.fixture
def reader(filled: Filled) -> Iterator[Cursor[dict[str, Any]]]:
    """A new connection of a role that was granted the views as documented, and no organisation yet."""
    role = f"bi_{uuid4().hex[:8]}"
    with transaction(filled.engine) as cursor:
        for statement in (
            f"CREATE ROLE {role}",
            f"GRANT USAGE ON SCHEMA openlineage TO {role}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA openlineage TO {role}",
        ):
            cursor.execute(statement)
    # One that a superuser has used knows the tables' indexes already, whose functions the role may not look up.
    url = filled.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute(f"SET ROLE {role}")
        yield connection.cursor()
        connection.rollback()
    with transaction(filled.engine) as cursor:
        cursor.execute(f"DROP OWNED BY {role}")
        cursor.execute(f"DROP ROLE {role}")


def test_a_role_that_is_granted_them_as_documented_reads_one_organisation(
    reader: Cursor[dict[str, Any]],
) -> None:
    for organisation, some in (
        ("", False),
        (str(uuid4()), False),
        (str(current_context().organisation_id), True),
    ):
        reader.execute("SELECT set_config('headrace.organisation_id', %s, true)", [organisation])
        for table in in_schema(VIEWS):
            reader.execute(f"SELECT * FROM {table.schema}.{table.name}")  # noqa: S608
            assert bool(reader.fetchall()) is (some or table.name == "ol_schema_version"), table.name


def test_a_role_that_is_granted_them_as_documented_reads_nothing_else(reader: Cursor[dict[str, Any]]) -> None:
    reader.execute(
        "SELECT set_config('headrace.organisation_id', %s, true)", [str(current_context().organisation_id)]
    )
    for statement in (
        "SELECT payload_json FROM catalog.run_event",
        "SELECT reason FROM catalog.run_attempt",
        "DELETE FROM catalog.dataset_pin",
        "SELECT * FROM catalog.similar_words(NULL, 'x', 1)",
    ):
        reader.execute("SAVEPOINT before")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(statement)
        reader.execute("ROLLBACK TO before")


def test_a_run_of_another_organisation_with_the_same_id_is_hidden(filled: Filled) -> None:
    other = organisation_named("acme")
    with transaction(filled.engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, 'acme')", [other]
        )
    theirs = event("COMPLETE", RUN, "2026-11-28T02:00:00Z") | {"producer": "https://acme.example.com"}
    assert [each.result for each in ingest(filled.engine, other, [theirs])] == [Result.STORED]
    with transaction(filled.engine) as cursor:
        cursor.execute(
            "SELECT set_config('headrace.organisation_id', %s, true)",
            [str(current_context().organisation_id)],
        )
        cursor.execute("SELECT DISTINCT producer FROM openlineage.ol_run WHERE run_id = %s", [str(RUN)])
        assert cursor.fetchall() == [{"producer": "https://example.com/spark"}]


def test_column_expressions_are_hidden_and_unknown_reasons_shown(filled: Filled) -> None:
    described = rows(filled.engine, "ol_column_lineage", "lineage_id", "transformation_description")
    assert {text for _, text in described} == {"***"}
    with transaction(filled.engine) as cursor:
        cursor.execute(
            "UPDATE catalog.column_lineage SET transformation_subtype = 'UNKNOWN', "
            "transformation_description = 'a function of Python' WHERE target_field = ''"
        )
    described = rows(filled.engine, "ol_column_lineage", "lineage_id", "transformation_description")
    assert {text for _, text in described} == {"***", "a function of Python"}


def test_no_password_is_in_the_views(filled: Filled) -> None:
    written = {"namespace": "postgres://bob:hunter2@db:5432", "name": "dwh.loads"}
    documented = facet(
        "DocumentationDatasetFacet", description="see jdbc:db2://h:1/d:user=a;password=hunter2;"
    )
    named = {**written, "name": "jdbc://bob:hunter2@db/t", "facets": {"documentation": documented}}
    reported = event(
        "COMPLETE", uuid4(), "2026-11-28T02:00:00Z", columns(("amount", "amount", "DIRECT", "IDENTITY"))
    )
    reported["outputs"][0] |= written
    reported["outputs"].append(named)
    assert [each.result for each in ingest(filled.engine, current_context().organisation_id, [reported])] == [
        Result.STORED
    ]
    message = ""
    for table in in_schema(VIEWS):
        with filled.engine.connect() as connection:
            message += str(connection.execute(sa.select(table)).all())
    assert "postgres://bob:***@db:5432" in message
    assert "password=***" in message
    assert "hunter2" not in message


def test_the_end_of_all_time_is_a_nominal_time(filled: Filled) -> None:
    reported = event("COMPLETE", uuid4(), "2026-11-28T02:00:00Z")
    end = "9999-12-31T23:59:59.999999Z"
    reported["run"]["facets"] = {
        "nominalTime": facet(
            "NominalTimeRunFacet", nominalStartTime="2026-11-28T00:00:00Z", nominalEndTime=end
        )
    }
    assert [each.result for each in ingest(filled.engine, current_context().organisation_id, [reported])] == [
        Result.STORED
    ]
    ends = dict(rows(filled.engine, "ol_run", "run_id", "nominal_end_time"))
    assert datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) in ends.values()
