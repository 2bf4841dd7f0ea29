"""External assets of an estate: keys, deps, groups, collapsed boxes, and no cycles."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.catalog.records import Technology
from headrace.database import connection as database
from headrace.declarations.loading.known import NOTHING_KNOWN, CatalogContents, known
from headrace.declarations.loading.project import LoadedProject, load
from headrace.estate_assets.assets import EstateAssets, asset_key, estate_assets
from headrace.estates.estates import scan
from headrace.estates.rows import ConfirmedDataset, EstateProcess, EstateRows, ProcessName
from headrace.settings import settings
from tests.platform.projects import write_project

RAW = """
type: headrace.ExternalDataset
attributes: {key: ops/raw, format: csv, produced_by: [LOAD]}
---
type: headrace.Dataset
attributes: {key: ops/clean, sql: SELECT * FROM raw}
"""


def job(name: str, *waits: str, instance: str = "", **given: Any) -> EstateProcess:
    """A job that waits for others; `!X` is one that it must not overlap with."""
    fields = {name: given.pop(name, ()) for name in ("writes", "reads")}
    return EstateProcess(
        ident=ProcessName("AUTOSYS", instance, name),
        key=f"AUTOSYS/{name}",
        description=given.pop("description", None),
        owners=given.pop("owners", ()),
        lifecycle=given.pop("lifecycle", "ACTIVE"),
        metadata=given,
        place=None,
        waits_for=tuple(
            (ProcessName("AUTOSYS", instance, each.strip("!")), f"s({each})", not each.startswith("!"))
            for each in waits
        ),
        **fields,
    )


def assets(*jobs: EstateProcess, **given: Any) -> EstateAssets:
    return estate_assets(EstateRows(jobs), **given)


def deps(found: EstateAssets) -> dict[str, set[str]]:
    return {
        spec.key.to_user_string(): {dep.asset_key.to_user_string() for dep in spec.deps}
        for spec in found.specs
    }


def by_name(found: EstateAssets) -> Mapping[str, dg.AssetSpec]:
    return {spec.key.path[-1]: spec for spec in found.specs}


def parents(loaded: LoadedProject, key: str) -> list[str]:
    [spec] = [
        spec
        for spec in loaded.definitions.assets or ()
        if isinstance(spec, dg.AssetSpec) and spec.key.to_user_string() == key
    ]
    return [dep.asset_key.to_user_string() for dep in spec.deps]


def test_keys_of_processes() -> None:
    assert asset_key(Technology.AUTOSYS, "A.b#1") == dg.AssetKey(["autosys", "A.b#1"])
    assert asset_key(Technology.AUTOSYS, "A", "PRD") == dg.AssetKey(["autosys", "PRD", "A"])
    assert asset_key(Technology.DB2_SP, "S.P") == dg.AssetKey(["db2_sp", "S.P"])


def test_conditions_that_order_are_drawn_and_others_are_not() -> None:
    found = assets(job("A"), job("B", "A"), job("C", "B", "!A", "GONE"))
    assert deps(found) == {"autosys/A": set(), "autosys/B": {"autosys/A"}, "autosys/C": {"autosys/B"}}
    assert by_name(found)["C"].metadata["waits_for_unknown"] == "s(GONE)"


def test_a_box_comes_after_its_last_jobs_and_its_first_jobs_after_what_it_waits_for() -> None:
    found = assets(
        job("X"),
        job("BOX", "X", type="BOX"),
        job("A", box="BOX"),
        job("B", "A", box="BOX"),
        job("INNER", "A", box="BOX", type="BOX"),
        job("I", box="INNER"),
        job("Y", "BOX"),
    )
    assert deps(found) == {
        "autosys/X": set(),
        "autosys/A": {"autosys/X"},
        "autosys/B": {"autosys/A"},
        "autosys/I": {"autosys/A"},
        "autosys/INNER": {"autosys/I"},
        "autosys/BOX": {"autosys/B", "autosys/INNER"},
        "autosys/Y": {"autosys/BOX"},
    }


def test_groups_kinds_owners_tags_and_metadata() -> None:
    found = by_name(
        assets(
            job("BOX", type="BOX"),
            job("A", box="BOX", machine="m1", owners=("ops@unx", "ops@example.com"), schedule="at 04:00"),
            job("B", application="FX & rates"),
            job("E", box="F"),
            job("F", application="APP", type="BOX"),
            job("C", instance="PRD"),
            job("D", lifecycle="UNSCANNED"),
        )
    )
    assert {name: spec.group_name for name, spec in found.items()} == {
        "BOX": "BOX", "A": "BOX", "B": "FX_rates", "C": "PRD", "D": "autosys", "E": "APP", "F": "APP",
    }  # fmt: skip
    assert found["A"].owners == ["ops@example.com"]
    assert found["A"].kinds == {"autosys"}
    assert found["A"].metadata["owner"] == "ops@unx, ops@example.com"
    assert found["A"].metadata["schedule"] == "at 04:00"
    assert found["B"].tags["estate/application"] == "FX_rates"
    assert found["D"].description == "Known from run events, not from a scan."


def test_many_jobs_are_shown_as_boxes_and_those_with_datasets_as_themselves() -> None:
    found = assets(
        job("X", application="APP"),
        job("BOX", "X", type="BOX"),
        job("A", box="BOX"),
        job("LOAD", "A", box="BOX", writes=("ops/raw",)),
        job("B", "LOAD", box="BOX"),
        job("NEXT", "B", type="BOX"),
        job("N", box="NEXT"),
        collapse_above=3,
    )
    assert deps(found) == {
        "autosys/outside_boxes/APP": set(),
        "autosys/BOX": {"autosys/outside_boxes/APP", "autosys/LOAD"},
        "autosys/LOAD": set(),
        "autosys/NEXT": {"autosys/BOX"},
    }
    assert by_name(found)["BOX"].metadata["jobs"].value == ["A", "B", "BOX"]
    names = {ident.name: key.path[-1] for ident, key in found.asset_of.items()}
    assert names == {"BOX": "BOX", "LOAD": "LOAD", "NEXT": "NEXT"}
    shown = {ident.name: key.path[-1] for ident, key in found.shown_in.items()}
    assert shown == {**names, "X": "APP", "A": "BOX", "B": "BOX", "N": "NEXT"}
    assert found.producers == {"ops/raw": (dg.AssetKey(["autosys", "LOAD"]),)}


def test_a_circle_loses_an_edge_and_says_so() -> None:
    found = assets(job("A", "C"), job("B", "A"), job("C", "B"))
    assert sum(map(len, deps(found).values())) == 2
    assert sum("not_drawn" in spec.metadata for spec in found.specs) == 1


NAMES = [f"J{number}" for number in range(7)]
JOBS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES), max_size=3),
        st.none() | st.sampled_from(NAMES),
        st.lists(st.sampled_from(["d/a", "d/b", "d/c"]), max_size=1),
        st.lists(st.sampled_from(["d/a", "d/b", "d/c"]), max_size=1),
    ),
    min_size=7,
    max_size=7,
)


@settings_of_hypothesis(deadline=None)
@given(JOBS, st.sampled_from([0, 100]))
def test_dagster_takes_whatever_waits_for_whatever(drawn: list[Any], collapse_above: int) -> None:
    jobs = [
        job(name, *waits, box=box, writes=tuple(writes), reads=tuple(reads))
        for name, (waits, box, writes, reads) in zip(NAMES, drawn, strict=True)
    ]
    datasets = tuple(ConfirmedDataset(key, None, (), "csv", ("/x",)) for key in ("d/a", "d/b", "d/c"))
    found = estate_assets(EstateRows(tuple(jobs), datasets), collapse_above=collapse_above)
    graph = dg.Definitions(assets=found.specs).resolve_asset_graph()
    assert {key.path[-1] for key in graph.get_all_asset_keys()} >= {"a", "b", "c"}
    assert set(found.shown_in) == {one.ident for one in jobs}


TEXT = st.text(max_size=70)


@settings_of_hypothesis(deadline=None)
@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=70), TEXT, TEXT, TEXT),
        max_size=3,
        unique_by=lambda job: job[0],
    )
)
def test_dagster_takes_whatever_names_and_texts(drawn: list[tuple[str, str, str, str]]) -> None:
    jobs = [
        job(name, description=one, owners=(one, two), machine=two, application=three, box=one, type=two)
        for name, one, two, three in drawn
    ]
    for collapse_above in (0, 100):
        specs = assets(*jobs, collapse_above=collapse_above).specs
        dg.Definitions(assets=specs).get_repository_def()


def test_a_declaration_draws_its_job_before_any_scan(tmp_path: Path) -> None:
    loaded = load(write_project(tmp_path, "ops", RAW))
    assert loaded.problems == ()
    assert parents(loaded, "ops/raw") == ["autosys/LOAD"]
    assert loaded.estate.asset_of[ProcessName("AUTOSYS", "", "LOAD")] == dg.AssetKey(["autosys", "LOAD"])


def test_a_declaration_finds_its_job_in_the_catalog(engine: Engine, tmp_path: Path) -> None:
    jil = tmp_path / "a.jil"
    jil.write_text("insert_job: LOAD\nmachine: m1\nowner: ops@example.com\n")
    scan(engine, [jil], "PRD")
    loaded = load(write_project(tmp_path, "ops", RAW), known())
    assert parents(loaded, "ops/raw") == ["autosys/PRD/LOAD"]
    [load_spec] = loaded.estate.specs
    assert load_spec.metadata["declared_at"] == f"{jil}:1"
    assert load_spec.owners == ["ops@example.com"]


def test_an_asset_of_the_same_key_is_not_made_twice(tmp_path: Path) -> None:
    text = "type: headrace.ExternalDataset\nattributes: {key: autosys/LOAD, format: csv}\n"
    rows = EstateRows((job("LOAD"),))
    loaded = load(write_project(tmp_path, "autosys", text), CatalogContents(rows))
    assert len(list(loaded.definitions.assets or ())) == 1


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HEADRACE_DATABASE_URL", raising=False)
    settings.cache_clear()
    yield monkeypatch
    settings.cache_clear()
    database.disconnect()


def test_loading_starts_no_server(own_settings: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert known() == NOTHING_KNOWN
    assert not (tmp_path / "home").exists()


def test_a_catalog_that_does_not_answer_is_one_warning(
    own_settings: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own_settings.setenv("HEADRACE_DATABASE_URL", "postgresql://u@127.0.0.1:1/x")
    settings.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert known() == NOTHING_KNOWN
    [message] = caplog.messages
    assert message.startswith("Processes of other systems and datasets of other projects are not shown: ")
