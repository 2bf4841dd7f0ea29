"""Policies on what other systems report, and on data that lands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import CheckStatus, DatasetRecord, RunState
from headrace.database.connection import transaction
from headrace.declarations.loading.project import load, records
from headrace.execution.plan import ExternalPlan
from headrace.job_reports.ingestion import ingest_each
from headrace.landed import observation
from headrace.landed.observation import Memory, observe
from headrace.policies import process
from headrace.policies.overview import overview
from headrace.policies.subjects import known_facts, subjects
from headrace.queries.versions import versions
from headrace.registration.declarations import register
from tests.platform.connections.databases import configured
from tests.platform.events.run_events import job_event, output
from tests.platform.projects import write_project

NOT_EMPTY: dict[str, Any] = {
    "name": "not_empty",
    "at": ["event", "publish"],
    "require": "!('rows' in version) || version.rows > 0",
    "message": "it has no rows",
    "comply": "Send it again.",
}
BY_ITS_SYSTEM: dict[str, Any] = {
    "name": "by_its_system",
    "at": ["event"],
    "applies": "dataset.domain == 'ledger'",
    "require": "run.technology == 'AUTOSYS' && run.system == 'P1' && run.process == 'LOAD' && run.status != ''",
    "outcome": "hold",
    "message": "another system reports it",
    "comply": "Report it from P1.",
}


@pytest.fixture
def project(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with configured(monkeypatch, tmp_path, 'name = "shop"\n'):
        yield tmp_path


def write(root: Path, name: str, *entries: Mapping[str, Any]) -> None:
    (root / "policies").mkdir(exist_ok=True)
    (root / "policies" / f"{name}.yaml").write_text(yaml.safe_dump(list(map(dict, entries))))


def exception(rule: str, *datasets: str) -> Mapping[str, Any]:
    return {"rule": rule, "datasets": datasets, "until": "9999-12-31", "approved_by": "ann", "reason": "r"}


def test_a_report_that_a_rule_denies_is_refused_and_the_others_are_stored(
    engine: Engine, project: Path
) -> None:
    write(project, "rules", NOT_EMPTY, BY_ITS_SYSTEM)
    events = [
        job_event("LOAD", RunState.SUCCESS, 1, "1", outputs=(output("ops/raw", row_count=5),)),
        job_event("LOAD", RunState.SUCCESS, 2, "2", outputs=(output("ops/raw", row_count=0),)),
        job_event("LOAD", RunState.SUCCESS, 3, "3", outputs=(output("ledger/book"),), instance="P2"),
        job_event("LOAD", RunState.SUCCESS, 4, "4", outputs=(output("ledger/book"),), instance="P1"),
        job_event("OTHER", RunState.FAILED, 5, "5"),
    ]
    ingested, refused = ingest_each(engine, events)
    assert ingested.new == 3
    assert [(event.run, reason) for event, reason in refused] == [
        ("2", "ops/raw: it has no rows (policy:not_empty). Send it again."),
        ("3", "ledger/book: another system reports it (policy:by_its_system). Report it from P1."),
    ]
    write(project, "exceptions", exception("by_its_system", "ledger/*"))
    ingested, refused = ingest_each(engine, events)
    assert ingested.new == 1
    assert [event.run for event, _ in refused] == ["2"]


def test_a_warning_or_a_rule_without_an_answer_refuses_no_report(
    engine: Engine, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(
        project,
        "rules",
        NOT_EMPTY | {"outcome": "warn"},
        NOT_EMPTY | {"name": "broken", "require": "nothing"},
    )
    event = job_event("LOAD", RunState.SUCCESS, outputs=(output("ops/raw", row_count=0),), origin="a.json:1")
    ingested, refused = ingest_each(engine, [event])
    assert (ingested.new, refused) == (1, [])
    assert "a.json:1: ops/raw: it has no rows (policy:not_empty)" in caplog.text
    assert "policy:broken: " in caplog.text


def test_rules_of_events_see_what_the_catalog_knows(engine: Engine, project: Path) -> None:
    register(engine, [DatasetRecord("ops/raw", "csv", "Raw.", ("team:ops",), {"tier": "1"})])
    seen = (
        "dataset.kind == 'dataset' && dataset.owners == ['team:ops'] && dataset.tags.tier == '1' "
        "&& dataset.description == 'Raw.' && version.rows == 3 && event == 'event'"
    )
    write(project, "rules", NOT_EMPTY | {"require": f"dataset.kind == 'unknown' || {seen}"})
    events = [
        job_event("LOAD", RunState.SUCCESS, 1, "1", outputs=(output("ops/raw", row_count=3),)),
        job_event("LOAD", RunState.SUCCESS, 2, "2", outputs=(output("ops/new"),)),
    ]
    assert ingest_each(engine, events)[1] == []
    # It is a draft now, of which nothing more is known.
    again = job_event("LOAD", RunState.SUCCESS, 3, "3", outputs=(output("ops/new"),))
    assert ingest_each(engine, [again])[1] == []


def test_landed_files_that_a_rule_denies_are_blocked_until_an_exception_allows_them(
    engine: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "landing.json").write_text('{"id": 1}\n')
    record = DatasetRecord("shop/feed", "json", tags={"max_rows": "0"})
    plan = ExternalPlan(record, None, (project / "landing.json").as_uri())
    few = "version.rows <= int(dataset.tags.max_rows) && dataset.kind == 'external'"
    write(project, "rules", NOT_EMPTY | {"name": "few", "require": few, "message": "it has too many rows"})
    memory: Memory = {}
    looked = observe(engine, [plan], memory=memory)
    assert looked.new == ()
    [problem] = looked.problems
    assert "it has too many rows" in problem
    assert observe(engine, [plan], memory=memory).problems == looked.problems
    [blocked] = versions(engine, "shop/feed")
    assert queries.published(engine, ["shop/feed"]) == []
    write(project, "exceptions", exception("few", "shop/feed"))
    assert observe(engine, [plan], memory=memory).new == ()  # not read again yet
    monkeypatch.setattr(observation, "SECONDS_REFUSED", 0.0)
    memory = {place: replace(each, until=0) for place, each in memory.items()}
    [published] = observe(engine, [plan], memory=memory).new
    assert published.tag != blocked.version.tag
    [allowed] = [
        each
        for each in queries.version(engine, "shop/feed", published.tag).checks
        if each.name == "policy:few"
    ]
    assert (allowed.status, allowed.detail["approved_by"]) == (CheckStatus.PASS, "ann")


DECLARED = """
type: headrace.ExternalDataset
attributes: {key: shop/feed, classification: restricted, owners: ["team:shop"], tags: {region: eu}}
---
type: headrace.Dataset
attributes:
  key: shop/orders
  description: A row is an order.
  owners: ["team:shop"]
  sql: SELECT id, day FROM feed
  output: {store: delta}
  schema: {columns: {id: {type: bigint, nullable: false, description: Its number, tags: [pii]}, day: string}}
  partitions: {type: daily, start: 2026-01-01, column: day}
  checks: [{unique: [id]}, {row_count: {min: 1}, severity: warning}]
  sla: {max_age: 1d}
