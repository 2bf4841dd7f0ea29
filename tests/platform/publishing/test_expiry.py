"""Which versions of a dataset stay, and which expire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.catalog.records import (
    CheckResult,
    CheckStatus,
    DatasetRecord,
    InputRequest,
    ProcessRecord,
    Technology,
    Version,
)
from headrace.database.connection import transaction
from headrace.errors import VersionExpired
from headrace.publishing.expiry import expire_versions, retained_versions
from headrace.publishing.pins import choose, pin, resolve, unpin
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback
from headrace.publishing.runs import attempt, record_inputs
from headrace.registration.declarations import register
from tests.platform.conftest import Draft

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEY = "mart/kept"


@pytest.fixture
def kept(catalog: Engine) -> Callable[..., None]:
    """Declare the dataset with a rule."""

    def declare(**keep: Any) -> None:
        register(catalog, [DatasetRecord(KEY, "csv", metadata={"keep": keep} if keep else {})])

    return declare


@pytest.fixture
def wrote(catalog: Engine, draft: Draft) -> Callable[..., Version]:
    """Publish a version that was written so many days ago."""

    def write(days: float, partition: str | None = None, **changes: Any) -> Version:
        expected = generations(catalog, [(KEY, partition)])[KEY, partition]
        [done] = publish(catalog, None, [draft(KEY, partition, generation=expected, **changes)])
        at = NOW - timedelta(days=days)
        with transaction(catalog) as cursor:
            cursor.execute(
                "UPDATE catalog.dataset_version SET produced_at = %s WHERE dataset_version_id = %s",
                [at, done.version.version_id],
            )
            cursor.execute(
                "UPDATE catalog.pointer_move SET moved_at = %s WHERE dataset_version_id = %s",
                [at, done.version.version_id],
            )
        return done.version

    return write


def reasons(engine: Engine) -> list[str | None]:
    return [each.kept for each in retained_versions(engine, KEY, NOW)]


def test_every_version_stays_without_a_rule(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept()
    wrote(900), wrote(800)

    assert reasons(catalog) == []
    assert expire_versions(catalog, NOW) == []


def test_the_newest_of_each_partition_stay(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(versions=2)
    for days in (40, 30, 20, 10):
        wrote(days, "a")
    wrote(50, "b")

    assert reasons(catalog) == [None, None, "one of the newest 2", "published", "published"]


def test_young_versions_and_the_last_of_each_month_stay(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(days=20, month_ends=2)
    for day in ("2026-08-31", "2026-09-29", "2026-09-30", "2026-10-05"):
        wrote((NOW - datetime.fromisoformat(f"{day}T00:00Z")) / timedelta(days=1))
    wrote(15), wrote(5)

    assert reasons(catalog) == [
        None,
        None,
        "the last of its month",
        "the last of its month",
        "not yet 20 days old",
        "published",
    ]


def test_a_hold_and_a_pin_keep_versions(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(versions=1, hold="case 17")
    first = wrote(30)
    wrote(20), wrote(10)
    assert reasons(catalog) == ["held: case 17", "held: case 17", "published"]

    kept(versions=1)
    pin(catalog, KEY, first.tag, by="ann", reason="audit")
    assert reasons(catalog) == ["pinned, or until a moment ago", None, "published"]


def test_what_a_run_reads_stays_until_it_ends(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(versions=1)
    first = wrote(30)
    wrote(10)
    register(catalog, [], [ProcessRecord("mart/reader", Technology.SPARK, inputs=(KEY,), outputs=())])
    [[chosen]] = choose(catalog, [InputRequest(KEY, "mart/reader", version_tag=first.tag)])
    with attempt(catalog, run_id=(run := uuid4()), process_key="mart/reader") as running:
        record_inputs(catalog, run, running.number, [chosen])
        assert reasons(catalog) == ["read by a running run", "published"]
    assert reasons(catalog) == [None, "published"]


def test_the_inputs_of_published_versions_stay(catalog: Engine, kept: Any, wrote: Any, draft: Draft) -> None:
    kept(versions=1)
    register(catalog, [DatasetRecord("mart/made", "csv")])
    first = wrote(30)
    publish(catalog, None, [draft("mart/made", inputs=(first.version_id,))])
    wrote(10)

    assert reasons(catalog) == ["input of a published version", "published"]


def test_what_was_published_until_a_moment_ago_stays_for_a_day(
    catalog: Engine, kept: Any, wrote: Any
) -> None:
    kept(versions=1)
    wrote(30), wrote(0.5)

    assert reasons(catalog) == ["new, or published until a moment ago", "published"]


def test_blocked_versions_expire_with_the_published_ones_of_their_time(
    catalog: Engine, kept: Any, wrote: Any
) -> None:
    kept(versions=2)
    bad = (CheckResult("ids", CheckStatus.FAIL, 3),)
    wrote(50, checks=bad), wrote(40), wrote(35, checks=bad), wrote(30), wrote(20, checks=bad)

    assert [(each.outcome.value, each.kept) for each in retained_versions(catalog, KEY, NOW)] == [
        ("BLOCKED", None),
        ("PUBLISHED", "one of the newest 2"),
        ("BLOCKED", "one of the newest 2"),
        ("PUBLISHED", "published"),
        ("BLOCKED", "one of the newest 2"),
    ]


def test_the_versions_of_one_run_expire_together(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(versions=1)
    wrote(30, "a", tag="20261031T120000Z-0123456789"), wrote(30, "b", tag="20261031T120000Z-0123456789")
    wrote(10, "a")
    assert reasons(catalog) == ["written together with a version that stays", "published", "published"]

    wrote(10, "b")
    assert reasons(catalog) == [None, "published", None, "published"]


def test_an_expired_version_is_history_that_cannot_be_read(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(versions=1)
    first, second = wrote(30), wrote(10)

    assert [each.tag for each in expire_versions(catalog, NOW)] == [first.tag]
    assert expire_versions(catalog, NOW) == []

    message = rf"version {first.tag} of mart/kept expired at 2026-11-30 12:00 UTC"
    with pytest.raises(VersionExpired, match=message):
        resolve(catalog, [InputRequest(KEY, "test", version_tag=first.tag)])
    with pytest.raises(VersionExpired, match=message):
        resolve(catalog, [InputRequest(KEY, "test", as_of=NOW - timedelta(days=20))])
    with pytest.raises(VersionExpired, match=message):
        rollback(catalog, KEY, None, first.tag, by="ann", reason="x")
    with pytest.raises(VersionExpired, match=message):
        pin(catalog, KEY, first.tag, by="ann", reason="x")
    [[published]] = resolve(catalog, [InputRequest(KEY, "test")])
    assert published.version.tag == second.tag


@pytest.mark.parametrize(
    "rule", [{"versions": "many"}, {"days": 1e30}, {"month_ends": -3, "hold": 1}, {"versions": None}]
)
def test_odd_rules_of_a_registration_stop_nothing(catalog: Engine, kept: Any, wrote: Any, rule: Any) -> None:
    register(catalog, [DatasetRecord("mart/odd", "csv", metadata={"keep": rule})])
    kept(versions=1)
    wrote(30), wrote(10)

    assert len(expire_versions(catalog, NOW)) == 1


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rule=st.fixed_dictionaries(
        {}, optional={"versions": st.integers(1, 4), "days": st.integers(1, 40)}
    ).filter(bool),
    ages=st.lists(st.integers(2, 60), min_size=1, max_size=6, unique=True),
)
def test_the_newest_and_the_young_stay_under_any_rule(
    catalog: Engine, kept: Any, wrote: Any, rule: dict[str, int], ages: list[int]
) -> None:
    partition = str(uuid4())
    kept(**rule)
    oldest_first = sorted(ages, reverse=True)
    for age in oldest_first:
        wrote(age, partition)

    newest = sorted(ages)[: rule.get("versions", 1)]
    found = [
        each.kept is not None for each in retained_versions(catalog, KEY, NOW) if each.partition == partition
    ]
    assert found == [age in newest or age < rule.get("days", 0) for age in oldest_first]


def test_a_version_that_expires_before_its_reading_is_recorded_is_refused(
    catalog: Engine, kept: Any, wrote: Any
) -> None:
    kept(versions=1)
    first = wrote(30)
    wrote(10)
    register(catalog, [], [ProcessRecord("mart/reader", Technology.SPARK, inputs=(KEY,), outputs=())])
    [[chosen]] = resolve(catalog, [InputRequest(KEY, "mart/reader", version_tag=first.tag)])
    expire_versions(catalog, NOW)

    with (
        pytest.raises(VersionExpired, match=first.tag),
        attempt(catalog, run_id=(run := uuid4()), process_key="mart/reader") as running,
    ):
        record_inputs(catalog, run, running.number, [chosen])


def test_a_version_that_was_pinned_until_a_moment_ago_stays_for_a_day(
    catalog: Engine, kept: Any, wrote: Any
) -> None:
    kept(versions=1)
    first = wrote(30)
    wrote(10)
    pin(catalog, KEY, first.tag, by="ann", reason="audit")
    unpin(catalog, KEY, by="ann")

    now = datetime.now(UTC)
    assert retained_versions(catalog, KEY, now)[0].kept == "pinned, or until a moment ago"
    assert retained_versions(catalog, KEY, now + timedelta(days=2))[0].kept is None


def test_a_rollback_passes_over_an_expired_version(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(month_ends=5)
    first, second = wrote(61), wrote(40)
    wrote(32), wrote(10)
    assert [each.tag for each in expire_versions(catalog, NOW)] == [second.tag]
    published = rollback(catalog, KEY, None, None, by="ann", reason="x").version
    again = rollback(catalog, KEY, None, None, by="ann", reason="x").version

    assert (published.tag != second.tag, again.tag) == (True, first.tag)


def test_a_partition_that_is_declared_again_does_not_get_an_expired_version(
    catalog: Engine, wrote: Any
) -> None:
    def declare(*keys: str) -> None:
        shape = {"type": "static", "keys": list(keys)}
        record = DatasetRecord(
            KEY, "csv", metadata={"keep": {"days": 20}}, partitions="static", partition_definition=shape
        )
        register(catalog, [record])

    declare("a", "b")
    wrote(10, "a"), wrote(60, "b")
    declare("a")
    later = datetime.now(UTC) + timedelta(days=3)
    assert [each.partition for each in expire_versions(catalog, later)] == ["b"]

    declare("a", "b")

    [found] = resolve(catalog, [InputRequest(KEY, "test", ())])
    assert [each.version.partition for each in found] == ["a"]


def test_a_legal_minimum_keeps_what_no_other_rule_does(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(versions=1, **{"class": "ledger", "min_days": 30})
    for days in (50, 20, 1):
        wrote(days)
    assert reasons(catalog) == [None, "not yet 30 days old, as ledger demands", "published"]


def test_a_legal_maximum_ends_what_other_rules_keep_and_a_hold_does_not_end(
    catalog: Engine, kept: Any, wrote: Any
) -> None:
    kept(versions=10, **{"class": "visits", "max_days": 30})
    for days in (50, 20, 1):
        wrote(days)
    assert reasons(catalog) == [None, "one of the newest 10", "published"]
    kept(hold="case 7", **{"class": "visits", "max_days": 30})
    assert reasons(catalog) == ["held: case 7", "held: case 7", "published"]


def test_a_class_is_a_rule_without_any_other(catalog: Engine, kept: Any, wrote: Any) -> None:
    kept(**{"class": "visits", "max_days": 30})
    for days in (50, 20, 1):
        wrote(days)
    assert reasons(catalog) == [None, "not yet 30 days old, as visits allows", "published"]
    kept(**{"class": "ledger", "min_days": 30})
    assert reasons(catalog) == ["no rule ends it", "not yet 30 days old, as ledger demands", "published"]
