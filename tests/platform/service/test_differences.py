"""Rows of two versions compared by key, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.api.datasets import differences
from headrace.api.datasets.differences import row_differences
from headrace.catalog.records import Check, DatasetRecord
from headrace.registration.declarations import register
from tests.platform.service.conftest import Ask
from tests.platform.service.test_rows import COLUMNS, Write, write  # noqa: F401 - a fixture

Row = dict[str, Any]


def compared(client: TestClient) -> Any:
    answer = client.get("/api/v1/dataset/crm/people/differences?before=one&after=two")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_keys_are_added_removed_and_changed(write: Write, ask: Ask, catalog: Engine) -> None:  # noqa: F811
    write()
    write({"id": [2, 3, 4], "name": ["Cem", "Bob", "Dana"]}, tag="two")
    register(
        catalog,
        [
            DatasetRecord(
                "crm/people", "parquet", columns=COLUMNS, checks=(Check("id_unique", "unique", "id"),)
            )
        ],
    )

    found = compared(ask(Permission.READ))

    assert found["key"] == ["id"]
    assert (found["added"], found["removed"], found["changed"]) == (1, 1, 1)
    assert found["columns"] == {"name": 1}
    assert "Cem" not in str(found)


def test_without_a_key_whole_rows_are_compared(write: Write, ask: Ask) -> None:  # noqa: F811
    write()
    write({"id": [2, 3, 4], "name": ["Cem", "Bob", "Dana"]}, tag="two")

    found = compared(ask(Permission.READ))

    assert (found["key"], found["added"], found["removed"], found["columns"]) == ([], 2, 2, None)


def test_too_many_rows_are_left_to_spark(
    write: Write,  # noqa: F811
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(differences, "MAX_ROWS", 2)
    write()
    write(tag="two")

    assert compared(ask(Permission.READ))["reason"] == "one has more than 2 rows."


ROWS = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from([1, 2, 3, None]), "v": st.sampled_from([1.5, None])}),
    max_size=6,
)


@given(ROWS, ROWS)
def test_the_other_way_round_added_is_removed(before: list[Row], after: list[Row]) -> None:
    for key in ((), ("k",)):
        there, back = row_differences(before, after, key), row_differences(after, before, key)
        assert (there.added, there.removed, there.changed) == (back.removed, back.added, back.changed)
        assert row_differences(before, before, key).added == 0
        assert row_differences(before, before, key).changed == 0


def test_repeated_keys_are_not_compared() -> None:
    before: list[Row] = [{"k": 1, "v": 1}, {"k": 1, "v": 2}, {"k": None, "v": 1}]
    after: list[Row] = [{"k": 1, "v": 1}, {"k": None, "v": 2}]

    found = row_differences(before, after, ("k",))

    assert (found.added, found.removed, found.changed, found.repeated) == (0, 0, 1, 1)
