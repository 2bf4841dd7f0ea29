"""Rows are erased from every version of a dataset, and of the datasets made from it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.catalog.records import InputRequest
from headrace.cli import app
from headrace.database.connection import transaction
from headrace.errors import VersionExpired
from headrace.execution.erasure import Action, Condition, affected_rows, erase, of_subject
from headrace.publishing.erasure import ErasureRefused
from headrace.publishing.expiry import expire_versions
from headrace.publishing.pins import pin, resolve
from headrace.queries.profiles import all_sketches
from headrace.queries.versions import published, tagged, version, versions
from headrace.settings import settings
from headrace.stores.store import OpenStores
from tests.platform.connections.databases import configured, derby
from tests.platform.execution.growing import Feed
from tests.platform.projects import Project, load_project, write_project

PEOPLE = """
type: headrace.Dataset
attributes:
  key: crm/people
  sql: >
    SELECT * FROM VALUES (1, 'Ada', 10), (2, 'Ben', 20), (3, 'Cy', 30) AS t (id, name, amount)
---
type: headrace.Dataset
attributes:
  key: crm/contacts
  sql: SELECT id AS contact_id, upper(name) AS name FROM crm.people WHERE amount > 5
---
type: headrace.Dataset
attributes:
  key: crm/totals
  sql: SELECT count(*) AS people, sum(amount) AS amount FROM crm.people
---
type: headrace.Dataset
attributes:
  key: crm/other
  sql: SELECT 7 AS id
