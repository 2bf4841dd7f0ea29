"""Runs started by the completion of external processes, as seen by Dagster's own sensor daemon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import dagster as dg
import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Column, RunState, Technology, VersionDraft
from headrace.catalog.run_events import Ending, RunEvent
from headrace.declarations.loading.project import load, records
from headrace.estates.estates import scan
from headrace.job_reports.ingestion import ingest
from headrace.orchestration.sensors.process_triggers import process_trigger_sensor
from headrace.publishing.publication import generations, publish
from headrace.registration.declarations import register
from tests.platform.projects import write_project

INPUTS = """
type: headrace.ExternalDataset
attributes:
  key: shop/raw
  partitions: {type: daily, start: "2013-01-01", end: "2014-01-01"}
---
type: headrace.ExternalDataset
attributes:
  key: shop/rates
---
"""
DATASET = """
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT raw.id FROM raw
  partitions: {type: daily, start: "2013-01-01", end: "2014-01-01"}
"""
WHOLE = """
type: headrace.Dataset
attributes:
  key: shop/sales
  sql: SELECT rates.id FROM rates
"""
AT = datetime(2013, 3, 2, 4, 15, tzinfo=UTC)
_RUNS = count(1000)


def ended(process: str, partition: str | None = None, **changes: Any) -> RunEvent:
    run = str(next(_RUNS))
    event = {
        "technology": Technology.AUTOSYS,
        "process": process,
        "state": RunState.SUCCESS,
        "status": "SUCCESS",
        "at": AT,
        "key": f"{process}/{run}/{changes.get('source', '')}",
        "run": run,
        "ending": Ending.GENUINE,
        "partition": partition,
        **{name: value for name, value in changes.items() if name != "source"},
    }
    return RunEvent(**event)


@dataclass
class Watched:
    """A project whose sensor is evaluated as Dagster does, its cursor kept from one look to the next."""

    engine: Engine
    sensor: dg.SensorDefinition
    repository: dg.RepositoryDefinition
    instance: dg.DagsterInstance
    cursor: str | None = None
    message: list[str] = field(default_factory=list)

    def look(self, *events: RunEvent) -> list[dg.RunRequest]:
        if events:
            ingest(self.engine, events)
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.repository
        )
        found = self.sensor.evaluate_tick(context)
        self.cursor = found.cursor
        self.message.append(found.skip_message or "")
        return list(found.run_requests or [])

    def days(self, *events: RunEvent) -> list[str | None]:
        return [request.partition_key for request in self.look(*events)]


Watch = Callable[..., Watched]


@pytest.fixture
def watch(engine: Engine, tmp_path: Path) -> Iterator[Watch]:
    with dg.DagsterInstance.ephemeral() as instance:

        def watched(trigger: str, dataset: str = DATASET) -> Watched:
            root = write_project(tmp_path, "shop", f"{INPUTS}{dataset}  trigger: {trigger}\n")
            loaded = load(root)
            assert not loaded.problems, "\n".join(map(str, loaded.problems))
            register(engine, *records(loaded.plans))
            sensor = process_trigger_sensor(loaded.plans)
            resources = {"spark": dg.ResourceDefinition.none_resource()}
            definitions = dg.Definitions.merge(
                loaded.definitions, dg.Definitions(resources=resources, sensors=[sensor])
            )
            return Watched(engine, sensor, definitions.get_repository_def(), instance)

        yield watched


def put(engine: Engine, dataset: str, partition: str | None, tag: str = "t1", *inputs: UUID) -> UUID:
    draft = VersionDraft(
        dataset=dataset,
        partition=partition,
        tag=tag,
        inputs=inputs,
        location="file:///nowhere",
        format="parquet",
        columns=(Column("id", "bigint"),),
        row_count=1,
        byte_size=1,
        file_count=1,
        checksum="00",
        idempotency_key=f"{dataset}/{partition}/{tag}",
        expected_generation=generations(engine, [(dataset, partition)])[dataset, partition],
    )
    [published] = publish(engine, None, [draft])
    return published.version.version_id


def test_one_completion_starts_one_run_for_its_day(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    event = ended("LOAD", "2013-03-01")
    [request] = watched.look(event)
    assert request.partition_key == "2013-03-01"
    assert request.asset_selection == [dg.AssetKey(["shop", "sales"])]
    assert request.run_key == f"shop/sales|2013-03-01|AUTOSYS//LOAD/{event.run}"
    assert watched.look(event) == []


def test_a_run_reported_by_two_sources_starts_one(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    wrapper = ended("LOAD", "2013-03-01", run="7", source="wrapper")
    log = ended("LOAD", None, run="7", source="log")
    assert watched.days(wrapper) == ["2013-03-01"]
    assert watched.days(log) == []


def test_the_start_may_state_the_day(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    started = ended("LOAD", "2013-03-01", run="7", source="start", state=RunState.RUNNING, ending=None)
    assert watched.days(started) == []
    assert watched.days(ended("LOAD", None, run="7", source="log")) == ["2013-03-01"]


def test_without_a_date_it_is_the_day_before_the_start(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    late = ended("LOAD", started_at=AT - timedelta(hours=5), at=AT)
    assert watched.days(late) == ["2013-02-28"]


def test_waiting_in_a_box_is_no_start(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    steps = [
        (RunState.QUEUED, timedelta(hours=7)),
        (RunState.RUNNING, timedelta(hours=1)),
    ]
    for state, before in steps:
        waiting = ended("LOAD", run="7", source=state, state=state, ending=None, at=AT - before)
        assert watched.look(waiting) == []
    assert watched.days(ended("LOAD", run="7")) == ["2013-03-01"]


@pytest.mark.parametrize(
    "changes",
    [
        {"historical": True},
        {"ending": Ending.FORCED, "attempt": 0},
        {"ending": Ending.BYPASSED, "state": RunState.SKIPPED},
        {"state": RunState.FAILED},
        {"process": "ANOTHER"},
    ],
    ids=["historical", "forced", "bypassed", "failed", "another"],
)
def test_what_starts_nothing(watch: Watch, changes: dict[str, object]) -> None:
    watched = watch("{process: LOAD}")
    process = str(changes.pop("process", "LOAD"))
    assert watched.look(ended(process, "2013-03-01", **changes)) == []
    assert watched.days(ended("LOAD", "2013-03-02")) == ["2013-03-02"]


def test_history_reported_again_live_starts_its_run(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    assert watched.look(ended("LOAD", "2013-03-01", run="7", historical=True)) == []
    assert watched.days(ended("LOAD", "2013-03-01", run="7")) == ["2013-03-01"]


def test_a_day_outside_of_the_partitions_is_skipped_with_the_reason(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    assert watched.look(ended("LOAD", "2014-01-01", run="7")) == []
    assert (
        "AUTOSYS//LOAD/7 does not start shop/sales: 2014-01-01 is in none of its partitions"
        in watched.message[-1]
    )
    assert watched.look() == []
    assert "2014-01-01" not in watched.message[-1]


def test_a_scheduler_and_a_key_can_be_named(watch: Watch) -> None:
    watched = watch("{process: AUTOSYS/PRD/LOAD, instance: PRD}")
    assert watched.look(ended("LOAD", "2013-03-01", instance="UAT"), ended("LOAD", "2013-03-01")) == []
    assert watched.days(ended("LOAD", "2013-03-01", instance="PRD")) == ["2013-03-01"]


def test_all_processes_of_the_same_day_start_one_run(watch: Watch) -> None:
    names = [f"LOAD_{number}" for number in range(10)]
    watched = watch(f"{{process: [{', '.join(names)}]}}")
    assert watched.look(*[ended(name, "2013-03-01") for name in names[1:]]) == []
    assert watched.look(ended(names[0], "2013-03-02")) == []
    assert watched.days(ended(names[0], "2013-03-01")) == ["2013-03-01"]
    assert watched.look() == []


def test_all_processes_at_once_start_one_run(watch: Watch) -> None:
    watched = watch("{process: [A, B, C]}")
    assert watched.days(*[ended(name, "2013-03-01") for name in "CAB"]) == ["2013-03-01"]


def test_an_unpartitioned_dataset_waits_for_a_new_completion_of_each_process(watch: Watch) -> None:
    watched = watch("{process: [A, B]}", WHOLE)
    assert watched.days(ended("A"), ended("A"), ended("B")) == [None]
    assert watched.days(ended("B")) == []
    assert watched.days(ended("A")) == [None]


def test_hybrid_waits_for_process_and_inputs_of_the_day(watch: Watch) -> None:
    watched = watch("{process: LOAD, when: all_inputs}")
    assert watched.look(ended("LOAD", "2013-03-01")) == []
    assert "waiting for inputs: shop/sales 2013-03-01" in watched.message[-1]
    put(watched.engine, "shop/raw", "2013-03-02")
    assert watched.look() == []
    put(watched.engine, "shop/raw", "2013-03-01")
    assert watched.days() == ["2013-03-01"]
    assert watched.look() == []
    assert watched.days(ended("LOAD", "2013-03-02")) == ["2013-03-02"]


def test_hybrid_waits_once_for_a_day_that_is_loaded_twice(watch: Watch) -> None:
    watched = watch("{process: LOAD, when: all_inputs}")
    assert watched.look(ended("LOAD", "2013-03-01"), ended("LOAD", "2013-03-01")) == []
    put(watched.engine, "shop/raw", "2013-03-01")
    assert watched.days() == ["2013-03-01"]


def test_hybrid_of_what_is_not_partitioned(watch: Watch) -> None:
    watched = watch("{process: LOAD, when: all_inputs}", WHOLE)
    assert watched.look(ended("LOAD")) == []
    put(watched.engine, "shop/rates", None)
    assert watched.days() == [None]


def test_hybrid_of_what_is_not_partitioned_waits_for_new_input(watch: Watch) -> None:
    watched = watch("{process: LOAD, when: all_inputs}", WHOLE)
    put(watched.engine, "shop/rates", None)
    assert watched.days(ended("LOAD")) == [None]
    assert watched.days(ended("LOAD")) == []
    assert "waiting for inputs: shop/sales" in watched.message[-1]
    put(watched.engine, "shop/rates", None, "t2")
    assert watched.days() == [None]
    assert watched.days(ended("LOAD")) == []


def test_input_that_a_run_of_another_origin_read_is_not_new(watch: Watch) -> None:
    watched = watch("{process: LOAD, when: all_inputs}", WHOLE)
    rates = put(watched.engine, "shop/rates", None)
    put(watched.engine, "shop/sales", None, "t1", rates)
    assert watched.days(ended("LOAD")) == []
    put(watched.engine, "shop/rates", None, "t2")
    assert watched.days() == [None]


def test_more_than_a_tick_starts_are_started_by_the_next(watch: Watch) -> None:
    watched = watch("{process: LOAD}")
    days = [f"2013-{month:02}-{day:02}" for month in range(1, 11) for day in range(1, 29)]
    ingest(watched.engine, [ended("LOAD", day) for day in days])
    found: list[str | None] = []
    ticks: list[Sequence[str | None]] = []
    while not ticks or ticks[-1]:
        ticks.append(watched.days())
        found += ticks[-1]
    assert sorted(filter(None, found)) == days
    assert len(ticks) > 2


def test_the_cursor_moves_where_no_trigger_is_declared(watch: Watch) -> None:
    before = watch("missing")
    assert before.look(ended("LOAD", "2013-03-01")) == []
    after = watch("{process: LOAD}")
    after.cursor = before.cursor
    assert after.days(ended("LOAD", "2013-03-02")) == ["2013-03-02"]


SCANNED = "- name: LOAD\n  technology: run_management\n"


def test_a_bare_name_means_the_technology_for_which_it_is_scanned(
    watch: Watch, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "processes.yaml").write_text(SCANNED)
    scan(engine, [tmp_path / "processes.yaml"])
    watched = watch("{process: LOAD}")
    of_autosys, of_run_management = (
        ended("LOAD", "2013-03-01", technology=technology)
        for technology in (Technology.AUTOSYS, Technology.RUNMGR)
    )
    [request] = watched.look(of_autosys, of_run_management)
    assert request.run_key == f"shop/sales|2013-03-01|RUNMGR//LOAD/{of_run_management.run}"


def test_a_key_means_its_technology(watch: Watch, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "processes.yaml").write_text(SCANNED)
    scan(engine, [tmp_path / "processes.yaml"])
    watched = watch("{process: AUTOSYS/LOAD}")
    assert watched.look(ended("LOAD", "2013-03-01", technology=Technology.RUNMGR)) == []
    assert watched.days(ended("LOAD", "2013-03-01")) == ["2013-03-01"]


def test_an_unknown_process_is_a_warning_once(watch: Watch, capfd: pytest.CaptureFixture[str]) -> None:
    watched = watch("{process: LAOD}")
    for _ in range(2):
        watched.look()
    assert capfd.readouterr().err.count("shop/sales waits for LAOD, which no scan") == 1
