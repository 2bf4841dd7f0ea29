"""Which changes of a declaration break a reader of its contract."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.contracts.comparison import changes
from tests.platform.contracts.conftest import ORDERS, Declare

COLUMNS: dict[str, Any] = ORDERS["schema"]["columns"]


def columns(**changed: object) -> dict[str, Any]:
    found = {name: value for name, value in (COLUMNS | changed).items() if value is not None}
    return {"schema": {"columns": found}}


BREAKING: dict[str, dict[str, Any]] = {
    "column amount (int) was removed": columns(amount=None),
    "column amount: type int became smallint": columns(amount=COLUMNS["amount"] | {"type": "smallint"}),
    "column id may now be null": columns(id="bigint"),
    "column email is not sensitive any more": columns(email=COLUMNS["email"] | {"tags": []}),
    "check amount_isin: isin 1, 2, 3 became isin 1, 2, 3, 4": columns(
        amount=COLUMNS["amount"] | {"checks": [{"greater_than_or_equal_to": 0}, {"isin": [1, 2, 3, 4]}]}
    ),
    "check amount_greater_than_or_equal_to: greater_than_or_equal_to 0 became greater_than_or_equal_to -1": columns(
        amount=COLUMNS["amount"] | {"checks": [{"greater_than_or_equal_to": -1}, {"isin": [1, 2, 3]}]}
    ),
    "check row_count: row_count min=10 was removed": {"checks": [ORDERS["checks"][0], ORDERS["checks"][2]]},
    "check row_count: row_count min=10 became row_count min=9": {
        "checks": [ORDERS["checks"][0], {"row_count": {"min": 9}}, ORDERS["checks"][2]]
    },
    "check unique_id_day: unique id, day became unique id, day, severity warning": {
        "checks": [{"unique": ["id", "day"], "severity": "warning"}, *ORDERS["checks"][1:]]
    },
    "deadline 0 6 * * * became 0 9 * * *": {"sla": ORDERS["sla"] | {"deadline": "0 9 * * *"}},
    "deadline 0 6 * * * became none": {"sla": None},
    "days=90 became days=30": {"keep": {"days": 30}},
    "parquet became orc": {"output": {"format": "orc"}},
    "none became s3a://bucket/orders": {"output": {"location": "s3a://bucket/orders"}},
    "internal was removed": {"classification": None},
}
COMPATIBLE: dict[str, dict[str, Any]] = {
    "column note (string) was added": columns(note="string"),
    "column amount: type int became bigint": columns(amount=COLUMNS["amount"] | {"type": "bigint"}),
    "column amount can no longer be null": columns(amount=COLUMNS["amount"] | {"nullable": False}),
    "check amount_isin: isin 1, 2 is new or stricter": columns(
        amount=COLUMNS["amount"] | {"checks": [{"greater_than_or_equal_to": 0}, {"isin": [1, 2]}]}
    ),
    "check row_count: row_count min=20 is new or stricter": {
        "checks": [ORDERS["checks"][0], {"row_count": {"min": 20}}, ORDERS["checks"][2]]
    },
    "check unique_id: unique id is new or stricter": {"checks": [{"unique": ["id"]}, *ORDERS["checks"][1:]]},
    "team:shop, ann@example.com became team:sales": {"owners": ["team:sales"]},
    "Orders of the web shop. became Orders.": {"description": "Orders."},
    "internal became public": {"classification": "public"},
    "days=90 became none": {"keep": None},
    "warn_before 30m became 1h": {"sla": ORDERS["sla"] | {"warn_before": "1h"}},
    "type=daily, start=2026-01-01, column=day became type=daily, start=2025-01-01, column=day": {
        "partitions": ORDERS["partitions"] | {"start": "2025-01-01"}
    },
}


@pytest.mark.parametrize("message", BREAKING)
def test_a_change_that_a_reader_may_fail_on_is_breaking(declare: Declare, message: str) -> None:
    found = changes(declare(), declare(**BREAKING[message]))
    assert (message, True) in [(change.message, change.breaking) for change in found]


@pytest.mark.parametrize("message", COMPATIBLE)
def test_a_change_that_keeps_what_was_agreed_is_compatible(declare: Declare, message: str) -> None:
    found = changes(declare(), declare(**COMPATIBLE[message]))
    assert [(change.message, change.breaking) for change in found] == [(message, False)]


def test_partitions_that_begin_later_are_breaking(declare: Declare) -> None:
    later = ORDERS["partitions"] | {"start": "2026-02-01"}
    assert [change.breaking for change in changes(declare(), declare(partitions=later))] == [True]


def test_a_renamed_check_is_the_same_check(declare: Declare) -> None:
    renamed = [ORDERS["checks"][0] | {"name": "one_row_a_day"}, *ORDERS["checks"][1:]]
    assert changes(declare(), declare(checks=renamed)) == []


def test_nothing_has_changed_in_the_same_declaration(declare: Declare) -> None:
    assert changes(declare(), declare()) == []
