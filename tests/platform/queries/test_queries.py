"""Queries of pages and the CLI."""

import json
from time import perf_counter
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.catalog.records import (
    CheckResult,
    CheckStatus,
    DatasetRecord,
    Outcome,
    ProcessRecord,
    RunState,
    Technology,
)
from headrace.errors import UnknownDataset, UnknownRun, UnknownVersion
from headrace.publishing.publication import publish
from headrace.publishing.runs import attempt
from headrace.queries import Direction
from headrace.registration.declarations import register
from headrace.retention.run_reports import why as explain_run


@pytest.fixture
def computed(catalog: Engine, draft: Any) -> Any:
    """One day of raw data, delays from it, a report from them; then a blocked attempt at the delays."""
    landed = publish(catalog, None, [draft("raw/flights", "d1", tag="landed")])[0].version
    run = uuid4()
    with attempt(
        catalog, run_id=run, process_key="mart/delays", root_dagster_run_id="da95-1", dagster_run_id="da95-1"
    ):
        checks = (CheckResult("delay_sane", CheckStatus.WARN, 1, {"expression": "x"}),)
        delays = publish(catalog, run, [draft(tag="delays", inputs=(landed.version_id,), checks=checks)])[
            0
        ].version
    with attempt(catalog, run_id=uuid4(), process_key="mart/report", root_dagster_run_id="da95-1"):
        publish(catalog, None, [draft("mart/report", tag="report", inputs=(delays.version_id,))])
    blocked = uuid4()
    with attempt(catalog, run_id=blocked, process_key="mart/delays", dagster_run_id="da96-2") as current:
        bad = (CheckResult("id_not_null", CheckStatus.FAIL, 9),)
        publish(catalog, blocked, [draft(tag="bad", generation=1, checks=bad)])
        current.end(RunState.BLOCKED, "failed check: id_not_null (9 rows)", "CHECK")
    return catalog, run, blocked


def test_status_distinguishes_published_and_latest_versions(computed: Any) -> None:
    engine, _, blocked = computed
    rows = {row.key: row for row in queries.status(engine)}
    delays = rows["mart/delays"]
    assert (delays.newest_tag, delays.latest_tag, delays.latest_outcome) == ("delays", "bad", Outcome.BLOCKED)
    assert (delays.warning, delays.failing) == (("delay_sane",), ("id_not_null",))
    assert (delays.last_run_id, delays.last_run_state) == (blocked, RunState.BLOCKED)
    assert (delays.partition_count, delays.sla) == (1, {"maximum_age": "25h"})
    assert queries.dataset(engine, "mart/delays").row_count == 10
    assert rows["raw/flights"].last_run_id is None
    assert [row.key for row in queries.status(engine, ["mart/report"])] == ["mart/report"]


def test_lineage_goes_both_ways_and_counts_what_it_does_not_show(computed: Any) -> None:
    engine = computed[0]
    up = queries.lineage(engine, "mart/report", Direction.UP, 1)
    assert [(node.key, node.depth, node.hidden) for node in up.nodes] == [
        ("mart/report", 0, 0),
        ("mart/delays", 1, 1),
    ]
    assert up.truncated
    down = queries.lineage(engine, "raw/flights", Direction.DOWN, 5)
    assert [node.key for node in down.nodes] == ["raw/flights", "mart/delays", "mart/report"]
    assert [(edge.source, edge.target, edge.process) for edge in down.edges] == [
        ("mart/delays", "mart/report", "mart/report"),
        ("raw/flights", "mart/delays", "mart/delays"),
    ]
    assert not down.truncated


def test_version_lineage_names_exact_versions(computed: Any) -> None:
    engine = computed[0]
    up = queries.version_lineage(engine, "mart/report", Direction.UP, 5)
    assert [(node.version.dataset, node.version.tag, node.version.partition) for node in up.nodes] == [
        ("mart/report", "report", None),
        ("mart/delays", "delays", None),
        ("raw/flights", "landed", "d1"),
    ]
    assert len(up.edges) == 2
    alone = queries.version_lineage(engine, "mart/delays", Direction.UP, 5, tag="bad")
    assert [node.version.tag for node in alone.nodes] == ["bad"]
    with pytest.raises(UnknownVersion):
        queries.version_lineage(engine, "mart/delays", tag="nope")


