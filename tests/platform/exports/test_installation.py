"""Installing, verifying and removing the OL_* tables on PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace.exports import TargetRefused, Verification, drop, engine_of, install, verify
from headrace.exports.tables import MODEL

NAMES = tuple(MODEL.tables)


@pytest.fixture
def target(engine: Engine) -> Engine:  # type: ignore[misc]
    """A foreign database with a schema for lineage, and older LIN_* tables."""
    found = engine_of(engine.url.set(drivername="postgresql").render_as_string(hide_password=False))
    run(found, "CREATE SCHEMA lineage")
    run(found, "CREATE TABLE lineage.lin_table (id int)")
    run(found, "INSERT INTO lineage.lin_table VALUES (7)")
    yield found
    found.dispose()


def run(engine: Engine, statement: str) -> list[tuple]:
    with engine.begin() as connection:
        result = connection.exec_driver_sql(statement)
        return [tuple(row) for row in result] if result.returns_rows else []


def test_installed_once_it_is_whole_and_stays(target: Engine) -> None:
    assert verify(target, "lineage").problems[0] == "ol_namespace is missing"
    made = install(target, "lineage")
    assert (made.created, made.legacy) == (NAMES, ("lin_table",))
    assert verify(target, "lineage") == Verification((), "spec 2-0-2, schema 1.0.0", ("lin_table",))
    stamps = run(target, "SELECT applied_at FROM lineage.ol_schema_version")
    assert install(target, "lineage").created == ()
    assert run(target, "SELECT applied_at FROM lineage.ol_schema_version") == stamps


def test_what_was_cut_off_is_completed(target: Engine) -> None:
    install(target, "lineage")
    run(target, "DROP TABLE lineage.ol_run, lineage.ol_schema_version")
    run(target, "DROP INDEX lineage.idx_ol_job_ns")
    run(target, "INSERT INTO lineage.ol_namespace VALUES ('n', 'uri')")
    found = verify(target, "lineage")
    assert found.problems == (
        "ol_job has no index idx_ol_job_ns",
        "ol_run is missing",
        "ol_schema_version is missing",
        "the version record has nothing, expected spec 2-0-2, schema 1.0.0",
    )
    assert install(target, "lineage").created == ("ol_run", "ol_schema_version")
    assert verify(target, "lineage").problems == ()
    assert run(target, "SELECT namespace_uri, spec_version FROM lineage.ol_namespace") == [("uri", "2-0-2")]


def test_tables_that_are_not_of_this_model_are_refused_and_nothing_is_created(target: Engine) -> None:
    run(
        target,
        "CREATE TABLE lineage.ol_dataset (dataset_id varchar(64), name varchar(256), extra int NOT NULL)",
    )
    with pytest.raises(TargetRefused) as refused:
        install(target, "lineage")
    message = str(refused.value)
    assert "ol_dataset.dataset_id holds 64 characters, and 256 are needed" in message
    assert "ol_dataset.namespace_id is missing" in message
    assert "ol_dataset has the primary key (), not (dataset_id)" in message
    assert "rename or remove them first" in message
    assert set(sa.inspect(target).get_table_names("lineage")) == {"lin_table", "ol_dataset"}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            "ALTER TABLE lineage.ol_job ALTER created_at TYPE text",
            "ol_job.created_at is TEXT, not TIMESTAMP(0) WITH TIME ZONE",
        ),
        (
            "ALTER TABLE lineage.ol_dataset ALTER is_active DROP DEFAULT",
            "ol_dataset.is_active has no default",
        ),
        (
            "ALTER TABLE lineage.ol_column_lineage ALTER masking SET DEFAULT 'Y'",
            "ol_column_lineage.masking has the default 'Y'::bpchar, and not 'N'",
        ),
        (
            "ALTER TABLE lineage.ol_schema_version DROP COLUMN schema_version",
            "ol_schema_version.schema_version is missing",
        ),
        (
            "ALTER TABLE lineage.ol_namespace ALTER namespace_uri DROP NOT NULL",
            "ol_namespace.namespace_uri is nullable, but should be NOT NULL",
        ),
        (
            "DROP INDEX lineage.idx_ol_run_time; CREATE INDEX idx_ol_run_time ON lineage.ol_run (run_id)",
            "idx_ol_run_time of ol_run is on run_id, not on event_time",
        ),
    ],
)
def test_what_was_damaged_is_found_and_not_taken_for_whole(target: Engine, damage: Any, message: Any) -> None:
    install(target, "lineage")
    run(target, damage)
    assert verify(target, "lineage").problems[0] == message
    with pytest.raises(TargetRefused) as refused:
        install(target, "lineage")
    assert message in str(refused.value)


def test_another_version_is_refused(target: Engine) -> None:
    install(target, "lineage")
    run(target, "UPDATE lineage.ol_schema_version SET schema_version = '9.0.0'")
    with pytest.raises(
        TargetRefused, match=r"has spec 2-0-2, schema 9.0.0, expected spec 2-0-2, schema 1.0.0"
    ):
        install(target, "lineage")


def test_only_ol_tables_are_removed(target: Engine) -> None:
    install(target, "lineage")
    run(target, "CREATE TABLE lineage.ol_mine (id int)")
    assert drop(target, "lineage") == tuple(reversed(NAMES))
    assert set(sa.inspect(target).get_table_names("lineage")) == {"lin_table", "ol_mine"}
    assert run(target, "SELECT id FROM lineage.lin_table") == [(7,)]
    assert drop(target, "lineage") == ()


def test_the_catalogs_own_views_are_not_overwritten(target: Engine) -> None:
    for refused in (install, drop):
        with pytest.raises(TargetRefused, match=r"views with these names exist.*--schema"):
            refused(target, "openlineage")


def test_a_database_that_cannot_be_reached_is_one_message_without_the_password() -> None:
    engine = engine_of("postgresql://u:s3cret@127.0.0.1:1/d")
    with pytest.raises(TargetRefused, match=r"127.0.0.1:1/d: .*Connection refused") as refused:
        install(engine)
    assert "s3cret" not in str(refused.value)
