"""The version that a reader gets."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import CheckResult, CheckStatus, InputRequest, PinReason
from headrace.errors import MissingVersion, PinRefused, UnknownDataset, UnknownVersion
from headrace.publishing.pins import pin, resolve, unpin
from headrace.publishing.publication import publish
from headrace.queries import dataset

DAYS = tuple(f"2026-01-{day:02d}" for day in range(1, 31))


def tags(engine: Engine, *requests: Any) -> Any:
    return [[resolved.version.tag for resolved in answer] for answer in resolve(engine, requests)]


@pytest.fixture
def two_versions(catalog: Engine, draft: Any) -> Any:
    publish(catalog, None, [draft(tag="old")])
    publish(catalog, None, [draft(tag="new", generation=1)])
    return catalog


def request(**given: Any) -> Any:
    return InputRequest("mart/delays", "mart/report", **given)


def test_the_published_version_is_the_default(two_versions: Any) -> None:
    ((resolved,),) = resolve(two_versions, [request()])
    assert (resolved.version.tag, resolved.reason) == ("new", PinReason.PUBLISHED)


def test_a_tag_asked_for_wins(two_versions: Any) -> None:
    pin(two_versions, "mart/delays", "new", by="ada", reason="x")
    ((resolved,),) = resolve(two_versions, [request(version_tag="old")])
    assert (resolved.version.tag, resolved.reason) == ("old", PinReason.PINNED)


def test_a_pin_for_the_consumer_wins_over_one_for_all_and_over_the_published(
    two_versions: Any, draft: Any
) -> None:
    pin(two_versions, "mart/delays", "old", by="ada", reason="compare")
    assert tags(two_versions, request()) == [["old"]]
    pin(two_versions, "mart/delays", "new", consumer="mart/report", by="ada", reason="fixed here")
    assert tags(two_versions, request(), InputRequest("mart/delays", "raw/flights")) == [["new"], ["old"]]
    unpin(two_versions, "mart/delays", consumer="mart/report", by="ada")
    unpin(two_versions, "mart/delays", by="ada")
    publish(two_versions, None, [draft(tag="newest", generation=2)])
    assert tags(two_versions, request()) == [["newest"]]


def test_pins_in_force_are_shown_with_who_and_why(two_versions: Any) -> None:
    pin(two_versions, "mart/delays", "old", by="ada", reason="first")
    pin(two_versions, "mart/delays", "new", by="bob", reason="second")
    (shown,) = dataset(two_versions, "mart/delays").pins
    assert (shown.tag, shown.consumer, shown.by, shown.reason) == ("new", None, "bob", "second")


def test_a_pin_that_cannot_be(two_versions: Any, draft: Any) -> None:
    publish(
        two_versions, None, [draft(tag="bad", generation=2, checks=(CheckResult("c", CheckStatus.FAIL),))]
    )
    with pytest.raises(PinRefused, match="bad of mart/delays is BLOCKED"):
        pin(two_versions, "mart/delays", "bad", by="ada", reason="x")
    with pytest.raises(UnknownVersion, match=r"has no version nope\. The newest are: bad, new, old"):
        pin(two_versions, "mart/delays", "nope", by="ada", reason="x")
    with pytest.raises(PinRefused, match="mart/delays has no pin for all readers"):
        unpin(two_versions, "mart/delays", by="ada")


def test_as_of_is_answered_from_history(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(tag="old")])
    between = datetime.now(UTC)
    publish(catalog, None, [draft(tag="new", generation=1)])
    assert tags(catalog, request(as_of=between), request()) == [["old"], ["new"]]
    with pytest.raises(
        MissingVersion, match=r"mart/report reads mart/delays, which has no version published by"
    ):
        resolve(catalog, [request(as_of=between - timedelta(days=1))])


def test_every_published_partition_in_the_order_of_keys(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft("raw/flights", day) for day in reversed(DAYS)])
    publish(catalog, None, [draft("raw/flights", "0-bad", checks=(CheckResult("c", CheckStatus.FAIL),))])
    (found,) = resolve(catalog, [InputRequest("raw/flights", "mart/delays", ())])
    assert [resolved.version.partition for resolved in found] == list(DAYS)


def test_partitions_come_in_the_order_asked_for(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft("raw/flights", day) for day in DAYS])
    (found,) = resolve(catalog, [InputRequest("raw/flights", "mart/delays", DAYS[5::-1])])
    assert [resolved.version.partition for resolved in found] == list(DAYS[5::-1])


def test_what_is_missing_is_named_with_its_reader_and_the_remedy(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft("raw/flights", day) for day in DAYS[:3]])
    with pytest.raises(MissingVersion) as missing:
        resolve(catalog, [InputRequest("raw/flights", "mart/delays", DAYS)])
    assert str(missing.value) == (
        "mart/delays reads raw/flights, which has no published version in partitions 2026-01-04, 2026-01-05, "
        "2026-01-06, 2026-01-07, 2026-01-08 and 22 more: run `headrace materialize raw/flights`, or "
        "`headrace observe raw/flights` if another system writes it."
    )
    with pytest.raises(
        MissingVersion, match="mart/report reads mart/delays, which has no published version: run"
    ):
        resolve(catalog, [request(partitions=())])
    with pytest.raises(MissingVersion, match="no published version gone"):
        resolve(catalog, [request(version_tag="gone")])
    with pytest.raises(UnknownDataset):
        resolve(catalog, [InputRequest("no/such", "mart/report")])


def test_a_year_of_days_is_resolved_in_their_order(catalog: Engine, draft: Any) -> None:
    days = tuple(f"day-{number:03d}" for number in range(365))
    publish(catalog, None, [draft("raw/flights", day) for day in days])
    (found,) = resolve(catalog, [InputRequest("raw/flights", "mart/delays", days)])
    assert [each.version.partition for each in found] == list(days)
