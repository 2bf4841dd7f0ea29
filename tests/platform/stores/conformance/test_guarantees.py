"""The guarantees that every store keeps, each for all stores; docs/stores.md has the table.

To run them on a store of another package, install it, and add how other programs read it to OUTSIDE.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.catalog.records import CheckStatus
from headrace.database.connection import transaction
from headrace.orchestration.garbage import garbage
from headrace.queries.versions import version
from headrace.settings import settings
from headrace.spark.errors import SchemaMismatch, StoreUnavailable
from headrace.stores.store import OpenStores
from headrace.stores.tags import new_tag
from tests.platform.execution.growing import Feed
from tests.platform.projects import Project, failure
from tests.platform.stores.conformance.conftest import ORDERS, Shop, ask, now, refused
from tests.platform.stores.conformance.guarantees import guarantee

THREE = "SELECT id, 'a' AS name FROM range(3)"
FIVE = "SELECT id, 'a' AS name, id * 2 AS twice FROM range(5)"


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["id"] for row in rows)


def long_ago(shop: Shop) -> None:
    """Let everything have happened three days before."""
    with transaction(shop.engine) as cursor:
        cursor.execute("UPDATE catalog.dataset_version SET produced_at = produced_at - interval '3 days'")
        cursor.execute("UPDATE catalog.pointer_move SET moved_at = moved_at - interval '3 days'")


@guarantee("is invisible until it is published, and garbage if it never is")
def test_a_written_version_is_invisible(shop: Shop) -> None:
    shop.publish(THREE)
    tag = new_tag()
    shop.store.write(shop.spark.range(7), dataset=ORDERS, tag=tag)
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1, 2]
    stores = OpenStores(shop.spark, settings().warehouse_uri)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)
    found = [each for each in garbage(shop.engine, stores, now=later) if each.tag == tag]
    assert [(each.store, each.byte_size > 0) for each in found] == [(shop.kind, True)]
    shop.store.delete(ORDERS, tag)
    assert shop.store.tags(ORDERS) == [shop.published.tag]
    assert ids(shop.rows_outside) == [0, 1, 2]
    assert shop.refreshed() == 0


@guarantee("is invisible if a check blocks it, and can be read by its tag")
def test_a_blocked_version_is_invisible(shop: Shop) -> None:
    shop.publish(THREE)
    [result] = shop.run(FIVE, "  checks: [{row_count: {max: 4}}]\n")
    assert "row_count" in failure(result)
    assert ids(shop.rows_outside) == [0, 1, 2]
    [blocked] = [tag for tag in shop.store.tags(ORDERS) if tag != shop.published.tag]
    assert ids(ask("read", ORDERS, "--version", blocked)["rows"]) == [0, 1, 2, 3, 4]


@guarantee("is published, compared, read as of a time and rolled back to, with its own columns")
def test_versions_are_published_compared_and_rolled_back(shop: Shop) -> None:
    first = shop.publish(THREE)
    between = now()
    second = shop.publish(FIVE)
    assert shop.rows_outside == [{"id": id, "name": "a", "twice": id * 2} for id in range(5)]
    assert ids(ask("read", ORDERS, "--as-of", between)["rows"]) == [0, 1, 2]
    found = ask("diff", ORDERS, first.tag, second.tag, "--key", "id")
    assert (found["added"], found["removed"], found["changed"]) == (2, 0, 0)
    ask("rollback", ORDERS, "--reason", "wrong")
    assert shop.published.tag == first.tag
    assert shop.rows_outside == [{"id": id, "name": "a"} for id in range(3)]
    assert ids(ask("read", ORDERS)["rows"]) == [0, 1, 2]
    assert shop.refreshed() == 0


@guarantee("is read while it is pinned, whatever is published")
def test_a_pinned_version_is_read(shop: Shop) -> None:
    first = shop.publish(THREE)
    shop.publish(FIVE)
    ask("pin", ORDERS, first.tag, "--reason", "quarter end")
    assert ids(ask("read", ORDERS)["rows"]) == [0, 1, 2]
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]


DATABASES = ("derby", "postgresql")


@guarantee(
    "replaces, rolls back or withdraws one partition without the others",
    without=["ledger"],
)
def test_partitions_are_replaced_alone(shop: Shop) -> None:
    def run(price: int, keys: tuple[str, str], declared: str = "'a/1', b, c") -> None:
        sql = f"SELECT explode(:partition_keys) AS key, {price} AS price"
        attributes = f"  partitions: {{type: static, keys: [{declared}], column: key, ranges: true}}\n"
        [result] = shop.run(sql, attributes, keys)
        assert result.success

    def prices() -> dict[str, int]:
        inside = {row["key"]: row["price"] for row in ask("read", ORDERS)["rows"]}
        assert {row["key"]: row["price"] for row in shop.rows_outside} == inside
        assert len(shop.rows_outside) == len(inside)
        return inside

    run(1, ("a/1", "c"))
    assert prices() == {"a/1": 1, "b": 1, "c": 1}
    run(2, ("b", "c"))
    assert prices() == {"a/1": 1, "b": 2, "c": 2}
    ask("rollback", ORDERS, "--partition", "b", "--reason", "wrong")
    assert prices() == {"a/1": 1, "b": 1, "c": 2}
    run(3, ("a/1", "a/1"), "'a/1', b")
    assert prices() == {"a/1": 3, "b": 1}
    assert shop.refreshed() == 0


TYPES: dict[str, tuple[str, Any]] = {
    "flag": ("true", True),
    "tiny": ("7Y", 7),
    "small": ("-300S", -300),
    "number": ("2147483647", 2147483647),
    "large": ("9223372036854775807L", 9223372036854775807),
    "real": ("1.5F", 1.5),
    "exact": ("-0.1D", -0.1),
    "amount": ("12345678901234567890.123456789BD", Decimal("12345678901234567890.123456789")),
    "text": ("'é \\\\ \"q\" \\n 😀'", 'é \\ "q" \n 😀'),
    "raw": ("X'00FF10'", b"\x00\xff\x10"),
    "day": ("DATE'0001-01-01'", dt.date(1, 1, 1)),
    "at": (
        "TIMESTAMP_LTZ'2026-03-29 01:30:00.123456Z'",
        dt.datetime(2026, 3, 29, 1, 30, 0, 123456, dt.UTC),
    ),
    "wall": ("TIMESTAMP_NTZ'2026-03-29 02:30:00.000001'", dt.datetime(2026, 3, 29, 2, 30, 0, 1)),  # noqa: DTZ001
    "nothing": ("CAST(NULL AS INT)", None),
}
NESTED: dict[str, tuple[str, Any]] = {
    "list": ("array(1, NULL)", [1, None]),
    "record": ("named_struct('a', 1, 'b', array(named_struct('c', 'x')))", {"a": 1, "b": [{"c": "x"}]}),
    "pairs": ("map('k', 1.5D)", [("k", 1.5)]),
}


@guarantee("returns values of every plain type as they were, also to other programs", without=["ledger"])
def test_types_come_back(shop: Shop) -> None:
    come_back(shop, TYPES)


@guarantee(
    "returns arrays, structs and maps as they were, also to other programs", without=["ledger", *DATABASES]
)
def test_nested_types_come_back(shop: Shop) -> None:
    come_back(shop, NESTED)


def come_back(shop: Shop, types: dict[str, tuple[str, Any]]) -> None:
    columns = ", ".join(f"{sql} AS {name}" for name, (sql, _) in types.items())
    version = shop.publish(f"SELECT {columns}")
    assert shop.rows_outside == [{name: shop.outside.value(value) for name, (_, value) in types.items()}]
    [row] = shop.store.read([version]).collect()
    expected = shop.spark.sql(f"SELECT {columns}")
    assert shop.store.read([version]).dtypes == expected.dtypes
    assert row == expected.collect()[0]


@guarantee("is refused before anything is written if the format lacks a type", without=["files", "ledger"])
def test_other_types_are_refused(shop: Shop) -> None:
    for value, type in {"parse_json('1')": "variant", "INTERVAL '1' DAY": "interval day"}.items():
        with pytest.raises(SchemaMismatch, match=f"{ORDERS}: .* cannot store .*the type {type}"):
            shop.store.write(shop.spark.sql(f"SELECT {value} AS odd"), dataset=ORDERS, tag=new_tag())
    assert shop.store.tags(ORDERS) == []


@guarantee(
    "is refused before anything is written in a warehouse whose name the format cannot keep",
    without=["files", "ledger", *DATABASES],
)
def test_odd_warehouses_are_refused(shop: Shop, tmp_path: Path) -> None:
    place = tmp_path / {"iceberg": "a#b", "delta": "a%20b"}[shop.name]
    store = OpenStores(shop.spark, place.as_uri()).named(shop.name)
    with pytest.raises(StoreUnavailable, match="Set HEADRACE_WAREHOUSE to another place"):
        store.write(shop.spark.range(1), dataset=ORDERS, tag=new_tag())
    assert not place.exists()


NAMES = [
    "a.b",
    "a b",
    "é",
    "order",
    "x,y;z",
    "{}()",
    "it's",
    'say "hi"',
    "back\\slash",
    "100%",
    "a=b",
    "#",
    "UPPER",
]


@guarantee("returns any column name, also to other programs")
def test_hostile_names_come_back(shop: Shop) -> None:
    columns = ", ".join(f"{place} AS `{name}`" for place, name in enumerate(NAMES))
    shop.publish(f"SELECT {columns}")
    expected = {name: place for place, name in enumerate(NAMES)}
    assert ask("read", ORDERS)["rows"] == [expected]
    assert shop.rows_outside == [{shop.outside.column(name): place for name, place in expected.items()}]


@guarantee("is published without rows like any other")
def test_an_empty_version_is_published(shop: Shop) -> None:
    shop.publish(THREE)
    empty = shop.publish(f"{THREE} WHERE id < 0")
    assert empty.row_count == 0
    assert shop.rows_outside == ask("read", ORDERS)["rows"] == []
    assert shop.store.first_rows(empty, 3) == []
    shop.publish(THREE)
    assert ids(shop.rows_outside) == [0, 1, 2]


@guarantee("sets rows aside that fail a check, and other programs do not find them")
def test_rows_are_set_aside(shop: Shop) -> None:
    checks = "  checks: [{name: early, sql: id < 4, quarantine: true}]\n"
    version = shop.publish(FIVE, checks)
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1, 2, 3]
    assert version.row_count == 4
    assert len(ask("read", ORDERS, "--head", "2")["rows"]) == 2


@guarantee("has its row count and the bounds of its columns")
def test_statistics_are_kept(shop: Shop) -> None:
    [written] = shop.store.write(shop.spark.range(2, 9), dataset=ORDERS, tag=new_tag())
    assert written.row_count == 7
    assert written.statistics["id"] == {"null_count": 0, "min": 2, "max": 8}


@guarantee("has the profile of its columns, without the rows that were set aside")
def test_columns_are_profiled(shop: Shop) -> None:
    query = "SELECT id, concat('no ', id) AS label FROM range(20)"
    shop.publish(query, "  profile: full\n  checks: [{sql: id < 9, quarantine: true}]\n")
    found = ask("profile", ORDERS)
    assert (found["row_count"], found["partial"]) == (9, [])
    assert found["columns"]["id"]["distinct_count"] == 9
    assert found["columns"]["id"]["quantiles"]["p50"] == 4
    assert found["columns"]["label"]["patterns"] == [["aa 9", 9]]


@guarantee(
    "has no values of sensitive columns in the log of its table", without=["files", "ledger", *DATABASES]
)
def test_sensitive_values_are_not_in_the_log(shop: Shop) -> None:
    columns = "  schema: {columns: {id: bigint, email: {type: string, tags: [pii]}, city: string}}\n"
    shop.publish("SELECT id, 'ann@x.com' AS email, 'Utrecht' AS city FROM range(3)", columns)
    bounds = shop.outside.bounds(ORDERS)
    assert bounds["city"] == "Utrecht"
    assert "email" not in bounds


@guarantee(
    "is not found by other programs after its dataset has moved to another store", without=["files", "ledger"]
)
def test_a_dataset_that_has_moved_leaves_nothing_published(shop: Shop) -> None:
    shop.publish(THREE)
    elsewhere = dataclasses.replace(shop, name="files")
    elsewhere.publish(FIVE)
    assert shop.rows_outside == []
    assert ids(elsewhere.rows_outside) == [0, 1, 2, 3, 4]
    ask("rollback", ORDERS, "--reason", "wrong")
    assert ids(shop.rows_outside) == [0, 1, 2]
    assert elsewhere.rows_outside == []


@guarantee(
    "stays readable if another program drops the store's reference, which `headrace manifests` restores"
)
def test_a_dropped_reference_is_restored(shop: Shop) -> None:
    first = shop.publish(THREE)
    shop.publish(FIVE)
    shop.outside.drop(ORDERS)
    assert ids(ask("read", ORDERS)["rows"]) == [0, 1, 2, 3, 4]
    assert ids(ask("read", ORDERS, "--version", first.tag)["rows"]) == [0, 1, 2]
    assert shop.refreshed() == 1
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]
    ask("rollback", ORDERS, "--reason", "wrong")
    assert ids(shop.rows_outside) == [0, 1, 2]


@guarantee("never overwrites rows that another program wrote to its table", without=["files", "ledger"])
def test_other_programs_rows_are_not_overwritten(shop: Shop) -> None:
    shop.publish(THREE)
    shop.outside.intrude(ORDERS)
    [result] = shop.run(FIVE)
    assert result.success
    assert len(shop.rows_outside) == 4
    problem = refused("manifests", ORDERS)
    assert "Another program" in problem
    assert "does not overwrite it" in problem
    assert ids(ask("read", ORDERS)["rows"]) == [0, 1, 2, 3, 4]
    shop.outside.restore(ORDERS)
    assert shop.refreshed() == 1
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]


@guarantee("is deleted when it expires, and the published one stays, also for other programs")
def test_expired_versions_are_deleted(shop: Shop) -> None:
    first = shop.publish(THREE, "  keep: {versions: 1}\n")
    second = shop.publish(FIVE, "  keep: {versions: 1}\n")
    long_ago(shop)
    deleted = ask("retention", "--delete", "--hours", "0")
    assert [each["tag"] for each in deleted["versions"]] == [first.tag]
    assert shop.store.tags(ORDERS) == [second.tag]
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1, 2, 3, 4]
    assert f"version {first.tag} of {ORDERS} expired at" in refused("rollback", ORDERS, "--to", first.tag)
    assert shop.refreshed() == 0
    shop.publish(THREE, "  keep: {versions: 1}\n")
    assert ids(shop.rows_outside) == [0, 1, 2]


@guarantee(
    "is found by other programs before an earlier one is deleted, if the store's reference was left behind"
)
def test_expiry_moves_a_reference_that_was_left_behind(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.publish(THREE, "  keep: {versions: 1}\n")
    with monkeypatch.context() as left_behind:
        left_behind.setattr("headrace.execution.reporting.update_references", lambda *_: [])
        second = shop.publish(FIVE, "  keep: {versions: 1}\n")
    assert ids(shop.rows_outside) == [0, 1, 2]
    long_ago(shop)
    ask("retention", "--delete", "--hours", "0")
    assert shop.store.tags(ORDERS) == [second.tag]
    assert ids(shop.rows_outside) == [0, 1, 2, 3, 4]


@guarantee("loses erased rows, in all versions and for other programs")
def test_erased_rows_are_gone(shop: Shop) -> None:
    aside = "  checks: [{name: early, sql: id <> 1, quarantine: true}]\n"
    first = shop.publish(THREE, aside)
    shop.publish(FIVE)
    found = ask("erase", ORDERS, "--where", "id = 1", "--reason", "request 7", "--yes")
    assert sorted(each["action"] for each in found["versions"]) == ["delete", "rewrite"]
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 2, 3, 4]
    assert shop.store.tags(ORDERS) == [shop.published.tag]
    assert f"version {first.tag} of {ORDERS} expired at" in refused("read", ORDERS, "--version", first.tag)
    assert shop.refreshed() == 0
    shop.publish(THREE)
    assert ids(shop.rows_outside) == [0, 1, 2]


_FEED = "type: headrace.ExternalDataset\nattributes: {key: shop/feed}\n---\n"
_GROWING = """
  incremental: {mode: append, watermark: id}
  checks: [{unique: [code]}, {name: even, sql: id % 2 = 0 OR id < 7, severity: warning}, {row_count: {max: 8}}]
