"""A run id means one run in each organisation, even if others have used it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from headrace.access import grants
from headrace.catalog.records import DatasetRecord, ProcessRecord, RunState, Technology
from headrace.context import act_as, organisation_named
from headrace.database.connection import transaction
from headrace.openlineage.ingestion import ingest
from headrace.openlineage.model import Outcome, Result
from headrace.publishing.runs import attempt
from headrace.registration.declarations import register
from headrace.retention.rebuild import rebuild
from headrace.retention.run_reports import why
from tests.platform.access.conftest import principal_of
from tests.platform.openlineage.events import run_event, uuid

ORGANISATIONS = ("default", "acme")
RUN = UUID(uuid(1))


@pytest.fixture
def two(engine: Engine) -> Engine:
    grants.add_organisation(engine, "acme", by="test")
    return engine


def report(engine: Engine, organisation: str, kind: str = "COMPLETE", run: object = 1) -> list[Outcome]:
    event = run_event(kind, run=run, job="nightly", outputs=[f"{organisation}.out"])
    return ingest(engine, organisation_named(organisation), [event])


def seen(engine: Engine, organisation: str, run: UUID = RUN) -> tuple[RunState, list[str]]:
    with act_as(principal_of(organisation)):
        (found,) = why(engine, run)
    return found.state, [output.version.dataset for output in found.outputs]


@pytest.mark.parametrize("order", [ORGANISATIONS, ORGANISATIONS[::-1]])
def test_two_organisations_may_report_one_run_id(two: Engine, order: tuple[str, str]) -> None:
    for kind in ("START", "COMPLETE"):
        for organisation in order:
            assert [each.result for each in report(two, organisation, kind)] == [Result.STORED]
    for _ in range(2):
        for organisation in ORGANISATIONS:
            assert seen(two, organisation) == (RunState.SUCCESS, [f"db#{organisation}.out"])
        for organisation in ORGANISATIONS:
            rebuild(two, organisation_named(organisation))


def test_a_run_of_headrace_itself_does_not_keep_another_organisation_from_its_id(two: Engine) -> None:
    run_id = uuid4()
    delays = ProcessRecord("mart/delays", Technology.SPARK, outputs=("mart/delays",))
    register(two, [DatasetRecord("mart/delays", "parquet")], [delays])
    with attempt(two, run_id=run_id, process_key="mart/delays"):
        pass
    event = run_event("COMPLETE", job="nightly", outputs=["acme.out"])
    event["run"]["runId"] = str(run_id)
    ingest(two, organisation_named("acme"), [event])
    assert seen(two, "acme", run_id) == (RunState.SUCCESS, ["db#acme.out"])
    with act_as(principal_of("default")):
        (own,) = why(two, run_id)
    assert own.process_key == "mart/delays"


def test_two_organisations_that_report_one_id_at_one_moment_lose_nothing(two: Engine) -> None:
    with ThreadPoolExecutor(2) as pool:
        for run in range(30):
            both = [pool.submit(report, two, organisation, "COMPLETE", run) for organisation in ORGANISATIONS]
            assert [[each.result for each in one.result()] for one in both] == [[Result.STORED]] * 2
    for run in range(30):
        for organisation in ORGANISATIONS:
            assert seen(two, organisation, UUID(uuid(run)))[0] is RunState.SUCCESS
    with transaction(two) as cursor:
        row = cursor.execute(
            "SELECT count(*), count(DISTINCT run_id) AS ids FROM catalog.process_run"
        ).fetchone()
    assert row is not None
    assert (row["count"], row["ids"]) == (60, 60)
