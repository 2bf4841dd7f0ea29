"""The complete command: help, exit codes, explained failures, quick starts, and a current reference."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine
from typer.testing import Result

from docs import reference
from headrace.cli.commands import SECTIONS
from headrace.cli.root import LazyCommands
from headrace.settings import settings
from headrace.terminal import progress
from headrace.terminal.arguments import dataset_keys
from headrace.terminal.errors import explanation
from tests.paths import REPOSITORY, WAIT_SECONDS

Invoke = Callable[..., Result]
Configure = Callable[[str, str], None]
Stocked = tuple[Engine, UUID]
HEAVY = {"dagster", "pyspark", "pandera", "pandas"}


def imported_by(words: list[str]) -> set[str]:
    """The packages that a command imports, in a separate process."""
    script = f"""
import sys
from headrace.cli import app
from headrace.cli.commands import SECTIONS
from headrace.cli.root import LazyCommands
try:
    app({words!r})
except SystemExit as end:
    assert not end.code, end.code
print("\\n" + " ".join(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    assert not imported_by(["--help"]) & {*HEAVY, "sqlalchemy", "psycopg", "rich"}


@pytest.mark.parametrize(
    "words", [["datasets"], ["show", "shop/clean"], ["lineage", "shop/clean"], ["status"]]
)
def test_questions_import_neither_dagster_nor_spark(shop: Engine, words: list[str]) -> None:
    assert not imported_by(words) & HEAVY


def test_help_lists_every_command_in_a_section(invoke: Invoke) -> None:
    message = invoke("--help").stdout
    for section in ("Start here:", "Datasets:", "Runs:", "Versions:", "This machine:", "Autosys estate:"):
        assert section in message
    assert "None:" not in message
    assert "$ headrace init shop" in message


def test_the_reference_is_current() -> None:
    pages = {"cli.md": reference.reference(), "settings.md": reference.settings_reference()}
    for name, text in pages.items():
        assert (reference.DOCS / name).read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize(
    "words", [("nope",), ("show",), ("read", "a/b", "--head", "0"), ("datasets", "--nope")]
)
def test_wrong_usage_ends_with_two(invoke: Invoke, words: tuple[str, ...]) -> None:
    result = invoke(*words)
    assert result.exit_code == 2
    assert "Error: " in result.stderr


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """Set a variable of the settings, which are read again for it and after the test."""

    def configure(name: str, value: str) -> None:
        monkeypatch.setenv(name, value)
        settings.cache_clear()

    yield configure
    settings.cache_clear()


def test_an_unreachable_database(configured: Configure, invoke: Invoke) -> None:
    configured("HEADRACE_DATABASE_URL", "postgresql://nobody:secret@127.0.0.1:1/none")
    result = invoke("datasets")
    debugged = invoke("--debug", "datasets")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the catalog database 'none' at 127.0.0.1:1 cannot be reached")
    assert "secret" not in result.stderr
    assert debugged.exit_code == 1
    assert type(debugged.exception).__name__ == "CatalogUnavailable"


def test_wrong_settings_name_the_field(configured: Configure, invoke: Invoke) -> None:
    configured("HEADRACE_SPARK__COLOUR", "blue")
    result = invoke("datasets")
    assert result.exit_code == 1
    assert "invalid settings; correct headrace.toml or the environment:" in result.stderr
    assert "spark.colour: unknown setting (HEADRACE_SPARK__COLOUR)" in result.stderr


def test_a_settings_file_that_is_not_toml_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    (tmp_path / "headrace.toml").write_text("name = [")
    monkeypatch.setenv("HEADRACE_PROJECT", "")
    settings.cache_clear()
    result = invoke("--project", str(tmp_path), "datasets")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {tmp_path / 'headrace.toml'} is not valid TOML: ")
    settings.cache_clear()


def test_a_port_out_of_range_is_wrong_usage(invoke: Invoke) -> None:
    result = invoke("up", "--port", "99999")
    assert result.exit_code == 2
    assert "should be less than or equal to 65535" in result.stderr


def test_a_variable_that_is_no_json_is_named(configured: Configure, invoke: Invoke) -> None:
    configured("HEADRACE_SPARK__CONF", "abc")
    result = invoke("datasets")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: HEADRACE_SPARK__CONF is not a JSON object: write it as in")


def test_a_surprise_says_how_to_see_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["headrace", "show", "a/b"])
    message = explanation(ZeroDivisionError("division by zero"))
    assert message.startswith("unexpected ZeroDivisionError: division by zero")
    assert "`headrace --debug show a/b`" in message


def test_completion_of_dataset_keys(shop: Engine) -> None:
    assert dataset_keys("shop/") == ["shop/clean", "shop/raw"]
    assert dataset_keys("") == ["lab/other", "shop/clean", "shop/raw"]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("headrace pin shop/raw raw", 3),
        ("headrace rollback shop/raw --to raw", 4),
        ("headrace read shop/raw --version ", 4),
    ],
)
def test_completion_of_version_tags(stocked: Stocked, words: str, number: int) -> None:
    engine, _ = stocked
    done = subprocess.run(
        [sys.executable, "-c", "from headrace.cli import app; app(prog_name='headrace')"],
        env={
            **os.environ,
            "HEADRACE_DATABASE_URL": engine.url.set(drivername="postgresql").render_as_string(
                hide_password=False
            ),
            "_HEADRACE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["raw-2", "raw-1"], done.stderr


def test_completion_starts_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HEADRACE_DATABASE_URL", raising=False)
    settings.cache_clear()
    try:
        assert dataset_keys("") == []
    finally:
        settings.cache_clear()
    assert list(tmp_path.iterdir()) == []


def test_env(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:

    monkeypatch.setattr("headrace.local.environment.environment", lambda: {"DAGSTER_HOME": "/a b", "X": "1"})
    assert invoke("env").stdout == "export DAGSTER_HOME='/a b'\nexport X=1\n"
    found: Any = json.loads(invoke("env", "--json").stdout)
    assert found == {"DAGSTER_HOME": "/a b", "X": "1"}


def test_check_includes_alerts_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    (tmp_path / "headrace.toml").touch()
    (tmp_path / "assets" / "shop").mkdir(parents=True)
    (tmp_path / "alerts.yaml").write_text("destinations:\n  a: foo://x\n")
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    result = invoke("check")
    assert result.exit_code == 1
    assert "alerts.yaml:2: destinations.a: there is no alert channel foo://" in result.output


def test_check_names_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    (tmp_path / "assets" / "shop").mkdir(parents=True)
    (tmp_path / "assets" / "shop" / "defs.yaml").write_text(
        "type: headrace.Dataset\nattributes:\n  key: shop/raw\n  colour: blue\n  sql: SELECT 1 AS one\n"
    )
    (tmp_path / "headrace.toml").touch()
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    result = invoke("check")
    assert result.exit_code == 1
    assert "assets/shop/defs.yaml:4: colour" in result.stderr
    problem = json.loads(invoke("check", "--json").stdout)["problems"][0]
    assert set(problem) == {"file", "line", "field", "message", "hint"}
    assert (problem["file"], problem["line"], problem["field"]) == ("assets/shop/defs.yaml", 4, "colour")


@pytest.mark.parametrize(
    ("definitions", "line", "message"),
    [
        (None, 1, "the project has no definitions.py, from which Dagster loads it"),
        ("import dagster as dg\n", 1, "definitions.py does not define `loaded`"),
        ("x = 1\nraise ValueError('no resources')\n", 2, "Dagster cannot load it: ValueError: no resources"),
        (
            "import dagster as dg\nfrom headrace.declarations.loading.project import load_project\n"
            "loaded = load_project()\ndefs = dg.Definitions.merge(loaded.definitions, dg.Definitions(\n"
            "    jobs=[dg.define_asset_job('nightly', selection='shop/missing')]))\n",
            1,
            "shop/missing",
        ),
    ],
)
def test_check_finds_whatever_keeps_dagster_from_loading_the_project(
    tmp_path: Path,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    invoke: Invoke,
    definitions: str | None,
    line: int,
    message: str,
) -> None:
    (tmp_path / "headrace.toml").touch()
    if definitions is not None:
        (tmp_path / "definitions.py").write_text(definitions)
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    result = invoke("check", "--json")
    assert result.exit_code == 1
    [problem] = json.loads(result.stdout)["problems"]
    assert (problem["file"], problem["line"]) == ("definitions.py", line)
    assert message in problem["message"]


@pytest.mark.parametrize(
    ("workspace", "line", "message"),
    [
        ("load_from:\n  - python_module: {module_name: defnitions}\n", 2, "there is no module defnitions in"),
        ("load_from: [\n", 1, "Dagster cannot read it"),
        ("loads: []\n", 1, "Dagster cannot read it: 'load_from'"),
    ],
)
def test_check_finds_a_workspace_that_serves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke, workspace: str, line: int, message: str
) -> None:
    (tmp_path / "headrace.toml").touch()
    (tmp_path / "workspace.yaml").write_text(workspace)
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    problem = json.loads(invoke("check", "--json").stdout)["problems"][0]
    assert (problem["file"], problem["line"]) == ("workspace.yaml", line)
    assert message in problem["message"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--partition", "a", "--partitions", "a...b"), "--partition and --partitions cannot be combined"),
        (("--partitions", "a"), "'a' is not FIRST...LAST, as in 2013-01-01...2013-01-31"),
        (("--partitions", "...b"), "'...b' is not FIRST...LAST"),
    ],
)
def test_materialize_complains_before_it_loads_anything(
    invoke: Invoke, options: tuple[str, ...], message: str
) -> None:
    result = invoke("materialize", "a/b", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "name", ["HEADRACE_HOME__X", "HEADRACE_COMPLETION_NAMES__0", "HEADRACE_DATABASE_URL__HOST"]
)
def test_a_part_of_a_setting_that_has_no_parts_is_refused(
    configured: Configure, invoke: Invoke, name: str
) -> None:
    configured(name, "1")
    result = invoke("datasets")
    assert result.exit_code == 1
    assert f"{name} is not a setting." in result.stderr


def test_a_misspelt_variable_is_refused(configured: Configure, invoke: Invoke) -> None:
    configured("HEADRACE_DATABSE_URL", "postgresql://h/db")
    result = invoke("datasets")
    assert result.exit_code == 1
    assert "HEADRACE_DATABSE_URL is not a setting. Did you mean HEADRACE_DATABASE_URL?" in result.stderr


def test_outside_a_project_a_command_says_so_in_one_line_and_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.delenv("HEADRACE_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    result = invoke("datasets")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: no headrace.toml in {tmp_path} or above it.")
    assert "`headrace --project FOLDER COMMAND`" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    settings.cache_clear()


@pytest.mark.parametrize("used", ["finance", "shop"])
def test_a_variable_that_overrides_the_project_of_the_folder_is_pointed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke, used: str
) -> None:
    for name in ("finance", "shop"):
        (tmp_path / name / "assets").mkdir(parents=True)
        (tmp_path / name / "headrace.toml").touch()
        (tmp_path / name / "definitions.py").write_text(
            "import dagster as dg\nfrom headrace.declarations.loading.project import load_project\n"
            "loaded = load_project()\ndefs = loaded.definitions\n"
        )
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path / used))
    monkeypatch.chdir(tmp_path / "finance" / "assets")
    settings.cache_clear()
    result = invoke("check")
    assert result.stdout == f"All declarations of project {used} are valid.\n"
    line = f"Using the project {tmp_path / 'shop'} (HEADRACE_PROJECT), not {tmp_path / 'finance'}.\n"
    assert result.stderr == ("" if used == "finance" else line)
    settings.cache_clear()


