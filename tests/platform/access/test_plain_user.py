"""A database whose owner is not a superuser, as in an organisation's own PostgreSQL."""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import DatasetRecord
from headrace.context import act_as, organisation_named
from headrace.database.connection import engine_for, migrate, transaction
from headrace.database.row_security import NARROW_ROLE, ROLE
from headrace.errors import CatalogUnavailable, Forbidden
from headrace.http.security import require_roles
from headrace.registration.declarations import register
from tests.platform.access.conftest import principal_of


@pytest.fixture
def admin(engine: Engine) -> Iterator[psycopg.Connection]:
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def plain(engine: Engine, admin: psycopg.Connection) -> Iterator[Engine]:
    """A separate user with a database in which nothing is installed yet."""
    admin.execute("CREATE ROLE plain LOGIN")
    admin.execute("CREATE DATABASE plain OWNER plain TEMPLATE template0")
    url = engine.url.set(username="plain", database="plain")
    made = engine_for(url.render_as_string(hide_password=False))
    try:
        yield made
    finally:
        made.dispose()
        admin.execute("DROP DATABASE plain WITH (FORCE)")
        admin.execute("DROP ROLE plain")


def test_the_service_says_what_an_administrator_has_to_run(plain: Engine, admin: psycopg.Connection) -> None:
    migrate(plain)
    with pytest.raises(
        CatalogUnavailable, match="GRANT headrace_caller, headrace_narrow_caller TO plain"
    ) as refused:
        require_roles(plain)
    register(plain, [DatasetRecord("mart/delays", "csv"), DatasetRecord("crm/people", "csv")], [])
    with pytest.raises(Forbidden), act_as(principal_of("default")), transaction(plain):
        pytest.fail("a caller was let in without the role that keeps him to his rows")

    for command in str(refused.value).rpartition("run: ")[2].removesuffix(";").split(";"):
        if "CREATE" not in command:  # the tests' server has the roles already
            admin.execute(command)
    require_roles(plain)
    with act_as(principal_of("default")):
        assert len(queries.datasets(plain).rows) == 2
    with act_as(principal_of("acme")):
        assert queries.datasets(plain).rows == ()
    with act_as(principal_of("default", domains=frozenset({"mart"}))):
        assert [row.key for row in queries.datasets(plain).rows] == ["mart/delays"]
        register(plain, [DatasetRecord("mart/new", "csv")], [])


def test_who_may_make_roles_needs_no_administrator(plain: Engine, admin: psycopg.Connection) -> None:
    admin.execute("ALTER ROLE plain CREATEROLE")
    admin.execute(f"GRANT {ROLE}, {NARROW_ROLE} TO plain WITH ADMIN OPTION")  # as if it had made them
    migrate(plain)
    require_roles(plain)
    register(plain, [DatasetRecord("mart/delays", "csv")], [])
    with act_as(principal_of("acme")), transaction(plain) as cursor:
        cursor.execute(
            "SELECT count(*) AS n FROM catalog.dataset WHERE organisation_id = %s",
            [organisation_named("default")],
        )
        assert cursor.fetchone() == {"n": 0}