"""
ADA = "name = 'Ada' OR id = 1"


@pytest.fixture
def project(engine: Engine, tmp_path: Path) -> Project:
    """All datasets materialized once."""
    project = load_project(write_project(tmp_path, "crm", PEOPLE), engine)
    project.materialize()
    return project


def stores(spark: SparkSession) -> OpenStores:
    return OpenStores(spark, settings().warehouse_uri)


def ends(
    engine: Engine, spark: SparkSession, where: str, key: str = "crm/people"
) -> dict[str, tuple[Any, ...]]:
    found = affected_rows(engine, stores(spark), key, Condition(where))
    return {each.stored.version.dataset: (each.action, each.rows) for each in found.versions}


def erased(engine: Engine, spark: SparkSession, where: str, key: str = "crm/people") -> None:
    found = affected_rows(engine, stores(spark), key, Condition(where))
    erase(engine, found, stores(spark), key, Condition(where), reason="request 7", by="steward")


def rows(engine: Engine, spark: SparkSession, key: str) -> list[tuple[Any, ...]]:
    [[choice]] = resolve(engine, [InputRequest(key, "test")])
    return sorted(tuple(row) for row in stores(spark).read([choice.version]).collect())


def test_column_lineage_finds_the_rows_in_what_was_made_from_a_dataset(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    assert ends(engine, spark, "ID = 1") == {
        "crm/people": (Action.REWRITE, 1),
        "crm/contacts": (Action.REWRITE, 1),
        "crm/totals": (Action.RECOMPUTE, None),
    }
    assert ends(engine, spark, "id = 9") == {}


def test_a_dataset_without_the_columns_is_computed_again(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    assert ends(engine, spark, ADA)["crm/contacts"] == (
        Action.RECOMPUTE,
        None,
    )  # upper(name) is another value


def test_erased_rows_are_in_no_version_any_more(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    project.materialize()
    before = {row.version.tag for row in versions(engine, "crm/people")}
    assert len(before) == 2

    erased(engine, spark, "id = 1")

    assert rows(engine, spark, "crm/people") == [(2, "Ben", 20), (3, "Cy", 30)]
    assert rows(engine, spark, "crm/contacts") == [(2, "BEN"), (3, "CY")]
    for tag in before:
        [version] = tagged(engine, "crm/people", tag)
        with pytest.raises(VersionExpired, match="expired at"):
            version.require_rows()


def test_what_cannot_be_rewritten_goes_when_it_has_been_computed_again(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    erased(engine, spark, "id = 1")
    assert ends(engine, spark, "id = 1") == {"crm/totals": (Action.RECOMPUTE, None)}

    project.materialize("crm/totals", stale_in=engine)

    assert rows(engine, spark, "crm/totals") == [(2, 50)]
    assert ends(engine, spark, "id = 1") == {"crm/totals": (Action.DELETE, None)}
    erased(engine, spark, "id = 1")
    assert ends(engine, spark, "id = 1") == {}


def test_rows_of_an_expired_version_are_erased_from_what_was_made_from_it_and_from_statistics(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    people = PEOPLE.replace("key: crm/people", "key: crm/people\n  profile: full\n  keep: {versions: 1}")
    project = load_project(write_project(tmp_path, "crm", people), engine)
    project.materialize()
    [old] = versions(engine, "crm/people")
    load_project(write_project(tmp_path, "crm", people.replace("(1, 'Ada', 10), ", "")), engine).materialize()
    expired = expire_versions(engine, datetime.now(UTC) + timedelta(days=9))
    assert [each.tag for each in expired] == [old.version.tag]
    assert "Ada" in str(version(engine, "crm/people", old.version.tag).statistics)

    # Whether the earlier totals were made from the row is not known any more, so they stay.
    assert ends(engine, spark, "id = 1") == {"crm/contacts": (Action.DELETE, 1)}
    erased(engine, spark, "id = 1")

    assert ends(engine, spark, "id = 1") == {}
    assert version(engine, "crm/people", old.version.tag).statistics == {}
    assert all_sketches(engine, old.version.version_id) == {}
    assert "Ben" in str(version(engine, "crm/people").statistics)


def test_drift_of_versions_without_the_rows_does_not_name_their_values(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    check = "checks: [{drift: {column: name, method: psi}, severity: warning}]"
    people = PEOPLE.replace("key: crm/people", f"key: crm/people\n  {check}")
    load_project(write_project(tmp_path, "crm", people), engine).materialize("crm/people")
    later = people.replace("(1, 'Ada', 10), ", "")
    load_project(write_project(tmp_path, "crm", later), engine).materialize("crm/people")
    [compared] = version(engine, "crm/people").checks
    assert "are 'Ada', before" in compared.detail["message"]

    erased(engine, spark, "id = 1")

    assert [each.detail for each in version(engine, "crm/people").checks] == [{}]


def test_the_rewritten_version_is_as_current_as_the_one_before(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    [before] = published(engine, ["crm/people"])
    erased(engine, spark, "id = 1")
    [after] = published(engine, ["crm/people"])
    assert after.version.fingerprint == before.version.fingerprint
    assert after.version.columns == before.version.columns
    assert after.generation == before.generation + 1


def test_the_audit_trail_has_the_erasure_without_the_values(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    erased(engine, spark, "id = 1 AND name LIKE 'A%'")
    with transaction(engine) as cursor:
        entry = cursor.execute("SELECT * FROM catalog.audit_entry WHERE object_type = 'ERASURE'").fetchone()
        statistics = cursor.execute(
            "SELECT statistics FROM catalog.dataset_version JOIN catalog.expired_version USING (dataset_version_id)"
        ).fetchall()
        events = cursor.execute("SELECT payload_json FROM catalog.run_event").fetchall()
    assert entry is not None
    assert entry["detail"]["condition"] == "id = ? AND name LIKE ?"
    assert (entry["subject"], entry["detail"]["reason"], entry["detail"]["row_count"]) == (
        "steward",
        "request 7",
        1,
    )
    assert {json.dumps(row["statistics"]) for row in statistics} == {"{}"}
    kept = [
        version["statistics"]
        for event in events
        for output in event["payload_json"].get("outputs", [])
        if output["name"] == "crm/people"
        for version in output["facets"]["headrace_versions"]["versions"]
    ]
    assert kept == [{}]


def test_nothing_is_erased_from_a_version_that_is_pinned(
    engine: Engine, spark: SparkSession, project: Project
) -> None:
    [now] = published(engine, ["crm/contacts"])
    pin(engine, "crm/contacts", now.version.tag, by="auditor", reason="case 4")
    with pytest.raises(
        ErasureRefused, match=r"crm/contacts is pinned by auditor: case 4; nothing was erased"
    ):
        erased(engine, spark, "id = 1")
    assert len(rows(engine, spark, "crm/people")) == 3


def test_partitions_that_one_run_wrote_stay_readable(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: crm/daily
  partitions: {type: static, keys: [a, b], column: day, ranges: true}
  sql: SELECT day, id FROM VALUES ('a', 1), ('a', 2), ('b', 2) AS t (day, id) WHERE array_contains(:partition_keys, day)
"""
    project = load_project(write_project(tmp_path, "crm", declaration), engine)
    project.materialize("crm/daily", partitions=("a", "b"))

    erased(engine, spark, "id = 1", "crm/daily")

    found = [stores(spark).read([row.version]).collect() for row in published(engine, ["crm/daily"])]
    assert [[tuple(row) for row in partition] for partition in found] == [[("a", 2)], [("b", 2)]]


