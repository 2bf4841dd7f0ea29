"""One dataset under many names: symlinks in any order, paths of Headrace versions, merges, aliases, display names."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace import queries
from headrace import settings as configuration
from headrace.catalog.naming import Name, Place, place
from headrace.catalog.records import DatasetRecord
from headrace.context import current_context
from headrace.errors import UnknownDataset
from headrace.openlineage import renames as renaming
from headrace.publishing.publication import publish
from headrace.queries import names as asking
from headrace.queries.rows import Direction
from headrace.registration.declarations import register
from headrace.retention.rebuild import rebuild
from tests.platform.openlineage.events import (
    contents,
    dataset,
    dataset_event,
    edges,
    everything,
    facet,
    facets_of,
    ingest_valid,
    run_event,
    uuid,
    wipe,
)

TAG = "20260301T041500Z-1a2b3c4d"
WHY = {"by": "eve", "reason": "it is the same"}


def link(*names: str) -> dict:
    return facet(identifiers=[{"namespace": "hive", "name": name, "type": "TABLE"} for name in names])


def located(engine: Engine, name: Any, namespace: Any = "db") -> Any:
    return asking.locate(engine, current_context().organisation_id, namespace, name)


def key_of(engine: Engine, name: Any, namespace: Any = "db") -> Any:
    (found,) = asking.keys_of(engine, current_context().organisation_id, [Name(namespace, name)]).values()
    return found


def test_a_path_and_the_table_that_it_is_are_one_dataset(engine: Engine) -> None:
    ingest_valid(engine, run_event(outputs=[dataset("/lake/t", "hdfs://lake", symlinks=link("default.t"))]))
    ingest_valid(
        engine, run_event(run=2, job="read", inputs=[dataset("default.t", "hive")], outputs=["b"], minutes=5)
    )
    assert edges(engine) == {("hdfs://lake#/lake/t", "db#b")}
    names = asking.names(engine, located(engine, "/lake/t", "hdfs://lake"))
    assert [(each.namespace, each.name, each.canonical, each.kind) for each in names] == [
        ("hdfs://lake", "/lake/t", True, None),
        ("hive", "default.t", False, "TABLE"),
    ]


def test_two_datasets_that_turn_out_to_be_one_become_one_with_all_that_was_known(engine: Engine) -> None:
    ingest_valid(
        engine,
        run_event(outputs=[dataset("a", version=facet(datasetVersion="1"))], inputs=["x"]),
        run_event(
            run=2, job="other", outputs=[dataset("t", "hive", version=facet(datasetVersion="1"))], minutes=1
        ),
        run_event(run=3, job="reader", inputs=[dataset("t", "hive")], outputs=["y"], minutes=2),
    )
    former = located(engine, "t", "hive")
    ingest_valid(engine, dataset_event(dataset("a", symlinks=link("t")), minutes=3))
    now = located(engine, "t", "hive")
    assert now == located(engine, "a") != former
    assert asking.locate_id(engine, current_context().organisation_id, former) == now
    assert edges(engine) == {("db#x", "db#a"), ("db#a", "db#y")}
    assert edges(engine, "PRODUCES") >= {("airflow#load", "db#a"), ("airflow#other", "db#a")}
    (version,) = queries.versions(engine, "db#a")  # both say that they wrote 1: it is that of the first
    assert (version.published, str(version.version.run_id)) == (True, uuid(1))
    with pytest.raises(UnknownDataset):
        queries.dataset(engine, "hive#t")


def written(name: Any, namespace: Any = "db", version: Any = "1", **more: Any) -> Any:
    return dataset(name, namespace, version=facet(datasetVersion=version), **more)


@pytest.mark.parametrize(
    "events",
    [
        [  # of two runs
            run_event(outputs=[written("t", "hive")], minutes=7),
            run_event(run=2, job="other", outputs=[written("a")], minutes=4),
            dataset_event(dataset("a", symlinks=link("t")), minutes=5),
        ],
        [  # of one run, which calls it by both names
            run_event(outputs=[dataset("a"), dataset("t", "hive")]),
            dataset_event(dataset("a", symlinks=link("t")), minutes=5),
        ],
        [  # at one time, and not the same
            run_event(outputs=[dataset("c"), written("t", "hive")]),
            dataset_event(dataset("c", symlinks=link("t")), minutes=5),
        ],
    ],
)
def test_what_was_written_under_two_names_are_the_versions_of_one_dataset(
    engine: Engine, events: Any
) -> None:
    found = []
    for order in itertools.permutations(events):
        wipe(engine)
        for event in order:
            ingest_valid(engine, event)
        found.append(everything(engine))
        rebuild(engine)
        found.append(everything(engine))
    assert all(each == found[0] for each in found)


def test_a_person_who_merges_makes_one_of_the_versions_that_are_one(engine: Engine) -> None:
    ingest_valid(
        engine,
        run_event(outputs=[written("b")], minutes=1),
        run_event(run=2, job="other", outputs=[written("a")], minutes=2),
    )
    renaming.merge(engine, current_context().organisation_id, "db#b", "db#a", **WHY)
    (version,) = queries.versions(engine, "db#a")
    assert (version.published, version.version.tag, str(version.version.run_id)) == (True, "1", uuid(1))
    before = contents(engine)
    rebuild(engine)
    assert contents(engine) == before


@st.composite
def histories(draw: Any) -> Any:
    """Runs over a few names, some reported symlinks of others."""
    names = st.sampled_from(["a", "b", "c", "d"])
    used = st.builds(
        lambda name, links, version: dataset(
            name,
            "hive",
            **({"symlinks": link(*links)} if links else {}),
            **({"version": facet(datasetVersion=version)} if version else {}),
        ),
        names,
        st.lists(names, max_size=2),
        st.sampled_from([None, "1", "2"]),
    )
    count = draw(st.integers(2, 7))
    return [
        run_event(
            draw(st.sampled_from(["START", "COMPLETE"])),
            run=draw(st.integers(1, 3)),
            job=draw(st.sampled_from(["load", "check"])),
            minutes=minutes,
            inputs=draw(st.lists(used, max_size=2)),
            outputs=draw(st.lists(used, max_size=2)),
        )
        for minutes in range(count)
    ]


@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.generate],  # shrinking would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(histories(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_whatever_order_names_become_known_in_the_lineage_is_the_same(
    engine: Engine, events: Any, order: Any, cut: Any
) -> None:
    wipe(engine)
    ingest_valid(engine, *events)
    orderly = contents(engine)
    wipe(engine)
    shuffled = [*events, *events[:2]]
    order.shuffle(shuffled)
    for begin in range(0, len(shuffled), cut):
        ingest_valid(engine, *shuffled[begin : begin + cut])
    found = contents(engine)
    for part in found:
        assert found[part] == orderly[part], part


def test_events_never_merge_two_datasets_with_headrace_keys(engine: Engine) -> None:
    register(engine, [DatasetRecord("raw/a", "parquet"), DatasetRecord("raw/b", "parquet")])
    own = "headrace://default"
    other = facet(identifiers=[{"namespace": own, "name": "raw/b", "type": "TABLE"}])
    ingest_valid(engine, dataset_event(dataset("raw/a", own, symlinks=other)))
    assert located(engine, "raw/a", own) != located(engine, "raw/b", own)


def test_a_headrace_dataset_absorbs_names_reported_as_it(engine: Engine) -> None:
    register(engine, [DatasetRecord("raw/a", "parquet", description="ours")])
    ingest_valid(engine, run_event(outputs=["a"]))
    own = facet(identifiers=[{"namespace": "headrace://default", "name": "raw/a", "type": "TABLE"}])
    ingest_valid(
        engine, run_event(run=2, job="read", inputs=[dataset("a", symlinks=own)], outputs=["b"], minutes=1)
    )
    assert key_of(engine, "a") == "raw/a"
    assert edges(engine) == {("raw/a", "db#b")}
    assert queries.dataset(engine, "raw/a").description == "ours"


def test_a_renamed_dataset_keeps_its_history(engine: Engine) -> None:
    ingest_valid(engine, run_event(inputs=["x"], outputs=["a"]))
    change = facet(lifecycleStateChange="RENAME", previousIdentifier={"namespace": "db", "name": "a"})
    ingest_valid(
        engine, run_event(run=2, job="ddl", outputs=[dataset("z", lifecycleStateChange=change)], minutes=1)
    )
    assert key_of(engine, "a") == "db#z"
    assert edges(engine) == {("db#x", "db#z")}
    assert len(queries.versions(engine, "db#z")) == 1


@pytest.mark.parametrize("rest", ["", "/partition=2026-03-01", "/partition=2026-03-01/rows=accepted"])
def test_the_path_of_a_headrace_version_is_its_dataset(engine: Engine, rest: Any) -> None:
    register(engine, [DatasetRecord("flights/planes", "parquet", partitions="daily")])
    root = configuration.settings().warehouse_uri.removeprefix("file://")
    path = dataset(f"{root}/flights/planes/{TAG}{rest}", "file")
    ingest_valid(engine, run_event(job="spark", inputs=[path], outputs=["report"]))
    assert edges(engine) == {("flights/planes", "db#report")}
    (used,) = [each for each in facets_of(engine, 1).datasets if each.role == "INPUT"]
    assert (used.key, used.version, used.partition) == ("flights/planes", TAG, "2026-03-01" if rest else None)
    assert located(engine, path["name"], "file") == queries.dataset(engine, "flights/planes").dataset_id
    assert not any(TAG in name for name in (row[1] for row in contents(engine)["names"]))


def test_a_version_with_an_internal_input_has_it_in_any_order(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.catalog.records import VersionDraft
    from tests.platform.conftest import COLUMNS

    register(engine, [DatasetRecord("flights/planes", "parquet")])
    root = configuration.settings().warehouse_uri
    draft = VersionDraft(
        "flights/planes",
        None,
        TAG,
        f"{root}/flights/planes/{TAG}",
        "parquet",
        COLUMNS,
        1,
        1,
        1,
        "x",
        "key",
        0,
    )
    (published,) = publish(engine, None, [draft])
    path = dataset(f"{root.removeprefix('file://')}/flights/planes/{TAG}", "file")
    ingest_valid(engine, run_event(job="spark", inputs=[path], outputs=["report"]))
    (version,) = queries.versions(engine, "db#report")
    detail = queries.version(engine, "db#report", version.version.tag)
    assert [each.version_id for each in detail.inputs] == [published.version.version_id]


def test_the_files_of_other_warehouses_are_their_own_datasets(engine: Engine) -> None:
    ingest_valid(
        engine, run_event(inputs=[dataset(f"/elsewhere/flights/planes/{TAG}", "file")], outputs=["b"])
    )
    assert edges(engine) == {(f"file#/elsewhere/flights/planes/{TAG}", "db#b")}


def test_people_give_aliases_merge_and_rename_and_a_rebuild_keeps_that(engine: Engine) -> None:
    register(engine, [DatasetRecord("flights/planes", "parquet")])
    ingest_valid(
        engine,
        run_event(inputs=[dataset("AIR.PLANES", "db2://prod")], outputs=["/landing"]),
        run_event(run=2, job="b", inputs=["/landing"], outputs=["c"], minutes=1),
    )
    organisation = current_context().organisation_id
    renaming.alias(engine, organisation, "db#c", "dataset#of-c", **WHY)
    renaming.merge(engine, organisation, "db#/landing", "flights/planes", **WHY)
    renaming.rename(engine, organisation, "db2://prod#AIR.PLANES", "legacy/planes", **WHY)
    assert edges(engine) == {("legacy/planes", "flights/planes"), ("flights/planes", "db#c")}
    before = contents(engine)
    rebuild(engine)
    after = contents(engine)
    for part in before:
        assert after[part] == before[part], part
    ingest_valid(
        engine, run_event(run=3, job="d", inputs=[dataset("of-c", "dataset")], outputs=["e"], minutes=2)
    )
    assert ("db#c", "db#e") in edges(engine)
    found = queries.lineage(engine, "db#e", Direction.UP, depth=5)
    assert "legacy/planes" in {node.key for node in found.nodes}


def test_names_that_cannot_be_given_are_refused(engine: Engine) -> None:
    register(engine, [DatasetRecord("flights/planes", "parquet", declared_at="assets/flights/defs.yaml:3")])
    ingest_valid(engine, run_event(inputs=["a"], outputs=["b"]))
    organisation = current_context().organisation_id
    with pytest.raises(UnknownDataset):
        renaming.alias(engine, organisation, "db#nowhere", "db#x", **WHY)
    with pytest.raises(renaming.RenameRefused, match="is already a dataset"):
        renaming.alias(engine, organisation, "db#a", "db#b", **WHY)
    with pytest.raises(renaming.RenameRefused, match="are one dataset already"):
        renaming.merge(engine, organisation, "db#a", "db#a", **WHY)
    with pytest.raises(renaming.RenameRefused, match="is another dataset"):
        renaming.rename(engine, organisation, "db#a", "db#b", **WHY)
    with pytest.raises(renaming.RenameRefused, match=r"is declared at assets/flights/defs.yaml:3"):
        renaming.rename(engine, organisation, "flights/planes", "flights/aircraft", **WHY)


def test_a_declared_dataset_becomes_part_of_the_one_it_is_called_now(engine: Engine, draft: Any) -> None:
    register(engine, [DatasetRecord("mart/old", "parquet"), DatasetRecord("mart/new", "parquet")])
    publish(engine, None, [draft("mart/old", tag="v1")])
    publish(engine, None, [draft("mart/new", tag="v2")])
    former = queries.dataset(engine, "mart/old").dataset_id
    renaming.merge(engine, current_context().organisation_id, "mart/old", "mart/new", **WHY)
    found = queries.versions(engine, "mart/new")
    assert [(each.version.tag, each.published) for each in found] == [("v2", True), ("v1", False)]
    assert (
        asking.locate_id(engine, current_context().organisation_id, former)
        == queries.dataset(engine, "mart/new").dataset_id
    )


@pytest.mark.parametrize(
    ("name", "of", "directory"),
    [
        ("credit-out/v20250908", "credit-out", "v20250908"),
        ("/landing/trades/2025-09-08/", "/landing/trades", "2025-09-08"),
        ("lake/trades/dt=2025-09-08", "lake/trades", "dt=2025-09-08"),
        ("lake/trades/20250908T0100", "lake/trades", "20250908T0100"),
        ("lake/trades/year=2025/month=09/day=08", "lake/trades", "year=2025/month=09/day=08"),
        ("lake/trades/20251308", None, None),  # no date
        ("lake/trades/12345678", None, None),
        ("lake/trades_20250908", None, None),
        ("lake/20250908/trades.csv", None, None),
        ("20250908", None, None),
        ("s3://bucket/20250908", None, None),  # a bucket is no dataset
    ],
)
def test_a_path_that_ends_with_a_date_is_a_version_of_the_dataset_above(
    monkeypatch: pytest.MonkeyPatch, name: str, of: str | None, directory: str | None
) -> None:
    found = place(Name("s3://bucket", name), "headrace://default")
    assert found == Place(Name("s3://bucket", of or name), directory=directory or "")
    monkeypatch.setenv("HEADRACE_DATED_DIRECTORIES", "false")
    configuration.settings.cache_clear()
    assert place(Name("s3://bucket", name), "headrace://default") == Place(Name("s3://bucket", name))
    monkeypatch.undo()
    configuration.settings.cache_clear()
