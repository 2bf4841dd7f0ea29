"""Requirements of the machine, and the environment of Dagster's commands."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from sqlalchemy import Engine

from headrace.alerts import links
from headrace.database.connection import connect
from headrace.local import environment as module
from headrace.local import preflight as checks
from headrace.local import services
from headrace.local.environment import environment
from headrace.local.preflight import PreflightError, preflight
from headrace.local.session import Session, write_note
from headrace.local.supervisor import down
from headrace.settings import settings
from tests.paths import REPOSITORY


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Not in pytest's folder: each session closes that to other users, such as PostgreSQL's when root runs this.
    with tempfile.TemporaryDirectory(prefix="headrace-test-") as parent:
        folder = Path(parent).resolve() / "state of it"
        monkeypatch.setenv("HEADRACE_HOME", str(folder))
        monkeypatch.delenv("HEADRACE_DATABASE_URL", raising=False)
        settings.cache_clear()
        yield folder
        down()
        settings.cache_clear()


def test_dagster_finds_its_instance_from_any_folder(home: Path, tmp_path: Path) -> None:
    script = """
import dagster as dg
from dagster_postgres import PostgresRunStorage
with dg.DagsterInstance.get() as instance:
    assert isinstance(instance.run_storage, PostgresRunStorage)
    assert instance.get_settings("freshness") == {"enabled": True}
    assert instance.telemetry_enabled is False
    print(instance.storage_directory())
    print(instance.compute_log_manager._base_dir)
"""
    variables = environment()
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **variables},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [str(home / "dagster" / "storage")] * 2
    assert shutil.which("dagster", path=variables["PATH"]) == str(Path(sys.executable).parent / "dagster")
    assert environment() == variables


def test_a_link_to_a_checkout_that_has_moved_is_put_right(home: Path) -> None:
    (home / "dagster").mkdir(parents=True)
    (home / "dagster" / "dagster.yaml").symlink_to("/nowhere/dagster.yaml")
    module._dagster_home()
    assert (home / "dagster" / "dagster.yaml").resolve() == REPOSITORY / "headrace" / "local" / "dagster.yaml"


def test_the_driver_that_dagster_needs_is_named() -> None:
    url = module._psycopg2_url("postgresql+psycopg://anna:p%40ss@db.example:5433/lake?sslmode=require")
    assert url == "postgresql+psycopg2://anna:p%40ss@db.example:5433/lake?sslmode=require"


def test_runs_report_to_the_service_of_their_own_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_SERVICE_URL", raising=False)
    home.mkdir(parents=True)
    write_note(home, Session(os.getpid(), "http://127.0.0.1:3010", "http://127.0.0.1:3207"))
    assert environment()["HEADRACE_SERVICE_URL"] == "http://127.0.0.1:3207"
    write_note(home, Session(2**22 + 1, "http://127.0.0.1:3010", "http://127.0.0.1:3207"))  # killed
    assert "HEADRACE_SERVICE_URL" not in environment()


def test_a_service_that_a_setting_names_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SERVICE_URL", "https://catalog.example.com")
    settings.cache_clear()
    home.mkdir(parents=True)
    write_note(home, Session(os.getpid(), "http://127.0.0.1:3010", "http://127.0.0.1:3207"))
    assert "HEADRACE_SERVICE_URL" not in environment()


def test_each_project_uses_its_own_state_folder_unless_a_variable_names_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment()["HEADRACE_HOME"] == str(home)
    monkeypatch.delenv("HEADRACE_HOME")
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    # A project elsewhere: its database would be in pytest's folder, which is closed to PostgreSQL's user.
    (tmp_path / "headrace.toml").write_text(f'home = "{os.path.relpath(home, tmp_path)}"\n')
    settings.cache_clear()
    assert settings().home.resolve() == home
    assert "HEADRACE_HOME" not in environment()


def test_another_project_gets_the_embedded_database_of_the_one_that_serves_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = services._project_variables(REPOSITORY)
    assert variables == {"HEADRACE_PROJECT": str(REPOSITORY)}
    assert services._project_variables(tmp_path) == variables
    (tmp_path / "headrace.toml").touch()
    own_catalog, key = database_url(connect()), links.secret(settings())
    monkeypatch.delenv("HEADRACE_HOME")
    for name, value in services._project_variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    assert settings().warehouse_uri == (tmp_path / ".headrace" / "warehouse").as_uri()
    assert not settings().is_production
    assert links.secret(settings()) == key
    assert database_url(connect()) == own_catalog


def database_url(engine: Engine) -> tuple[object, ...]:
    """The server and database that an engine is connected to."""
    return engine.url.database, engine.url.query["host"], engine.url.query["port"]


def test_this_machine_passes() -> None:
    preflight()


def fake_java(folder: Path, answer: str, code: int = 0) -> str:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('openjdk version "11.0.22" 2024-01-16', "Java 11"),
        ('java version "1.8.0_401"', "Java 8"),
        ("?", "'?'"),
    ],
)
def test_an_old_java_is_reported(
    answer: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", fake_java(tmp_path, answer))
    with pytest.raises(PreflightError, match="apt-get install") as reported:
        preflight()
    assert f"is {found}" in str(reported.value)
    assert "\n" not in str(reported.value)


@pytest.mark.parametrize(
    "answer", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19']
)
def test_a_new_java_will_do(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", fake_java(tmp_path, answer))
    preflight()


def test_a_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PreflightError, match="none is on the PATH"):
        preflight()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PreflightError, match="JAVA_HOME"):
        preflight()


def test_the_macos_java_stub_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", fake_java(tmp_path, "Unable to locate a Java Runtime.", code=1))
    with pytest.raises(PreflightError, match="does not run"):
        preflight()


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 14, 0)])
def test_an_unsupported_python_is_reported(version: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.sys, "version_info", version)  # type: ignore[attr-defined]
    with pytest.raises(PreflightError, match=r"needs Python 3\.11 to 3\.13"):
        preflight()


def test_a_missing_venv_module_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        checks.importlib.util,  # type: ignore[attr-defined]
        "find_spec",
        lambda name: None if name == "ensurepip" else True,
    )
    with pytest.raises(PreflightError, match=r"apt-get install python3\.\d+-venv"):
        preflight()


def test_the_lock_names_hashes_and_no_place() -> None:
    lock = (REPOSITORY / "requirements.lock").read_text()
    assert "://" not in lock
    assert str(REPOSITORY) not in lock
    requirements = [
        line for line in lock.replace("\\\n", "").splitlines() if line and not line.startswith("#")
    ]
    assert requirements
    assert all("==" in line and "--hash=sha256:" in line for line in requirements)


def test_the_workspace_serves_the_definitions() -> None:
    workspace = yaml.safe_load((REPOSITORY / "workspace.yaml").read_text())
    assert [entry["python_module"]["module_name"] for entry in workspace["load_from"]] == ["definitions"]
