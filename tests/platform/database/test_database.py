"""Connecting and migrating: concurrent starts, readable refusals."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from headrace.database import connection as database
from headrace.database.connection import engine_for, migrate, revision, transaction
from headrace.database.migrations import HEAD
from headrace.errors import CatalogUnavailable, SchemaOutdated


def test_head_is_the_newest_migration() -> None:
    directory = database.Path(database.__file__).with_name("migrations")  # type: ignore[attr-defined]
    assert ScriptDirectory(str(directory)).get_current_head() == HEAD


def test_many_may_migrate_at_once(engine: Engine) -> None:
    with transaction(engine) as cursor:
        cursor.execute("DROP SCHEMA catalog, openlineage_core CASCADE")
    assert revision(engine) is None
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: migrate(engine), range(4)))
    assert revision(engine) == HEAD


def test_a_database_of_a_newer_headrace_is_refused(engine: Engine) -> None:
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.alembic_version SET version_num = '9999'")
    database.disconnect()
    with pytest.raises(
        SchemaOutdated, match="is at revision 9999, which this version of Headrace does not know"
    ):
        database.connect()


def test_connecting_again_is_the_same_engine(engine: Engine) -> None:
    assert database.connect() is engine


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://u:s3cret@127.0.0.1:1/x", "Connection refused. Check that the server runs"),
        (
            "postgresql://u:s3cret@/x?host=127.0.0.1:1&host=127.0.0.1:2",
            "Connection refused. Check that the server runs",
        ),
        ("postgresql://u:s3cret@no-such-host.invalid/x", "cannot be reached"),
        ("mysql://u:s3cret@h/x", "has the scheme 'mysql'"),
        ("nonsense s3cret", "is not a URL"),
        ("postgresql://u:s3cret@h:port/x", "is not a URL"),
    ],
)
def test_a_database_that_is_not_there_is_one_message_without_the_password(url: Any, message: Any) -> None:
    with pytest.raises(CatalogUnavailable) as refused:
        revision(engine_for(url))
    assert message in str(refused.value)
    assert "HEADRACE_DATABASE_URL" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_database_that_does_not_exist_and_a_role_that_may_not(engine: Engine) -> None:
    with pytest.raises(CatalogUnavailable, match="Create it: createdb nowhere"):
        revision(engine_for(engine.url.set(database="nowhere").render_as_string(hide_password=False)))
    with pytest.raises(CatalogUnavailable, match="refused the user or the password"):
        revision(engine_for(engine.url.set(username="nobody-here").render_as_string(hide_password=False)))


def test_a_connection_that_died_while_idle_is_replaced(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_IDLE_SECONDS", 0)
    with psycopg.connect(
        engine.url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True
    ) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert revision(engine) == HEAD


def test_losing_the_database_in_a_transaction_is_readable_and_the_next_one_works(engine: Engine) -> None:
    with pytest.raises(CatalogUnavailable, match="cannot be reached"), transaction(engine) as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    with transaction(engine) as cursor:
        assert cursor.execute("SELECT 1 AS one").fetchone() == {"one": 1}


def test_runs_of_any_month_find_a_place_and_move_to_their_partition(engine: Engine) -> None:
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.run_event (event_time, organisation_id, event_type, payload_json, content_hash) "
            "VALUES ('2013-05-05T00:00Z', %s, 'START', '{}', 'x')",
            [uuid4()],
        )
        assert cursor.execute("SELECT count(*) AS n FROM catalog.run_event_default").fetchone() == {"n": 1}
        cursor.execute("SELECT catalog.make_partitions('2013-05-01T00:00Z', 1)")
        assert cursor.execute("SELECT count(*) AS n FROM catalog.run_event_2013_05").fetchone() == {"n": 1}
        assert cursor.execute(
            "SELECT catalog.make_partitions('2013-05-01T00:00Z', 1) AS made"
        ).fetchone() == {"made": 0}


def test_sessions_speak_utc(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SHOW timezone")) == "UTC"