"""


def growing(shop: Shop, attributes: str = "") -> tuple[Feed, Project]:
    """Declare the dataset as one to which the new rows of a feed are appended."""
    feed = Feed(shop.engine, shop.root / "landing", "shop/feed", {"id": "bigint", "code": "string"})
    return feed, shop.declare("SELECT id, code FROM feed", _GROWING + attributes, _FEED)


def fed(feed: Feed, project: Project, *codes: str) -> bool:
    """Publish a version of the feed with these codes, and run the dataset."""
    feed.publish([{"id": id, "code": code} for id, code in enumerate(codes)])
    [result] = project.materialize(ORDERS)
    return result.success


@guarantee(
    "has the rows, statistics and checks of the one that it was appended to, whose rows are not written again",
    without=["ledger"],
)
def test_appended_rows_are_written_alone(shop: Shop) -> None:
    feed, project = growing(shop)
    assert fed(feed, project, "a", "b")
    first = shop.published
    before = shop.store.stored(ORDERS, first.tag)
    assert fed(feed, project, "a", "b", "c", "d", "e")
    second = shop.published
    assert [each.tag for each in second.segments] == [first.tag, second.tag]
    assert shop.store.stored(ORDERS, first.tag) == before
    assert second.byte_size == before.byte_size + shop.store.stored(ORDERS, second.tag).byte_size
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1, 2, 3, 4]
    assert ids(ask("read", ORDERS, "--version", first.tag)["rows"]) == [0, 1]
    appended = version(shop.engine, ORDERS)
    [full] = project.materialize(ORDERS, full_refresh=True)
    assert full.success
    again = version(shop.engine, ORDERS)
    assert (appended.version.row_count, appended.statistics) == (again.version.row_count, again.statistics)
    assert appended.checks == again.checks
    assert len(shop.published.segments) == 1


@guarantee(
    "has the rows that were merged into the one before, with the statistics and checks of the whole",
    without=["ledger"],
)
def test_merged_rows_replace_those_with_their_keys(shop: Shop) -> None:
    feed = Feed(shop.engine, shop.root / "landing", "shop/feed", {"id": "bigint", "code": "string"})
    merging = _GROWING.replace("mode: append, ", "mode: merge, keys: [code], order_by: id, ")
    project = shop.declare("SELECT id, code FROM feed", merging, _FEED)
    assert fed(feed, project, "a", "b", "c")
    first = shop.published
    assert fed(feed, project, "a", "b", "c", "b", "d")
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 2, 3, 4]
    assert ids(ask("read", ORDERS, "--version", first.tag)["rows"]) == [0, 1, 2]
    assert set(shop.store.tags(ORDERS)) == {first.tag, shop.published.tag}
    merged = version(shop.engine, ORDERS)
    [full] = project.materialize(ORDERS, full_refresh=True)
    assert full.success
    again = version(shop.engine, ORDERS)
    assert (merged.version.row_count, merged.statistics) == (again.version.row_count, again.statistics)
    assert merged.checks == again.checks
    assert not fed(feed, project, *"abcbd", *"efghijklm")  # a check counts at most eight rows
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 2, 3, 4]


@guarantee(
    "is blocked if the appended rows break a check of the whole, and the one before stays",
    without=["ledger"],
)
def test_a_check_of_appended_rows_covers_the_rows_before(shop: Shop) -> None:
    feed, project = growing(shop)
    assert fed(feed, project, "a", "b")
    assert not fed(feed, project, "a", "b", "a")
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1]
    assert fed(feed, project, "a", "b", "c", *"defgh")
    found = {each.name: each for each in version(shop.engine, ORDERS).checks}
    assert (found["even"].status, found["even"].failed_rows) == (CheckStatus.WARN, 1)
    assert not fed(feed, project, *"abcdefghi")
    assert ids(shop.rows_outside) == list(range(8))


@guarantee(
    "keeps the rows of expired ones that it was appended to, and is continued after a rollback or a lost reference",
    without=["ledger"],
)
def test_rows_stay_while_a_version_has_them(shop: Shop) -> None:
    feed, project = growing(shop, "  keep: {versions: 1}\n")
    assert fed(feed, project, "a")
    first = shop.published
    assert fed(feed, project, "a", "b")
    second = shop.published
    shop.outside.drop(ORDERS)
    assert fed(feed, project, "a", "b", "c")
    assert ids(shop.rows_outside) == [0, 1, 2]
    ask("rollback", ORDERS, "--to", second.tag, "--reason", "test")
    assert ids(shop.rows_outside) == [0, 1]
    assert fed(feed, project, "a", "b", "x")
    third = shop.published
    assert [each.tag for each in third.segments] == [first.tag, second.tag, third.tag]
    long_ago(shop)
    expiring = ask("retention", "--hours", "0")["versions"]
    assert {each["tag"]: each["own_byte_size"] for each in expiring}[first.tag] == 0
    ask("retention", "--delete", "--hours", "0")
    assert set(shop.store.tags(ORDERS)) == {first.tag, second.tag, third.tag}
    assert f"version {first.tag} of {ORDERS} expired at" in refused("read", ORDERS, "--version", first.tag)
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [0, 1, 2]
    assert fed(feed, project, "a", "b", "x", "y")
    left = refused("erase", ORDERS, "--where", "id = 0", "--reason", "request 7", "--yes")
    assert "shop/feed still has 1 row of them" in left
    assert ids(shop.rows_outside) == ids(ask("read", ORDERS)["rows"]) == [1, 2, 3]
    assert shop.store.tags(ORDERS) == [shop.published.tag]
    assert fed(feed, project, "a", "b", "x", "y", "z")
    assert ids(shop.rows_outside) == [1, 2, 3, 4]
    assert shop.refreshed() == 0
