"""Publishing: one transaction, compare-and-swap, idempotency keys, reasons, events."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import CheckResult, CheckStatus, Column, Outcome
from headrace.database.connection import transaction
from headrace.errors import IdempotencyConflict, UnknownDataset, UnknownRun, UnpublishedInput
from headrace.publishing.publication import generations, publish
from headrace.publishing.rollback import rollback
from headrace.publishing.runs import attempt
from headrace.queries import published, version, versions


def rows(engine: Engine, query: Any, *parameters: Any) -> Any:
    with transaction(engine) as cursor:
        return cursor.execute(query, parameters).fetchall()


def test_a_published_draft_is_what_readers_get_as_it_was_written(catalog: Engine, draft: Any) -> None:
    given = draft(
        statistics={"delay": {"min": -3.5, "max": float("nan"), "null_count": 0}},
        checks=(
            CheckResult("id_not_null", CheckStatus.PASS, 0),
            CheckResult("delay_sane", CheckStatus.WARN, 2),
        ),
        metadata={"note": "a\0b"},
        quarantine_location="file:/q",
        quarantine_rows=2,
        fingerprint="f1",
    )
    (publication,) = publish(catalog, None, [given])
    assert (publication.outcome, publication.generation, publication.replayed) == (
        Outcome.PUBLISHED,
        1,
        False,
    )
    (row,) = published(catalog, ["mart/delays"])
    assert row.version.version_id == publication.version.version_id
    assert row.version.columns == given.columns
    assert row.version.fingerprint == "f1"
    assert row.version.created_at.utcoffset() is not None
    detail = version(catalog, "mart/delays")
    assert detail.statistics["delay"] == {"min": -3.5, "max": "NaN", "null_count": 0}
    assert detail.version.metadata == {"note": "a\ufffdb"}
    assert {check.name: check.status for check in detail.checks} == {
        "id_not_null": "PASS",
        "delay_sane": "WARN",
    }
    assert (detail.quarantine_location, detail.quarantine_rows) == ("file:/q", 2)


def test_the_version_that_publish_returns_equals_the_stored_one(catalog: Engine, draft: Any) -> None:
    (publication,) = publish(catalog, None, [draft(metadata={"a": 1}, code_version="c")])
    assert publication.version == published(catalog, ["mart/delays"])[0].version


def test_the_same_key_twice_makes_one_version_and_the_second_gets_the_first(
    catalog: Engine, draft: Any
) -> None:
    first = publish(catalog, None, [draft(key="k", tag="t1")])[0]
    again = publish(catalog, None, [draft(key="k", tag="t2", generation=0)])[0]
    assert again.replayed
    assert again.version == first.version
    assert (again.outcome, again.generation) == (Outcome.PUBLISHED, 1)
    assert len(versions(catalog, "mart/delays")) == 1
    assert len(rows(catalog, "SELECT 1 FROM catalog.run_event")) == 1


def test_a_draft_sent_again_gets_its_first_answer_whatever_it_was(catalog: Engine, draft: Any) -> None:
    failed = draft(checks=(CheckResult("id_not_null", CheckStatus.FAIL, 3),))
    first, again = publish(catalog, None, [failed])[0], publish(catalog, None, [failed])[0]
    assert (first.outcome, again.outcome, again.replayed) == (Outcome.BLOCKED, Outcome.BLOCKED, True)
    assert first.reason == again.reason == "failed check: id_not_null (3 rows)"
    assert len(versions(catalog, "mart/delays")) == 1


def test_the_retry_of_a_blocked_version_may_publish_under_its_key(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(key="k", checks=(CheckResult("id_not_null", CheckStatus.FAIL),))])
    assert publish(catalog, None, [draft(key="k")])[0].outcome is Outcome.PUBLISHED


def test_a_blocked_version_is_kept_and_the_pointer_stays(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(tag="good")])
    blocked = publish(
        catalog, None, [draft(tag="bad", generation=1, checks=(CheckResult("x", CheckStatus.FAIL, 1),))]
    )[0]
    assert (blocked.outcome, blocked.generation) == (Outcome.BLOCKED, 1)
    assert published(catalog, ["mart/delays"])[0].version.tag == "good"
    assert version(catalog, "mart/delays", "bad").version.outcome is Outcome.BLOCKED


def test_a_warning_does_not_block(catalog: Engine, draft: Any) -> None:
    warned = draft(checks=(CheckResult("delay_sane", CheckStatus.WARN, 4),))
    assert publish(catalog, None, [warned])[0].outcome is Outcome.PUBLISHED


def test_the_loser_of_a_race_is_superseded_with_the_winners_run(catalog: Engine, draft: Any) -> None:
    run_id = uuid4()
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        publish(catalog, run_id, [draft(tag="winner")])
    loser = publish(catalog, None, [draft(tag="loser", generation=0)])[0]
    assert loser.outcome is Outcome.SUPERSEDED
    assert str(run_id) in loser.reason
    assert "winner" in loser.reason
    assert "(generation 1, expected 0)" in loser.reason
    assert published(catalog, ["mart/delays"])[0].version.tag == "winner"


def test_a_rollback_supersedes_the_runs_under_way(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(tag="t1")])
    publish(catalog, None, [draft(tag="t2", generation=1)])
    rollback(catalog, "mart/delays", None, None, by="ada", reason="bad numbers")
    late = publish(catalog, None, [draft(generation=2)])[0]
    assert late.outcome is Outcome.SUPERSEDED
    assert "rolled back to version t1 by ada" in late.reason


def test_of_many_at_once_exactly_one_publishes(catalog: Engine, draft: Any) -> None:
    contenders = 8
    barrier = Barrier(contenders)
    drafts = [draft() for _ in range(contenders)]

    def contend(each: Any) -> Any:
        barrier.wait()
        return publish(catalog, None, [each])[0]

    with ThreadPoolExecutor(contenders) as pool:
        outcomes = [publication.outcome for publication in pool.map(contend, drafts)]
    assert sorted(outcomes) == [Outcome.PUBLISHED, *[Outcome.SUPERSEDED] * (contenders - 1)]
    assert generations(catalog, [("mart/delays", None)]) == {("mart/delays", None): 1}


def test_the_same_completion_from_many_at_once_is_one_version(catalog: Engine, draft: Any) -> None:
    contenders = 8
    barrier = Barrier(contenders)
    drafts = [draft(key="one") for _ in range(contenders)]

    def complete(each: Any) -> Any:
        barrier.wait()
        return publish(catalog, None, [each])[0]

    with ThreadPoolExecutor(contenders) as pool:
        publications = list(pool.map(complete, drafts))
    assert len({publication.version.version_id for publication in publications}) == 1
    assert [publication.replayed for publication in publications].count(False) == 1


def test_overlapping_sets_in_opposite_orders_never_wait_for_each_other(catalog: Engine, draft: Any) -> None:
    days = [f"2026-01-{day:02d}" for day in range(1, 21)]
    barrier = Barrier(4)

    def many(order: Any) -> Any:
        drafts = [draft("raw/flights", day) for day in order]
        barrier.wait()
        return publish(catalog, None, drafts)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(many, [days, days[::-1], days[10:] + days[:10], days[::-2]]))
    published_days = [
        publication.version.partition
        for answer in answers
        for publication in answer
        if publication.outcome is Outcome.PUBLISHED
    ]
    assert sorted(published_days) == days


def test_a_bad_draft_stores_nothing_of_its_call(catalog: Engine, draft: Any) -> None:
    blocked = publish(
        catalog, None, [draft("raw/flights", "d", checks=(CheckResult("c", CheckStatus.FAIL),))]
    )[0]
    good = draft("mart/report")
    with pytest.raises(
        UnpublishedInput, match="mart/delays was computed from versions that were never published"
    ):
        publish(catalog, None, [good, draft(inputs=(blocked.version.version_id,))])
    with pytest.raises(UnpublishedInput):
        publish(catalog, None, [good, draft(inputs=(uuid4(),))])
    with pytest.raises(UnknownDataset, match=r"mart/delay\..*Did you mean mart/delays\?"):
        publish(catalog, None, [good, draft("mart/delay")])
    with pytest.raises(UnknownRun):
        publish(catalog, uuid4(), [good])
    assert versions(catalog, "mart/report") == []
    assert versions(catalog, "mart/delays") == []


def test_a_key_or_tag_of_something_else_is_refused(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(key="k", tag="t")])
    with pytest.raises(IdempotencyConflict, match="k"):
        publish(catalog, None, [draft("mart/report", key="k")])
    with pytest.raises(IdempotencyConflict, match="t"):
        publish(catalog, None, [draft(key="other", tag="t", generation=1)])
    with pytest.raises(IdempotencyConflict):
        publish(catalog, None, [draft("raw/flights", "a", key="x"), draft("raw/flights", "b", key="x")])


def test_two_drafts_of_one_partition_are_refused(catalog: Engine, draft: Any) -> None:
    with pytest.raises(ValueError, match="two drafts for the same partition: mart/delays"):
        publish(catalog, None, [draft(), draft()])


def test_nothing_to_publish_is_nothing(catalog: Engine) -> None:
    assert publish(catalog, None, []) == []


def test_a_schema_is_stored_once_and_its_history_kept(catalog: Engine, draft: Any) -> None:
    wider = (Column("id", "bigint"), Column("extra", "string", tags=("pii",)))
    publish(catalog, None, [draft()])
    publish(catalog, None, [draft(generation=1)])
    publish(catalog, None, [draft(generation=2, columns=wider)])
    stored = rows(catalog, "SELECT DISTINCT schema_hash FROM catalog.dataset_schema")
    assert len(stored) == 2
    assert published(catalog, ["mart/delays"])[0].version.columns == wider


def test_the_event_holds_enough_to_rebuild_from(catalog: Engine, draft: Any) -> None:
    run_id = uuid4()
    landed = publish(catalog, None, [draft("raw/flights", "2026-01-01", tag="landed")])[0].version
    with attempt(catalog, run_id=run_id, process_key="mart/delays"):
        publish(catalog, run_id, [draft(tag="t", inputs=(landed.version_id,))])
    events = [
        row["payload_json"]
        for row in rows(
            catalog,
            "SELECT payload_json FROM catalog.run_event WHERE run_id = %s ORDER BY event_time",
            run_id,
        )
    ]
    assert [event["eventType"] for event in events] == ["START", "RUNNING", "COMPLETE"]
    assert {event["job"]["name"] for event in events} == {"mart/delays"}
    (read,) = events[1]["inputs"]
    assert read["name"] == "raw/flights"
    assert read["facets"]["headrace_versions"]["versions"] == [
        {"versionId": str(landed.version_id), "tag": "landed", "partition": "2026-01-01"}
    ]
    (written,) = events[1]["outputs"]
    assert written["facets"]["version"]["datasetVersion"] == "t"
    (reported,) = written["facets"]["headrace_versions"]["versions"]
    assert reported["inputs"] == [str(landed.version_id)]
    assert [field["name"] for field in written["facets"]["schema"]["fields"]] == ["id", "delay"]


def test_each_outcome_is_in_the_outbox(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(tag="a")])
    publish(catalog, None, [draft(tag="b")])
    publish(catalog, None, [draft(tag="c", generation=1, checks=(CheckResult("x", CheckStatus.FAIL),))])
    found = rows(
        catalog,
        "SELECT topic, payload_json FROM catalog.outbox WHERE topic LIKE 'version.%%' ORDER BY outbox_id",
    )
    assert [row["topic"] for row in found] == ["version.published", "version.superseded", "version.blocked"]
    assert [row["payload_json"]["tag"] for row in found] == ["a", "b", "c"]
    assert [row["payload_json"]["generation"] for row in found] == [1, 1, 1]


def test_generations_of_what_is_not_there(catalog: Engine, draft: Any) -> None:
    publish(catalog, None, [draft(checks=(CheckResult("x", CheckStatus.FAIL),))])
    assert generations(catalog, [("mart/delays", None), ("raw/flights", "d")]) == {
        ("mart/delays", None): 0,
        ("raw/flights", "d"): 0,
    }
    with pytest.raises(UnknownDataset):
        generations(catalog, [("no/such", None)])