PARTS = """
type: headrace.Dataset
attributes:
  key: crm/daily
  OUTPUT
  partitions: {type: static, keys: [a, b], column: day}
  sql: SELECT day, id FROM VALUES ('a', 1), ('a', 2), ('b', 3) AS t (day, id) WHERE day = :partition_key
"""


@pytest.mark.parametrize("store", ["files", "iceberg", "delta"])
def test_a_rewritten_partition_leaves_the_columns_of_the_dataset_as_they_were(
    store: str, engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    before = PARTS.replace("OUTPUT", f"output: {{store: {store}}}")
    after = before.replace("day, id FROM", "day, CAST(id AS bigint) AS id, 1 AS more FROM")
    for text, key in (before, "a"), (after, "b"):
        project = load_project(write_project(tmp_path, "crm", text), engine)
        [result] = project.materialize("crm/daily", partitions=(key, key))
        assert result.success

    erased(engine, spark, "id = 1", "crm/daily")

    versions = [row.version for row in published(engine, ["crm/daily"])]
    read = stores(spark).read(versions)
    assert read.columns == ["day", "id", "more"]
    assert sorted(tuple(row) for row in read.collect()) == [("a", 2, None), ("b", 3, 1)]
    [again] = project.materialize("crm/daily", partitions=("b", "b"))
    assert again.success


def test_quarantined_rows_are_erased_too(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: crm/checked
  schema: {columns: {id: int, amount: {type: int, checks: [{less_than: 100, quarantine: true}]}}}
  sql: SELECT * FROM VALUES (1, 500), (2, 20) AS t (id, amount)
"""
    project = load_project(write_project(tmp_path, "crm", declaration), engine)
    project.materialize("crm/checked")

    assert ends(engine, spark, "id = 1", "crm/checked") == {"crm/checked": (Action.REWRITE, 1)}
    erased(engine, spark, "id = 1", "crm/checked")
    assert ends(engine, spark, "id = 1", "crm/checked") == {}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("id = ", "is not a condition in SQL"),
        ("name = 'x", "is not a condition in SQL: a quote is not closed"),
        ("id = 'abc'", "cannot be evaluated on crm/people"),
        ("1 = 1", "names no column"),
        ("id IN (SELECT 1)", "may not have a subquery"),
        ("id > avg(id)", "may not have a subquery, an aggregate"),
        ("person = 1", "never had a column person; its columns are id, name, amount"),
        ("id.first = 1", "cannot be evaluated on crm/people"),
    ],
)
def test_a_wrong_condition_is_refused(
    engine: Engine, spark: SparkSession, project: Project, where: str, message: str
) -> None:
    with pytest.raises(ErasureRefused, match=message):
        erased(engine, spark, where)


def test_the_command_deletes_the_files_and_the_previews(
    engine: Engine, spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.local.environment.dagster_instance", lambda: nullcontext(project.instance))
    ask = ["erase", "crm/people", "--where", "id = 1", "--reason", "request 7"]
    shown = CliRunner().invoke(app, [*ask, "--dry-run"])
    assert shown.exit_code == 0, shown.output
    assert len(rows(engine, spark, "crm/people")) == 3

    done = CliRunner().invoke(app, [*ask, "--yes"])

    assert done.exit_code == 1, done.output
    assert "Erased 2 rows from 2 versions." in done.stdout
    assert "run `headrace materialize --stale crm/totals`, and this command again" in done.stderr
    warehouse = Path(settings().warehouse_uri.removeprefix("file://"))
    files = [file for key in ("people", "contacts") for file in (warehouse / "crm" / key).rglob("*.parquet")]
    assert files
    for file in files:
        assert b"Ada" not in file.read_bytes()
        assert b"ADA" not in file.read_bytes()
    for key in ("crm/people", "crm/contacts"):
        asset = dg.AssetKey.from_user_string(key)
        [record] = project.instance.fetch_materializations(asset, limit=10).records
        assert "Ada" not in repr(record)
        assert "'ADA" not in repr(record)
        [row] = published(engine, [key])
        assert row.version.tag in repr(record)


def test_a_dataset_that_grows_continues_without_the_rows(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    declaration = """
type: headrace.ExternalDataset
attributes:
  key: crm/feed
  partitions: {type: static, keys: [a, b]}
---
type: headrace.Dataset
attributes:
  key: crm/ledger
  sql: SELECT day, id FROM feed
  incremental: {mode: append, partition: day}
"""
    project = load_project(write_project(tmp_path / "project", "crm", declaration), engine)
    feed = Feed(engine, tmp_path, "crm/feed", {"day": "string", "id": "bigint"})
    feed.publish([{"day": "a", "id": 1}, {"day": "a", "id": 2}], "a")
    project.materialize("crm/ledger")

    with pytest.raises(ErasureRefused, match=r"another system writes crm/feed: erase the rows there"):
        erased(engine, spark, "id = 1", "crm/feed")
    found = affected_rows(engine, stores(spark), "crm/ledger", Condition("id = 1"))
    assert found.sources == {"crm/feed": 1}
    erased(engine, spark, "id = 1", "crm/ledger")
    feed.publish([{"day": "b", "id": 3}], "b")
    project.materialize("crm/ledger")

    assert rows(engine, spark, "crm/ledger") == [("a", 2), ("b", 3)]


def test_the_condition_is_the_same_under_other_names(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: crm/people
  sql: SELECT * FROM VALUES (1, "O'Brien", 'x'), (2, 'Ben', NULL), (3, NULL, 'y') AS t (id, name, who)
---
type: headrace.Dataset
attributes:
  key: crm/renamed
  sql: SELECT id AS name, name AS who FROM crm.people
---
type: headrace.Dataset
attributes:
  key: crm/both
  sql: SELECT who AS person FROM crm.renamed UNION ALL SELECT name FROM crm.people
"""
    project = load_project(write_project(tmp_path, "crm", declaration), engine)
    project.materialize()

    erased(engine, spark, "/* Bob */ name = 'O''Brien' -- of Bob")

    assert rows(engine, spark, "crm/people") == [(2, "Ben", None), (3, None, "y")]
    assert rows(engine, spark, "crm/renamed") == [(2, "Ben"), (3, None)]
    [[choice]] = resolve(engine, [InputRequest("crm/both", "test")])
    people = [row["person"] for row in stores(spark).read([choice.version]).collect()]
    assert sorted(map(str, people)) == ["Ben", "Ben", "None", "None"]
    with transaction(engine) as cursor:
        entry = cursor.execute("SELECT condition FROM catalog.erasure").fetchone()
    assert entry is not None
    assert "Bob" not in entry["condition"]
    assert "Brien" not in entry["condition"]


OF_OTHER_ROWS = """
---
type: headrace.Dataset
attributes:
  key: crm/window
  sql: SELECT id, max(name) OVER () AS last FROM crm.people
---
type: headrace.Dataset
attributes:
  key: crm/neighbours
  sql: SELECT a.id, b.name AS next FROM crm.people a JOIN crm.people b ON b.id = a.id + 1
"""


def test_rows_with_values_of_other_rows_are_computed_again(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    project = load_project(write_project(tmp_path, "crm", PEOPLE + OF_OTHER_ROWS), engine)
    project.materialize()
    found = ends(engine, spark, "id = 2")
    assert found["crm/contacts"] == (Action.REWRITE, 1)
    assert found["crm/window"] == found["crm/neighbours"] == (Action.RECOMPUTE, None)


def test_texts_are_compared_by_spark_also_in_a_database(
    engine: Engine, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declaration = """
type: headrace.Dataset
attributes:
  key: crm/people
  output: {store: jdbc, connection: crm}
  sql: SELECT * FROM VALUES (1, 'Ada'), (2, 'Ben') AS t (id, name)
"""
    root = write_project(tmp_path, "crm", declaration)
    with configured(monkeypatch, root, derby("crm")):
        load_project(root, engine).materialize()
        erased(engine, spark, "name = 'Ada'")
        assert rows(engine, spark, "crm/people") == [(2, "Ben")]


SUBJECTS = """
type: headrace.Dataset
attributes:
  key: crm/people
  sql: SELECT * FROM VALUES (1, 'Ada'), (2, 'Ben') AS t (id, name)
  schema: {columns: {id: {type: int, tags: [subject=customer]}, name: {type: string, tags: [gdpr=personal]}}}
---
type: headrace.Dataset
attributes:
  key: crm/contacts
  sql: SELECT id AS contact_id, name FROM crm.people
---
type: headrace.Dataset
attributes:
  key: shop/orders
  sql: SELECT * FROM VALUES ('1', 'a book'), ('22', 'a pen') AS t (buyer, item)
  schema: {columns: {buyer: {type: string, tags: [subject=customer]}, item: {type: string}}}
---
type: headrace.Dataset
attributes:
  key: hr/staff
  sql: SELECT 1 AS id
  schema: {columns: {id: {type: int, tags: [subject=employee]}}}
"""


def test_the_rows_about_a_person_are_erased_wherever_a_tag_or_lineage_finds_them(
    engine: Engine, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = load_project(write_project(tmp_path, "crm", SUBJECTS), engine)
    project.materialize()
    monkeypatch.setattr("headrace.local.environment.dagster_instance", lambda: nullcontext(project.instance))
    hidden = CliRunner().invoke(app, ["read", "crm/contacts"])
    assert "Ada" not in hidden.stdout
    ask = ["erase", "--subject", "customer=1", "--reason", "request 7"]
    shown = CliRunner().invoke(app, [*ask, "--dry-run", "--json"])
    assert shown.exit_code == 0, shown.output
    assert [each["dataset"] for each in json.loads(shown.stdout)["datasets"]] == ["crm/people", "shop/orders"]

    done = CliRunner().invoke(app, [*ask, "--yes"])

    assert done.exit_code == 0, done.output
    assert rows(engine, spark, "crm/people") == [(2, "Ben")]
    assert rows(engine, spark, "crm/contacts") == [(2, "Ben")]
    assert rows(engine, spark, "shop/orders") == [("22", "a pen")]
    assert rows(engine, spark, "hr/staff") == [(1,)], "another kind of person"


def test_a_dataset_that_cannot_be_erased_now_does_not_stop_the_others(
    engine: Engine, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = load_project(write_project(tmp_path, "crm", SUBJECTS), engine)
    project.materialize()
    monkeypatch.setattr("headrace.local.environment.dagster_instance", lambda: nullcontext(project.instance))
    pin(engine, "crm/people", published(engine, ["crm/people"])[0].version.tag, reason="audit", by="ann")

    done = CliRunner().invoke(app, ["erase", "--subject", "customer=1", "--reason", "request 7", "--yes"])

    assert done.exit_code == 1, done.output
    assert "pinned" in done.stderr
    assert len(rows(engine, spark, "crm/people")) == 2
    assert rows(engine, spark, "shop/orders") == [("22", "a pen")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--subject", "customer"], "KIND=ID"),
        (["--subject", "visitor=1"], "no column has the tag"),
        (["crm/people"], "give a dataset and --where"),
        (["crm/people", "--where", "id = 1", "--subject", "customer=1"], "give a dataset and --where"),
    ],
)
def test_what_to_erase_is_one_or_the_other(engine: Engine, words: list[str], message: str) -> None:
    refused = CliRunner().invoke(app, ["erase", *words, "--reason", "x"], env={"COLUMNS": "200"})
    assert refused.exit_code != 0
    assert message in refused.output


def test_an_identifier_is_never_more_than_a_value() -> None:
    condition = of_subject("odd `name`", "1' OR '1' = '1")
    assert condition.columns == {"odd `name`"}
    assert condition.without_values == "CAST(`odd ``name``` AS STRING) = ?"
