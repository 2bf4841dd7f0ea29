"""Copying the OL_* rows into another schema: repeatable, next to rows of others."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.exports import TargetRefused, engine_of, install
from headrace.exports.copy import VIEWS, copy_rows
from headrace.exports.tables import in_schema
from tests.platform.exports.conftest import Filled


@pytest.fixture
def target(filled: Filled) -> Engine:  # type: ignore[misc]
    found = engine_of(filled.engine.url.set(drivername="postgresql").render_as_string(hide_password=False))
    with found.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA lineage")
    install(found, "lineage")
    yield found
    found.dispose()


def contents(engine: Engine, schema: str) -> dict[str, list[tuple]]:
    with engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
            for table in in_schema(schema)
            if table.name != "ol_schema_version"
        }


def copy(filled: Filled, target: Engine) -> dict[str, int]:
    return copy_rows(filled.engine, current_context().organisation_id, target, "lineage")


def test_the_copy_is_what_the_views_say_and_a_second_one_the_same(filled: Filled, target: Engine) -> None:
    copied = copy(filled, target)
    wanted = contents(filled.engine, VIEWS)
    assert contents(target, "lineage") == wanted
    assert copied == {name: len(rows) for name, rows in wanted.items()}
    assert copied["ol_column_lineage"] == 3
    copy(filled, target)
    assert contents(target, "lineage") == wanted


def test_a_column_that_is_no_more_goes_and_rows_of_others_stay(filled: Filled, target: Engine) -> None:
    copy(filled, target)
    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET columns = '[]' WHERE dataset_id = %s", [filled.sales])
        cursor.execute("DELETE FROM catalog.run_dataset WHERE role = 'INPUT'")
    own = sa.insert(next(table for table in in_schema("lineage") if table.name == "ol_column_lineage"))
    with target.begin() as connection:
        ends = {
            f"{end}_{part}": "x" for end in ("source", "target") for part in ("namespace", "dataset", "field")
        }
        connection.execute(own, {"lineage_id": "by hand", **ends})
    copy(filled, target)
    there, wanted = contents(target, "lineage"), contents(filled.engine, VIEWS)
    by_hand = [row for row in there["ol_column_lineage"] if row[0] == "by hand"]
    assert len(by_hand) == 1
    there["ol_column_lineage"].remove(by_hand[0])
    assert there == wanted
    assert there["ol_run_input"] == []


def test_pages_are_put_together(filled: Filled, target: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.exports.copy.PAGE", 1)
    copy(filled, target)
    copy(filled, target)
    assert contents(target, "lineage") == contents(filled.engine, VIEWS)


def test_where_the_tables_are_not_there_nothing_is_copied(filled: Filled, target: Engine) -> None:
    with pytest.raises(
        TargetRefused, match=r"is not ready: ol_namespace is missing .and 9 more.; `headrace setup-lineage`"
    ):
        copy_rows(filled.engine, current_context().organisation_id, target, "public")