def test_a_project_is_named_by_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.setenv("HEADRACE_PROJECT", "")
    settings.cache_clear()
    result = invoke("--project", str(tmp_path), "datasets")
    assert result.exit_code == 2
    assert f"{tmp_path} is not a Headrace project" in result.stderr
    settings.cache_clear()


def test_each_summary_is_the_first_sentence_of_its_command_and_fits_in_a_line() -> None:
    for entries in SECTIONS.values():
        for entry in entries:
            assert len(entry.summary) <= 62, entry
            if not entry.is_group:
                command = LazyCommands({entry.name: entry})[entry.name]
                assert command.get_short_help_str(200).startswith(entry.summary.rstrip(".")), entry


def test_sigterm_ends_a_command_with_a_message(tmp_path: Path) -> None:
    module = tmp_path / "definitions.py"
    (tmp_path / "headrace.toml").touch()
    module.write_text(
        "import pathlib, time\npathlib.Path(__file__).with_suffix('.running').touch()\ntime.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", "from headrace.cli import app; app()", "--project", str(tmp_path), "check"],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + WAIT_SECONDS
    while (
        not module.with_suffix(".running").exists() and process.poll() is None and time.monotonic() < deadline
    ):
        time.sleep(0.1)
    process.terminate()
    _, errors = process.communicate(timeout=WAIT_SECONDS)
    assert "error: stopped by SIGTERM" in errors
    assert process.returncode == 143


def test_without_a_terminal_long_work_writes_a_line_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "LINE_INTERVAL_SECONDS", 0.01)
    stream = io.StringIO()
    with progress.progress("reading", stream) as on_progress:
        on_progress("reading a.jil")
        deadline = time.monotonic() + WAIT_SECONDS
        while "reading a.jil (" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "reading a.jil (0.0 s)\n" in stream.getvalue()