def test_a_cycle_ends_and_a_ladder_of_diamonds_is_quick(engine: Engine) -> None:
    layers = [[f"l{layer:02d}/{node}" for node in range(8)] for layer in range(30)]
    keys = [key for layer in layers for key in layer]
    processes = [
        ProcessRecord(key, Technology.SPARK, inputs=tuple(layers[(number - 1) % 30]), outputs=(key,))
        for number, layer in enumerate(layers)
        for key in layer
    ]
    register(engine, [DatasetRecord(key, "parquet") for key in keys], processes)
    began = perf_counter()
    walked = queries.lineage(engine, "l00/0", Direction.DOWN, 1000)
    assert perf_counter() - began < 2
    assert len(walked.nodes) == 240
    assert not walked.truncated
    capped = queries.lineage(engine, "l00/0", Direction.DOWN, 1000, max_nodes=50)
    assert len(capped.nodes) == 50
    assert capped.truncated


def test_why_by_run_by_dagster_run_and_by_prefix(computed: Any) -> None:
    engine, run, blocked = computed
    (report,) = explain_run(engine, str(blocked)[:13])
    assert (report.run_id, report.state) == (blocked, RunState.BLOCKED)
    assert report.attempts[0].reason == "failed check: id_not_null (9 rows)"
    (output,) = report.outputs
    assert (output.outcome, output.version.tag, output.checks[0].failed_rows) == (Outcome.BLOCKED, "bad", 9)
    reports = explain_run(engine, "da95-1")
    assert [each.process_key for each in reports] == ["mart/delays", "mart/report"]
    assert reports[0].run_id == run
    assert [(each.version.dataset, each.version.tag) for each in reports[0].inputs] == [
        ("raw/flights", "landed")
    ]
    assert explain_run(engine, "da96") == explain_run(engine, blocked)


@pytest.mark.parametrize(
    ("given", "message"), [("da9", "too short"), ("ffff0000", "no run"), ("zzzz", "no run")]
)
def test_why_of_nothing(computed: Any, given: Any, message: Any) -> None:
    with pytest.raises(UnknownRun, match=message):
        explain_run(computed[0], given)


def test_why_of_too_many_lists_them(catalog: Engine) -> None:
    for end in ("1", "2"):
        with attempt(catalog, run_id=uuid4(), process_key="mart/delays", dagster_run_id=f"dddd-{end}"):
            pass
    with pytest.raises(UnknownRun, match="dddd matches 2 runs: dddd-1, dddd-2"):
        explain_run(catalog, "dddd")


def test_datasets_come_in_pages(catalog: Engine) -> None:
    first = queries.datasets(catalog, limit=2)
    rest = queries.datasets(catalog, after=first.next, limit=2)  # type: ignore[arg-type]
    assert [row.key for row in first.rows + rest.rows] == ["mart/delays", "mart/report", "raw/flights"]
    assert (first.next, rest.next) == ("mart/report", None)
    assert [row.key for row in queries.datasets(catalog, "DELAYS").rows] == ["mart/delays"]
    assert [row.key for row in queries.datasets(catalog, "ops@").rows] == ["raw/flights"]
    assert [row.key for row in queries.datasets(catalog, "tier").rows] == ["mart/delays"]
    with pytest.raises(UnknownDataset):
        queries.dataset(catalog, "mart/none")


def test_versions_newest_first_with_their_fate(computed: Any) -> None:
    engine = computed[0]
    rows = queries.versions(engine, "mart/delays")
    assert [(row.version.tag, row.published, row.failing, row.warning) for row in rows] == [
        ("bad", False, ("id_not_null",), ()),
        ("delays", True, (), ("delay_sane",)),
    ]
    older = queries.versions(engine, "mart/delays", before=rows[0].version.created_at)
    assert [row.version.tag for row in older] == ["delays"]
    detail = queries.version(engine, "mart/delays")
    assert (detail.version.tag, detail.process_key, detail.used_by) == ("delays", "mart/delays", 1)
    assert [(ref.dataset, ref.tag) for ref in detail.inputs] == [("raw/flights", "landed")]
    with pytest.raises(UnknownVersion, match="raw/flights partition d2 has no published version"):
        queries.version(engine, "raw/flights", partition="d2")


def test_every_answer_has_a_json_form(computed: Any) -> None:
    engine, run, _ = computed
    answers = [
        queries.datasets(engine),
        queries.dataset(engine, "mart/delays"),
        queries.status(engine),
        queries.versions(engine, "mart/delays"),
        queries.version(engine, "mart/delays"),
        queries.published(engine, ["raw/flights", "mart/delays"]),
        queries.lineage(engine, "mart/delays"),
        queries.version_lineage(engine, "mart/delays"),
        explain_run(engine, run),
    ]
    for answer in answers:
        assert json.loads(json.dumps(queries.to_json(answer))) == queries.to_json(answer)