---
type: headrace.Dataset
attributes:
  key: shop/totals
  sql: SELECT count(*) AS orders FROM orders
"""


def comparable(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts with checks in order, and whether there is an SLA: it is stored with its defaults."""
    return {
        **facts,
        "checks": sorted(facts["checks"], key=lambda each: str(each["name"])),
        "sla": bool(facts["sla"]),
    }


def test_the_catalog_has_the_facts_of_the_declarations(engine: Engine, project: Path) -> None:
    loaded = load(write_project(project, "shop", DECLARED))
    assert not loaded.problems
    register(engine, *records(loaded.plans))
    with transaction(engine) as cursor:
        known = known_facts(cursor, None)
    declared = subjects(loaded.plans, project)
    assert known.keys() == {each.key for each in declared}
    for each in declared:
        found = known[each.key]
        inputs = found.pop("inputs")
        assert sorted(inputs) == sorted(str(one["key"]) for one in each.inputs)
        assert comparable(found) == comparable(each.dataset)


def test_the_overview_counts_the_datasets_that_do_not_meet_a_rule(
    engine: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(engine, [DatasetRecord("shop/a", "csv"), DatasetRecord("shop/b", "csv", owners=("team:b",))])
    owner = NOT_EMPTY | {"name": "owned", "at": ["declaration"], "require": "size(dataset.owners) > 0"}
    write(project, "rules", owner, NOT_EMPTY)
    found = overview(engine)
    assert [(each.name, each.not_met) for each in found.rules] == [("owned", 1), ("not_empty", None)]
    assert [(each.dataset, each.outcome, each.exception) for each in found.decisions] == [
        ("shop/a", "deny", None)
    ]
    write(project, "exceptions", exception("owned", "shop/*"))
    found = overview(engine)
    assert [each.not_met for each in found.rules] == [0, None]
    assert [(each.outcome, each.exception and each.exception.approved_by) for each in found.decisions] == [
        ("allow", "ann")
    ]
    assert [each.is_expired for each in found.exceptions] == [False]
    write(project, "rules", {"name": "x"})
    assert "policies/rules.yaml:1" in overview(engine).problems[0]


def test_one_process_evaluates_rules_until_it_is_stopped() -> None:
    rule = {"applies": None, "require": "version.rows > 1"}
    subject = {"now": "2026-01-01T00:00:00+00:00", "version": {"rows": 2}}
    assert process.answers([rule], [subject], 30) == ([[True]], "")
    kept = process._kept
    assert process.answers([rule, rule], [subject, subject], 30) == ([[True, True], [True, True]], "")
    assert process._kept is kept
    assert kept is not None
    endless = "dataset.all(a, " * 4 + "a >= 0" + ")" * 4
    many = {**subject, "dataset": list(range(1000))}
    found, problem = process.answers([{**rule, "require": endless}], [many], 1)
    assert (found, problem) == ([], "it did not end within 1 seconds")
    assert kept.process.poll() is not None
    assert process.answers([rule], [subject], 30) == ([[True]], "")
