"""Named connections: what the settings accept, and that no secret of theirs is shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from pydantic import ValidationError
from sqlalchemy import URL, create_engine

from headrace.connections.connection import connection
from headrace.database.connection import engine_for
from headrace.settings import settings
from headrace.spark.errors import SparkUnavailable, StoreUnavailable
from headrace.spark.jars import with_driver_jars
from tests.platform.connections.databases import configured

CRM = '[connections.crm]\nurl = "jdbc:postgresql://db.example.com/crm"\nuser = "reader"\n'


def test_a_password_comes_from_a_variable_and_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CONNECTIONS__CRM__PASSWORD", "s3cret")
    with configured(monkeypatch, tmp_path, CRM):
        found = connection("crm")
        assert found.secrets == {"user": "reader", "password": "s3cret"}
        assert found.spark_options["driver"] == "org.postgresql.Driver"
        assert "s3cret" not in f"{found!r} {found} {settings()!r} {dataclasses.replace(found)}"


def test_a_password_comes_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "crm.password"
    with configured(monkeypatch, tmp_path, f'{CRM}password_file = "{file}"\n'):
        with pytest.raises(StoreUnavailable, match=r"password file .* of the connection crm cannot be read"):
            connection("crm")
        file.write_text("from a file\n")
        assert connection("crm").secrets["password"] == "from a file"  # noqa: S105


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://h/db?user=a&password=s3cret",
        "jdbc:postgresql://a:s3cret@h/db",
        "jdbc:oracle:thin:scott/s3cret@//h:1521/svc",
        "jdbc:sqlserver://h;databaseName=x;password=s3cret",
        "jdbc:db2://h:50000/db:user=a;password=s3cret;",
    ],
)
def test_a_url_with_a_password_is_refused_without_showing_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        configured(monkeypatch, tmp_path, f'[connections.crm]\nurl = "{url}"\n'),
        pytest.raises(ValidationError, match="contains a password, which would be logged") as refused,
    ):
        settings()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://h:5432/db?ssl=true",
        "jdbc:oracle:thin:@//h:1521/svc",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1521)))",
        "jdbc:sqlserver://h:1433;databaseName=x;encrypt=true",
        "jdbc:teradata://h/DATABASE=x,CHARSET=UTF8",
        "jdbc:db2://h:50000/db:currentSchema=X;",
    ],
)
def test_other_urls_are_accepted(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with configured(monkeypatch, tmp_path, f'[connections.crm]\nurl = "{url}"\n'):
        assert connection("crm").url == url


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        (f'{CRM}password = "a"\npassword_file = "b"\n', "cannot be combined"),
        (f"{CRM}[connections.crm.properties]\nsslpassword = 'a'\n", "cannot have 'sslpassword'"),
        ('[connections.CRM]\nurl = "jdbc:postgresql://h/db"\n', "should match pattern"),
        ('[connections.crm]\nurl = "mysql://h/db"\n', "should match pattern"),
        ('[connections.crm]\nurl = "postgresql://h/db"\njars = ["x.jar"]\n', "need a JDBC URL"),
    ],
)
def test_invalid_connections_are_refused(
    toml: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with configured(monkeypatch, tmp_path, toml), pytest.raises(ValidationError, match=problem):
        settings()


def test_unknown_connections_and_databases_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with configured(monkeypatch, tmp_path, f'{CRM}[connections.h2]\nurl = "jdbc:h2:mem:x"\n'):
        with pytest.raises(StoreUnavailable, match=r"no connection 'cmr'.*there are crm, h2"):
            connection("cmr")
        with pytest.raises(StoreUnavailable, match="jdbc:h2, whose dialect Headrace does not know"):
            connection("h2")


def test_drivers_are_added_to_sparks_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "crm.jar"
    with configured(monkeypatch, tmp_path, f'{CRM}jars = ["{jar}"]\n'):
        with pytest.raises(SparkUnavailable, match=r"crm\.jar of the connection crm does not exist"):
            with_driver_jars({}, settings().connections)
        jar.touch()
        assert with_driver_jars({"spark.jars": "a.jar"}, settings().connections) == {
            "spark.jars": f"a.jar,{jar.as_uri()}"
        }


def test_the_connection_to_the_catalog_is_that_of_its_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "postgresql://u%40x:p%2Fw@/db?host=h1:1&host=h2:2&sslmode=require"
    monkeypatch.setattr("headrace.database.connection.connect", lambda: engine_for(url))
    with configured(monkeypatch, tmp_path, ""):
        found = connection("catalog")
    for given in ("dbname=db", "user=u@x", "host=h1,h2", "port=1,2", "sslmode=require", "password=p/w"):
        assert given in found.conninfo.split()
    assert "p/w" not in f"{found!r}"
    with configured(monkeypatch, tmp_path, '[connections.catalog]\nurl = "postgresql://elsewhere/x"\n'):
        assert connection("catalog").url == "postgresql://elsewhere/x"


@pytest.mark.parametrize("name", ["the db", "50%", "a?b"])
def test_the_database_of_the_catalog_can_have_an_odd_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = create_engine(URL.create("postgresql+psycopg", host="h", database=name))
    monkeypatch.setattr("headrace.database.connection.connect", lambda: engine)
    with configured(monkeypatch, tmp_path, ""):
        assert conninfo_to_dict(connection("catalog").conninfo)["dbname"] == name
