"""`headrace setup-lineage`, and `headrace lineage` with its commands."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sqlalchemy import Engine
from typer.testing import Result

from headrace.cli.lineage.group import app
from headrace.settings import settings

Invoke = Callable[..., Result]


@pytest.fixture
def url(shop: Engine, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of the test, as the one that gets the tables."""
    found = shop.url.set(drivername="postgresql").render_as_string(hide_password=False)
    monkeypatch.setenv("HEADRACE_LINEAGE_DATABASE_URL", found)
    settings.cache_clear()
    with shop.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA lineage")
        connection.exec_driver_sql("CREATE TABLE lineage.lin_column (id int)")
    return found


def test_installed_verified_filled_and_removed(invoke: Invoke, url: str) -> None:
    there = ["--schema", "lineage"]
    missing = invoke("setup-lineage", "-o", "--verify", *there)
    assert missing.exit_code == 1
    assert "ol_run is missing" in missing.stdout
    assert "differs from the model in 10 places" in missing.stderr
    made = invoke("setup-lineage", url, "--openlineage", *there)
    assert made.exit_code == 0, made.stderr
    assert made.stdout.startswith("Created ol_namespace, ol_dataset,")
    assert "LIN_* tables found and left unchanged: lin_column." in made.stdout
    assert "All OL_* tables already exist." in invoke("setup-lineage", "-o", *there).stdout
    verified = invoke("setup-lineage", "--openlineage-only", "--verify", *there)
    assert verified.stdout == "All OL_* tables, keys and indexes are installed (spec 2-0-2, schema 1.0.0).\n"
    copied = json.loads(invoke("lineage", "export", "--tables", "--json", *there).stdout)
    assert (copied["ol_dataset"], copied["ol_job"]) == (3, 1)
    dropped = json.loads(invoke("setup-lineage", "-o", "--drop", "--json", *there).stdout)
    assert len(dropped["dropped"]) == 9
    assert invoke("setup-lineage", "-o", "--drop", *there).stdout == "No OL_* tables found.\n"


def test_a_dry_run_connects_to_nothing(invoke: Invoke) -> None:
    shown = invoke(
        "setup-lineage", "db2://nowhere.invalid/x", "--openlineage-only", "--dry-run", "--schema", "L"
    )
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.count("CREATE TABLE") == 9
    assert shown.stderr == ""
    gone = invoke("setup-lineage", "teradatasql://nowhere.invalid", "-o", "--drop", "--dry-run")
    assert gone.stdout.split(";\n")[0] == "DROP TABLE ol_schema_version"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "pass --openlineage"),
        (["-o", "--openlineage-only"], "pass --openlineage"),
        (["-o", "--verify", "--drop"], "--verify cannot be combined with --drop or --dry-run"),
        (["-o", "--verify", "--dry-run"], "--verify cannot be combined with --drop or --dry-run"),
    ],
)
def test_wrong_calls(invoke: Invoke, words: list[str], message: str) -> None:
    called = invoke("setup-lineage", "db2://", *words)
    assert called.exit_code == 2
    assert message in called.stderr


def test_without_a_database_it_says_where_to_name_one(invoke: Invoke) -> None:
    called = invoke("setup-lineage", "-o")
    assert called.exit_code == 1
    assert "set HEADRACE_LINEAGE_DATABASE_URL" in called.stderr


def test_a_dataset_needs_no_word_before_it(invoke: Invoke, shop: Engine) -> None:
    shown = invoke("lineage", "shop/clean")
    assert shown.exit_code == 0, shown.stderr
    assert "shop/raw" in shown.stdout
    assert invoke("lineage", "show", "shop/clean").stdout == shown.stdout
    assert invoke("lineage", "--down", "shop/raw").stdout == invoke("lineage", "shop/raw", "--down").stdout
    assert "export" in invoke("lineage", "--help").stdout


def test_datasets_and_commands_are_completed(shop: Engine) -> None:
    from typer.main import get_command

    group = get_command(app)
    context = group.make_context("lineage", ["show"])
    assert [each.value for each in group.shell_complete(context, "sh")] == ["show", "shop/clean", "shop/raw"]


def test_the_graph_goes_to_standard_output(invoke: Invoke, shop: Engine) -> None:
    graph = invoke("lineage", "export", "--format", "graphml")
    assert graph.exit_code == 0, graph.stderr
    assert graph.stdout.startswith("<?xml")
    assert graph.stdout.count("<edge source=") == 3
    assert "4 nodes and 3 edges." in graph.stderr
    lines = invoke("lineage", "export", "--format", "openlineage")
    events = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [event["schemaURL"].rpartition("/")[2] for event in events] == ["DatasetEvent"] * 3 + ["JobEvent"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export"], "pass either --format"),
        (["export", "--format", "graphml", "--tables"], "pass either --format"),
        (["export", "--format", "graphml", "--schema", "x"], "require --tables"),
    ],
)
def test_wrong_exports(invoke: Invoke, words: list[str], message: str) -> None:
    called = invoke("lineage", *words)
    assert called.exit_code == 2
    assert message in called.stderr


def test_sync_says_what_to_set(invoke: Invoke, shop: Engine) -> None:
    called = invoke("lineage", "sync")
    assert called.exit_code == 1
    assert "set HEADRACE_NEO4J__URI" in called.stderr
