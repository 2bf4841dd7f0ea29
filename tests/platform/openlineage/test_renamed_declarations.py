"""A dataset that is declared under a new key keeps its history."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import DatasetRecord, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.errors import UnknownDataset
from headrace.openlineage.renames import follow_declarations
from headrace.publishing.pins import pin
from headrace.publishing.publication import publish
from headrace.queries import Direction, lineage
from headrace.queries.names import find_dataset
from headrace.registration.declarations import register
from headrace.registration.retirement import retire_undeclared, retirements
from headrace.retention.rebuild import rebuild
from headrace.slas.tick import evaluate
from tests.platform.conftest import Draft
from tests.platform.slas.building import published, ran

DAILY = {"deadline": "0 6 * * *", "timezone": "UTC"}
SOURCE = DatasetRecord("raw/source", "parquet")
OLD = DatasetRecord("mart/old", "parquet", sla=DAILY)
NEW = DatasetRecord("mart/new", "parquet", sla=DAILY, renamed_from="mart/old")
READER = DatasetRecord("mart/reader", "parquet")


def process(key: str, *inputs: str) -> ProcessRecord:
    return ProcessRecord(key, Technology.SPARK, inputs=inputs, outputs=(key,))


def load(engine: Engine, of: DatasetRecord) -> None:
    """Load a project with these declarations, as the sensor does."""
    datasets = [SOURCE, of, READER]
    processes = [process(of.key, "raw/source"), process("mart/reader", of.key)]
    follow_declarations(engine, datasets)
    register(engine, datasets, processes)
    retire_undeclared(engine, {each.key for each in datasets}, {each.key for each in processes})


def at(hour: int, day: int = 10) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


def outcomes(engine: Engine) -> list[tuple[str, str]]:
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT full_name, outcome FROM catalog.sla_outcome JOIN catalog.dataset USING (dataset_id) "
            "WHERE subject_id = dataset_id ORDER BY deadline"
        )
        return [(row["full_name"], row["outcome"]) for row in rows]


@pytest.fixture
def renamed(engine: Engine, draft: Draft) -> Engine:
    """`mart/old` with two versions, a run, a pin, a met and a late deadline; declared as `mart/new` since."""
    load(engine, OLD)
    evaluate(engine, at(5))
    published(engine, "mart/old", at(5) + timedelta(minutes=30))
    evaluate(engine, at(7))
    publish(engine, None, [draft("mart/old", tag="t1")])
    publish(engine, None, [draft("mart/old", tag="t2", generation=1)])
    pin(engine, "mart/old", "t1", by="ada", reason="checked")
    ran(engine, "mart/old", at(4), at(5), "FAILED")
    evaluate(engine, at(7, day=11))
    load(engine, NEW)
    return engine


def test_versions_pointers_pins_lineage_and_runs_continue_under_the_new_key(renamed: Engine) -> None:
    tags = [row.version.tag for row in queries.versions(renamed, "mart/new") if len(row.version.tag) == 2]
    assert sorted(tags) == ["t1", "t2"]
    [status] = queries.status(renamed, ["mart/new"])
    assert (status.newest_tag, status.last_run_state) == ("t2", "FAILED")
    detail = queries.dataset(renamed, "mart/new")
    assert ([each.tag for each in detail.pins], detail.status) == (["t1"], "ACTIVE")
    assert {
        (edge.source, edge.target) for edge in lineage(renamed, "mart/reader", Direction.UP, 9).edges
    } == {
        ("raw/source", "mart/new"),
        ("mart/new", "mart/reader"),
    }
    assert retirements(renamed) == []


def test_sla_outcomes_continue_under_the_new_key(renamed: Engine) -> None:
    assert outcomes(renamed) == [("mart/new", "MET")]
    evaluate(renamed, at(7, day=12))
    assert outcomes(renamed) == [("mart/new", "MET"), ("mart/new", "MISSED")]


def test_the_former_key_is_answered_with_the_new_one(renamed: Engine) -> None:
    with pytest.raises(UnknownDataset, match="mart/old was renamed to mart/new"):
        queries.dataset(renamed, "mart/old")
    found = find_dataset(renamed, "mart/old")
    assert found is not None
    assert found.key == "mart/new"


def test_loading_again_and_a_rebuild_keep_the_new_key(renamed: Engine) -> None:
    before = queries.dataset(renamed, "mart/new").dataset_id
    load(renamed, NEW)
    rebuild(renamed)
    load(renamed, NEW)
    assert queries.dataset(renamed, "mart/new").dataset_id == before
    assert {row.key for row in queries.datasets(renamed).rows} == {"mart/new", "mart/reader", "raw/source"}


def test_a_key_that_was_registered_before_its_renaming_gets_both_histories(
    engine: Engine, draft: Draft
) -> None:
    load(engine, OLD)
    publish(engine, None, [draft("mart/old", tag="t1")])
    load(engine, DatasetRecord("mart/new", "parquet", sla=DAILY))
    publish(engine, None, [draft("mart/new", tag="t2")])
    load(engine, NEW)
    assert {row.version.tag for row in queries.versions(engine, "mart/new")} == {"t1", "t2"}
    assert queries.status(engine, ["mart/new"])[0].newest_tag == "t2"


@pytest.mark.parametrize("project", ["other", None])
def test_a_key_that_is_declared_elsewhere_or_here_is_not_renamed(engine: Engine, project: str | None) -> None:
    load(engine, OLD)
    if project is None:
        follow_declarations(engine, [OLD, NEW])
    else:
        with transaction(engine) as cursor:
            cursor.execute("UPDATE catalog.dataset SET project = %s", [project])
        follow_declarations(engine, [NEW])
    assert find_dataset(engine, "mart/new") is None
    assert queries.dataset(engine, "mart/old").key == "mart/old"
