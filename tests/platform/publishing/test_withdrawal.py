"""Partitions that a changed declaration no longer has are withdrawn, and restored if it has them again."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import DatasetRecord, InputRequest, Outcome
from headrace.database.connection import transaction
from headrace.declarations.declaration import Partitions
from headrace.declarations.partitions import definition, partition_shape
from headrace.errors import MissingVersion, PinRefused, RollbackRefused
from headrace.publishing.pins import choose, pin, resolve
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback
from headrace.publishing.withdrawal import has_partition
from headrace.registration.declarations import register
from tests.platform.conftest import Draft

BOTH = {"type": "static", "keys": ["a", "b"]}
KEY = "dp/x"


def declare(engine: Engine, partitions: Mapping[str, Any] | None, **metadata: Any) -> None:
    register(engine, [DatasetRecord(KEY, "parquet", partition_definition=partitions, metadata=metadata)])


def put(engine: Engine, draft: Draft, *partitions: str | None) -> list[Outcome]:
    now = generations(engine, [(KEY, partition) for partition in partitions])
    drafts = [draft(KEY, partition, now[KEY, partition]) for partition in partitions]
    return [each.outcome for each in publish(engine, None, drafts)]


def read(engine: Engine, as_of: datetime | None = None) -> list[str | None]:
    """The partitions that a reader of all published ones gets."""
    [found] = choose(engine, [InputRequest(KEY, "dp/reader", (), as_of=as_of)])
    return [each.version.partition for each in found]


def kinds(engine: Engine, partition: str) -> list[str]:
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT kind FROM catalog.pointer_move WHERE partition_key = %s ORDER BY generation", [partition]
        )
        return [row["kind"] for row in rows]


def test_a_dataset_with_partitions_then_without_then_with_them_is_read_once(
    engine: Engine, draft: Draft
) -> None:
    declare(engine, BOTH)
    put(engine, draft, "a", "b")
    declare(engine, None)
    assert read(engine) == []
    put(engine, draft, None)
    assert read(engine) == [None]
    declare(engine, BOTH)
    assert read(engine) == ["a", "b"]
    put(engine, draft, "a", "b")
    assert read(engine) == ["a", "b"]
    [found] = queries.status(engine)
    assert found.partition_count == 2
    assert kinds(engine, "") == ["PUBLISH", "WITHDRAW"]
    assert kinds(engine, "a") == ["PUBLISH", "WITHDRAW", "RESTORE", "PUBLISH"]


def test_a_static_key_that_was_removed_is_neither_read_nor_counted(engine: Engine, draft: Draft) -> None:
    declare(engine, BOTH)
    put(engine, draft, "a", "b")
    then = datetime.now(UTC)
    declare(engine, {"type": "static", "keys": ["a"]})
    assert read(engine) == ["a"]
    assert queries.status(engine)[0].partition_count == 1
    assert read(engine, as_of=then) == ["a", "b"]
    with pytest.raises(MissingVersion):
        resolve(engine, [InputRequest(KEY, "dp/reader", ("b",))])


def test_a_withdrawn_partition_can_be_rolled_back(engine: Engine, draft: Draft) -> None:
    declare(engine, BOTH)
    put(engine, draft, "b")
    put(engine, draft, "b")
    declare(engine, {"type": "static", "keys": ["a"]})
    back = rollback(engine, KEY, "b", None, by="ada", reason="still needed")
    assert (back.version.tag, back.generation) == ("v2", 4)
    assert read(engine) == ["b"]
    assert rollback(engine, KEY, "b", None, by="ada", reason="older").version.tag == "v1"


def test_a_run_that_began_before_the_withdrawal_is_superseded(engine: Engine, draft: Draft) -> None:
    declare(engine, BOTH)
    put(engine, draft, "b")
    late = draft(KEY, "b", 1)
    declare(engine, {"type": "static", "keys": ["a"]})
    [found] = publish(engine, None, [late])
    assert found.outcome is Outcome.SUPERSEDED
    assert found.reason is not None
    assert "withdrawn, as the declaration no longer had this partition" in found.reason


def test_the_partitions_of_an_external_dataset_are_left_alone(engine: Engine, draft: Draft) -> None:
    declare(engine, BOTH, external=True)
    put(engine, draft, "a", "b")
    declare(engine, None, external=True)
    assert read(engine) == ["a", "b"]


def test_a_version_of_a_withdrawn_partition_cannot_be_pinned(engine: Engine, draft: Draft) -> None:
    declare(engine, None)
    put(engine, draft, None)
    declare(engine, BOTH)
    put(engine, draft, "a")
    with pytest.raises(PinRefused, match=r"no longer has\. It is published by partition: .* such as a"):
        pin(engine, KEY, "v1", by="ada", reason="")
    assert pin(engine, KEY, "v2", "a", by="ada", reason="").tag == "v2"
    declare(engine, None)
    with pytest.raises(PinRefused, match="no longer has"):
        pin(engine, KEY, "v2", "a", by="ada", reason="")


def test_a_day_cannot_be_pinned_as_a_month(engine: Engine, draft: Draft) -> None:
    declare(engine, DAILY)
    put(engine, draft, "2026-11-01")
    declare(engine, MONTHLY)
    put(engine, draft, "2026-11-01")
    with pytest.raises(PinRefused, match="no longer has"):
        pin(engine, KEY, "v1", "2026-11-01", by="ada", reason="")
    assert pin(engine, KEY, "v2", "2026-11-01", by="ada", reason="").tag == "v2"
    with pytest.raises(RollbackRefused, match="when the partitions were declared otherwise"):
        rollback(engine, KEY, "2026-11-01", "v1", by="ada", reason="")


def test_a_pin_ends_with_the_partition_that_it_pinned(engine: Engine, draft: Draft) -> None:
    declare(engine, DAILY)
    put(engine, draft, "2026-11-01", "2026-11-02")
    put(engine, draft, "2026-11-01")
    pin(engine, KEY, "v1", "2026-11-01", by="ada", reason="checked")
    declare(engine, MONTHLY)
    put(engine, draft, "2026-11-01")
    [found] = choose(engine, [InputRequest(KEY, "dp/reader", ())])
    assert [each.version.tag for each in found] == ["v4"]
    with transaction(engine) as cursor:
        pins = cursor.execute("SELECT unpinned_by FROM catalog.dataset_pin").fetchall()
    assert pins == [{"unpinned_by": "a changed declaration"}]


DAILY = {"type": "daily", "start": "2026-11-01", "end": "2026-11-30"}
MONTHLY = {"type": "monthly", "start": "2026-10-01"}
WEEKLY = {"type": "weekly", "start": "2026-11-01"}


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        (DAILY, MONTHLY, "2026-11-01"),
        (DAILY, WEEKLY, "2026-11-01"),
        (WEEKLY, DAILY, "2026-11-01"),
        (MONTHLY, DAILY, "2026-11-01"),
        ({"type": "static", "keys": ["2026-11-01"]}, DAILY, "2026-11-01"),
        (DAILY, {**DAILY, "timezone": "Europe/Berlin"}, "2026-11-01"),
        (
            {"type": "multi", "dimensions": {"from": BOTH, "to": BOTH}},
            {"type": "multi", "dimensions": {"buyer": BOTH, "seller": BOTH}},
            "a|b",
        ),
        (
            {"type": "multi", "dimensions": {"day": DAILY, "x": BOTH}},
            {"type": "multi", "dimensions": {"day": MONTHLY, "x": BOTH}},
            "2026-11-01|a",
        ),
    ],
)
def test_a_key_with_another_meaning_is_withdrawn_until_its_definition_is_declared_again(
    engine: Engine, draft: Draft, before: Mapping[str, Any], after: Mapping[str, Any], key: str
) -> None:
    declare(engine, before)
    put(engine, draft, key)
    declare(engine, after)
    assert read(engine) == []
    declare(engine, before)
    assert read(engine) == [key]
    assert kinds(engine, key) == ["PUBLISH", "WITHDRAW", "RESTORE"]


def test_each_definition_has_the_version_that_was_published_under_it(engine: Engine, draft: Draft) -> None:
    def tags() -> list[str]:
        [found] = choose(engine, [InputRequest(KEY, "dp/reader", ())])
        return [each.version.tag for each in found]

    declare(engine, DAILY)
    put(engine, draft, "2026-11-01")
    declare(engine, MONTHLY)
    put(engine, draft, "2026-11-01")
    declare(engine, WEEKLY)
    assert tags() == []
    declare(engine, DAILY)
    assert tags() == ["v1"]
    declare(engine, MONTHLY)
    assert tags() == ["v2"]
    declare(engine, {**MONTHLY, "start": "2026-11-01"})
    assert tags() == ["v2"]


def test_a_changed_range_keeps_the_partitions_that_remain(engine: Engine, draft: Draft) -> None:
    declare(engine, DAILY)
    put(engine, draft, "2026-11-01", "2026-11-02")
    declare(engine, {"type": "daily", "start": "2026-11-02", "end_offset": 1})
    assert read(engine) == ["2026-11-02"]
    assert kinds(engine, "2026-11-02") == ["PUBLISH"]
    declare(engine, DAILY)
    assert read(engine) == ["2026-11-01", "2026-11-02"]


SHAPES: Sequence[Mapping[str, Any]] = (
    BOTH,
    {"type": "daily", "start": "2026-01-01", "end": "2026-02-01"},
    {"type": "weekly", "start": "2026-01-04", "end": "2026-03-01"},
    {"type": "monthly", "start": "2026-01-01", "end": "2026-05-01"},
    {"type": "hourly", "start": "2026-10-25-00:00", "end": "2026-10-26-00:00", "timezone": "Europe/Berlin"},
    {
        "type": "multi",
        "dimensions": {"day": {"type": "daily", "start": "2026-01-01", "end": "2026-01-04"}, "country": BOTH},
    },
)


@pytest.mark.parametrize("written", SHAPES, ids=lambda written: str(written["type"]))
def test_a_declaration_has_exactly_the_keys_that_dagster_makes(written: Mapping[str, Any]) -> None:
    partitions = TypeAdapter[Any](Partitions).validate_python(written)
    shape = partition_shape(partitions)
    keys = set(definition(partitions).get_partition_keys())
    others = {
        "",
        "c",
        "2025-12-31",
        "2026-01-02",
        "2027-01-01",
        "2026-01-01-00:00",
        "a|2026-01-02",
        "2026-01-02|a",
    }
    for each in SHAPES:
        others |= set(definition(TypeAdapter[Any](Partitions).validate_python(each)).get_partition_keys())
    assert keys
    assert {key for key in keys | others if has_partition(shape, key)} == keys
    assert {key for key in keys | others if has_partition(None, key)} == {""}
