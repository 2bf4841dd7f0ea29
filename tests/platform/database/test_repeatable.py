"""Repeatable scripts: applied when they change, never over those of a newer platform, on shared catalogs by command."""

import hashlib
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database import connection as database
from headrace.database import repeatable
from headrace.database.connection import migrate, reading, transaction, upgrade
from headrace.database.migrations import HEAD
from headrace.errors import SchemaOutdated

_DEFINITION = "SELECT pg_get_functiondef('catalog.column_of(text)'::regprocedure) AS text"
_ROWS = "SELECT name, digest, platform_version, applied_at FROM catalog.repeatable_script"


def _rows(engine: Engine) -> dict[str, dict]:
    with transaction(engine) as cursor:
        return {row["name"]: row for row in cursor.execute(_ROWS)}


def _column_of(engine: Engine) -> str:
    with transaction(engine) as cursor:
        return cursor.execute(_DEFINITION).fetchone()["text"]


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replace a text in a script of this platform, as an edited file would."""

    def edit(name: str, old: str, new: str) -> None:
        def edited(script: repeatable.Script) -> repeatable.Script:
            if script.name != name:
                return script
            assert old in script.text
            text = script.text.replace(old, new)
            return replace(script, text=text, digest=hashlib.sha256(text.encode()).hexdigest())

        scripts = tuple(edited(script) for script in repeatable.scripts())
        monkeypatch.setattr(repeatable, "scripts", lambda: scripts)
        database.disconnect()

    return edit


@pytest.fixture
def changed_column_of(engine: Engine, change: Any) -> None:
    change("functions/lineage", "split_part(field, '.', 1)", "split_part(field, '.', 2)")


def _share(engine: Engine) -> None:
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.organisation (organisation_id, name) VALUES (%s, 'default')",
            [current_context().organisation_id],
        )
        cursor.execute(
            "INSERT INTO catalog.project (organisation_id, name, platform_version) VALUES (%s, 'shop', '0.0.9')",
            [current_context().organisation_id],
        )


def test_every_script_has_its_place_in_the_order() -> None:
    folder = Path(repeatable.__file__).parent
    files = {
        path.relative_to(folder).with_suffix("").as_posix()
        for kind in ("functions", "views")
        for path in (folder / kind).glob("*.sql")
    }
    assert sorted(repeatable.ORDER) == sorted(files)


def test_functions_and_views_are_defined_once() -> None:
    folder = Path(repeatable.__file__).parent
    for revision in (folder / "migrations" / "versions").rglob("*.sql"):
        assert "FUNCTION" not in revision.read_text("utf-8"), revision.name
        assert "CREATE VIEW" not in revision.read_text("utf-8"), revision.name


def test_a_new_catalog_knows_the_scripts_that_made_it(engine: Engine) -> None:
    found = _rows(engine)
    assert {name: row["digest"] for name, row in found.items()} == {
        script.name: script.digest for script in repeatable.scripts()
    }
    assert {row["platform_version"] for row in found.values()} == {version("headrace")}
    with reading(engine) as connection:
        assert not repeatable.pending(connection).changed


@pytest.mark.usefixtures("changed_column_of")
def test_a_changed_script_is_applied_alone_by_the_next_connection(engine: Engine) -> None:
    before = _rows(engine)
    new = database.connect()
    assert "'.', 2)" in _column_of(new)
    after = _rows(new)
    assert {name for name in after if after[name] != before[name]} == {"functions/lineage"}


@pytest.mark.usefixtures("changed_column_of")
def test_functions_of_a_newer_platform_stay_as_they_are(engine: Engine) -> None:
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.repeatable_script SET platform_version = '99.0'")
    before = _rows(engine)
    assert "'.', 1)" in _column_of(database.connect())
    migrate(engine)
    with pytest.raises(SchemaOutdated, match=r"of Headrace 99\.0, which is newer than this version"):
        upgrade(engine)
    assert "'.', 1)" in _column_of(engine)
    assert _rows(engine) == before


@pytest.mark.usefixtures("changed_column_of")
def test_a_catalog_of_several_projects_is_upgraded_by_command_only(engine: Engine) -> None:
    _share(engine)
    with pytest.raises(SchemaOutdated, match=r"shop \(with 0\.0\.9\)\. Run `headrace catalog upgrade`"):
        database.connect()
    assert "'.', 1)" in _column_of(engine)
    assert upgrade(engine) == HEAD
    assert "'.', 2)" in _column_of(database.connect())


def test_a_catalog_of_several_projects_at_an_older_revision_names_them(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _share(engine)
    database.disconnect()
    monkeypatch.setattr(database, "HEAD", "9998")
    with pytest.raises(SchemaOutdated, match=r"needs 9998\. Other projects use it: shop \(with 0\.0\.9\)"):
        database.connect()


def test_a_script_that_fails_changes_nothing(engine: Engine, change: Any) -> None:
    change("functions/lineage", "split_part(field, '.', 1)", "no_such_function(field)")
    change("functions/access", "SELECT coalesce(nullif", "SELECT 'changed' || coalesce(nullif")
    before = _rows(engine)
    with pytest.raises(psycopg.errors.UndefinedFunction):
        database.connect()
    assert _rows(engine) == before
    with transaction(engine) as cursor:
        assert (
            not cursor.execute("SELECT catalog.caller_subject() AS it").fetchone()["it"].startswith("changed")
        )


def test_after_a_revision_all_scripts_are_applied_again(engine: Engine) -> None:
    with transaction(engine) as cursor:
        cursor.execute("DROP VIEW catalog.graph_edge; DROP TRIGGER end_task_tokens ON catalog.process_run")
    with reading(engine) as connection:
        assert repeatable.apply(connection, all_scripts=True) == repeatable.ORDER
        assert connection.scalar(sa.text("SELECT to_regclass('catalog.graph_edge') IS NOT NULL"))
        triggers = "SELECT count(*) FROM pg_trigger WHERE tgname = 'end_task_tokens' AND tgparentid = 0"
        assert connection.scalar(sa.text(triggers)) == 1
        connection.commit()


def test_a_script_that_no_longer_exists_is_forgotten(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeatable, "ORDER", repeatable.ORDER[:-1])
    with reading(engine) as connection:
        repeatable.apply(connection, all_scripts=True)
        connection.commit()
    assert "views/graph" not in _rows(engine)


def test_a_changed_policy_is_replaced_and_an_equal_one_stays(engine: Engine, change: Any) -> None:
    policies = "SELECT oid, polrelid::regclass::text AS of, polname FROM pg_policy"

    def ids() -> dict[tuple[str, str], int]:
        with transaction(engine) as cursor:
            return {(row["of"], row["polname"]): row["oid"] for row in cursor.execute(policies)}

    before = ids()
    change(
        "functions/row_security",
        "WHEN name = 'audit_entry' THEN 'false'",
        "WHEN name = 'audit_entry' THEN 'true'",
    )
    database.connect()
    after = ids()
    assert after.keys() == before.keys()
    assert {policy for policy in after if after[policy] != before[policy]} == {
        ("catalog.audit_entry", "headrace_narrow_caller")
    }
