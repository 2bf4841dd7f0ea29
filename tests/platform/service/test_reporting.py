"""Events over HTTP: single, in batches, compressed, in the adapters' form, and by OpenLineage's own client."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from fastapi import FastAPI
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import schema_dataset
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token, issue_task_token
from headrace.context import Principal, current_context, set_principal
from headrace.database.connection import transaction
from headrace.http.coalescing import EventQueues
from headrace.openlineage.model import Outcome, Result
from headrace.settings import settings
from tests.paths import WAIT_SECONDS
from tests.platform.service.conftest import Ask, run_event
from tests.platform.service.serving import served


def count(engine: Engine, table: str) -> int:
    with transaction(engine) as cursor:
        row = cursor.execute(f"SELECT count(*) AS rows FROM catalog.{table}").fetchone()  # noqa: S608
    return int((row or {})["rows"])


def test_takes_an_event_once(reporter: TestClient, catalog: Engine) -> None:
    event = run_event()
    first = reporter.post("/api/v1/lineage", json=event)
    assert first.status_code == 200, first.text
    assert first.json() == {"result": "STORED", "run_id": event["run"]["runId"]}
    again = reporter.post("/api/v1/lineage", json=event)
    assert (again.status_code, again.json()["result"]) == (200, "REPEATED")
    run = reporter.get(f"/api/v1/run/{event['run']['runId']}").json()
    assert run["run"]["state"] == "SUCCESS"
    found = reporter.get("/api/v1/dataset/named", params={"namespace": "db", "name": "out"})
    assert found.status_code == 200, found.text


def test_takes_what_is_packed(reporter: TestClient) -> None:
    packed = gzip.compress(json.dumps(run_event()).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    assert reporter.post("/api/v1/lineage", content=packed, headers=headers).json()["result"] == "STORED"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"run": {"runId": ""}}, "body.run.runId"),
        ({"eventTime": "yesterday"}, "body.eventTime"),
        ({"eventTime": "2999-01-01T00:00:00Z"}, "body.eventTime"),
        ({"eventType": "WHAT"}, "body.eventType"),
        ({"job": {"namespace": "etl", "name": "a\x00b"}}, "body.job.name"),
        ({"inputs": [{"namespace": "db"}]}, "body.inputs[0].name"),
        ({"inputs": {}}, "body.inputs"),
        ({"schemaURL": "https://openlineage.io/spec/9-0-0/OpenLineage.json"}, "body.schemaURL"),
        ({"eventTime": "0001-01-01T00:00:00Z"}, "body.eventTime"),
        ({"eventTime": 5}, "body.eventTime"),
        ({"job": {"namespace": "etl", "name": "a\ud800b"}}, "body.job.name"),
        ({"job": {"namespace": "etl", "name": "load", "facets": {"x": 5}}}, "body.job.facets.x"),
        ({"inputs": [{"namespace": "db", "name": "n" * 2000}]}, "body.inputs[0].name"),
        ({"outputs": [{"namespace": "db", "name": str(n)} for n in range(5001)]}, "body.outputs"),
        (
            {
                role: [{"namespace": "db", "name": f"{role}{n}"} for n in range(300)]
                for role in ("inputs", "outputs")
            },
            "body.outputs",
        ),
    ],
)
def test_names_the_field_that_is_wrong(reporter: TestClient, change: dict, field: str) -> None:
    body = json.dumps(run_event() | change)  # which writes half of a surrogate pair as \\ud800
    answer = reporter.post("/api/v1/lineage", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


def test_takes_many_pairs_that_a_facet_explains(reporter: TestClient) -> None:
    names = {
        role: [{"namespace": "db", "name": f"{role}{n}"} for n in range(300)]
        for role in ("inputs", "outputs")
    }
    entries = [
        {"type": "DATASET", **output, "inputs": [{"type": "DATASET", **source}]}
        for source, output in zip(names["inputs"], names["outputs"], strict=True)
    ]
    lineage = {
        "_producer": "https://example.com/producer",
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/LineageFacet.json",
        "entries": entries,
    }
    job = {"namespace": "etl", "name": "load", "facets": {"lineage": lineage}}
    answer = reporter.post("/api/v1/lineage", json=run_event() | names | {"job": job})
    assert answer.status_code == 200, answer.text


def test_loads_history(reporter: TestClient, catalog: Engine) -> None:
    event = run_event()
    for path, body in (
        ("lineage", event),
        ("lineage/batch", [run_event()]),
        (
            "run_event",
            {key: event[key] for key in ("eventType", "eventTime", "job")} | {"run": {"runId": str(uuid4())}},
        ),
    ):
        answer = reporter.post(f"/api/v1/{path}", params={"historical": True}, json=body)
        assert answer.status_code == 200, answer.text
    assert reporter.get(f"/api/v1/run/{event['run']['runId']}").json()["run"]["historical"] is True
    with transaction(catalog) as cursor:
        kept = cursor.execute("SELECT historical FROM catalog.completion").fetchall()
    assert [row["historical"] for row in kept] == [True] * 3
    assert reporter.post("/api/v1/lineage", json=event).json()["result"] == "STORED"
    assert reporter.get(f"/api/v1/run/{event['run']['runId']}").json()["run"]["historical"] is False
    assert reporter.post("/api/v1/lineage", params={"historical": "perhaps"}, json=event).status_code == 422


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a": "\xe9"}', b'{"a": ' + b"9" * 6000 + b"}"])
def test_says_that_an_adapters_body_cannot_be_read(reporter: TestClient, body: bytes) -> None:
    answer = reporter.post("/api/v1/run_event", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"][0]["field"] == "body"


def test_stores_the_good_part_of_a_batch(reporter: TestClient, catalog: Engine) -> None:
    good = [run_event() for _ in range(3)]
    batch = [good[0], {"eventType": "START"}, good[1], "no event", good[2]]
    answer = reporter.post("/api/v1/lineage/batch", json=batch)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["status"] == "partial_success"
    assert body["summary"] == {
        "received": 5,
        "successful": 3,
        "failed": 2,
        "retriable": 0,
        "non_retriable": 2,
    }
    assert [each["index"] for each in body["failed_events"]] == [1, 3]
    assert all(each["reason"] for each in body["failed_events"])
    whole = reporter.post("/api/v1/lineage/batch", json=good).json()
    assert (whole["status"], whole["failed_events"]) == ("success", [])
    assert reporter.post("/api/v1/lineage/batch", json=[]).json()["summary"]["received"] == 0
    assert reporter.post("/api/v1/lineage/batch", json=good[0]).status_code == 422
    for event in good:
        assert reporter.get(f"/api/v1/run/{event['run']['runId']}").status_code == 200


@pytest.mark.parametrize("deep", [b'{"a":' * 2000 + b"1" + b"}" * 2000, b'{"a": ' + b"9" * 6000 + b"}"])
def test_stores_the_rest_of_a_batch_of_which_a_member_cannot_be_read(
    reporter: TestClient, deep: bytes
) -> None:
    good = [run_event(outputs=('a "quoted", [odd] \\',)), run_event()]
    texts = [json.dumps(good[0]).encode(), deep, b"5", json.dumps(good[1]).encode()]
    headers = {"Content-Type": "application/json"}
    body = b" [" + b" , ".join(texts) + b"]\n"
    answer = reporter.post("/api/v1/lineage/batch", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert [each["index"] for each in answer.json()["failed_events"]] == [1, 2]
    assert answer.json()["summary"]["successful"] == 2
    for event in good:
        assert reporter.get(f"/api/v1/run/{event['run']['runId']}").status_code == 200
    for broken in (body[:-2], body + b"x", body.replace(b" , ", b" ,, ", 1), b"{" + body + b"}"):
        refused = reporter.post("/api/v1/lineage/batch", content=broken, headers=headers)
        assert refused.status_code == 400, refused.text


def test_of_a_name_that_is_there_twice_the_last_counts(reporter: TestClient) -> None:
    event = run_event()
    body = json.dumps(event).replace('"eventType"', '"eventType": "FAIL", "eventType"')
    headers = {"Content-Type": "application/json"}
    assert reporter.post("/api/v1/lineage", content=body, headers=headers).json()["result"] == "STORED"
    assert reporter.post("/api/v1/lineage", json=event).json()["result"] == "REPEATED"


def test_keeps_a_run_to_itself(ask: Ask, app: FastAPI, catalog: Engine) -> None:
    run = uuid4()
    client = ask(Permission.REPORT)
    client.headers["Authorization"] = f"Bearer {issue_task_token(catalog, run, ['db#out'], by='test')}"
    assert client.post("/api/v1/lineage", json=run_event(run=str(run))).status_code == 200
    assert client.post("/api/v1/lineage", json=run_event()).status_code == 403
    stretched = run_event("RUNNING", run=str(run), outputs=("out", "more"))
    batch = client.post("/api/v1/lineage/batch", json=[stretched, run_event("OTHER", run=str(run))]).json()
    assert [each["index"] for each in batch["failed_events"]] == [0]


def test_what_was_changed_before_it_was_stored_is_a_warning(reporter: TestClient) -> None:
    event = {**run_event(), "eventTime": "2026-09-08T08:07:00"}
    warning = "eventTime 2026-09-08T08:07:00 has no time zone: read as UTC"
    assert reporter.post("/api/v1/lineage", json=event).json()["warnings"] == [warning]
    assert reporter.post("/api/v1/lineage/batch", json=[event]).json()["warnings"] == [f"[0] {warning}"]


def test_takes_the_adapters_form(reporter: TestClient, catalog: Engine) -> None:
    run = str(uuid4())
    event = {
        "eventType": "COMPLETE",
        "run": {"runId": run, "startTime": "2026-09-08T08:02:00Z", "endTime": "2026-09-08T08:07:00Z"},
        "job": {"namespace": "AUTOSYS", "name": "BOX/JobA"},
        "inputs": [{"namespace": "DB2", "name": "SCHEMA.TABLE_A", "facets": {"version": "2026-09-08T07:30"}}],
        "outputs": [
            {"namespace": "S3", "name": "credit-out", "facets": {"rows": 12345, "path": "s3://b/credit"}}
        ],
    }
    answer = reporter.post("/api/v1/run_event", json=event)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"result": "STORED", "run_id": run}
    assert reporter.post("/api/v1/run_event", json=event).json()["result"] == "REPEATED"
    reported = reporter.get(f"/api/v1/run/{run}").json()["run"]
    assert (reported["state"], reported["started_at"], reported["ended_at"]) == (
        "SUCCESS",
        "2026-09-08T08:02:00Z",
        "2026-09-08T08:07:00Z",
    )
    for wrong, field in (
        ({"run": {"runId": "1234"}}, "body.run.runId"),
        ({"run": {"runId": run}}, "body.run.endTime"),
        ({"job": {"namespace": "", "name": "x"}}, "body.job.namespace"),
        ({"eventType": "DONE"}, "body.eventType"),
    ):
        refused = reporter.post("/api/v1/run_event", json=event | wrong)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)


def test_stores_together_what_comes_together(catalog: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[object]] = []

    def slow(_: Engine, organisation: UUID, events: list[object]) -> list[Outcome]:
        assert organisation == current_context().organisation_id
        batches.append(list(events))
        time.sleep(0.05)
        if "poison" in events:
            raise ArithmeticError("poison")
        return [Outcome(index, Result.STORED, reason=str(event)) for index, event in enumerate(events)]

    monkeypatch.setattr("headrace.http.coalescing.store", slow)

    async def send() -> list[object]:
        set_principal(Principal(current_context().organisation_id, settings().organisation, "service:test"))
        queues = EventQueues(catalog)
        each = [queues.store([name]) for name in ("a", "b", "poison", "c")]  # type: ignore[list-item]
        return await asyncio.gather(*each, return_exceptions=True)

    a, b, poison, c = asyncio.run(send())
    assert [outcome[0].reason for outcome in (a, b, c)] == ["a", "b", "c"]
    assert isinstance(poison, ArithmeticError)
    assert batches == [["a", "b", "poison", "c"], ["a"], ["b"], ["poison"], ["c"]]


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    """The URL of a real server with the application."""
    with served(app) as address:
        yield address


def _events(run: str) -> list[RunEvent]:
    columns = [schema_dataset.SchemaDatasetFacetFields("id", "bigint")]
    return [
        RunEvent(
            eventType=state,
            eventTime=time,
            run=Run(runId=run),
            job=Job(namespace="etl", name="load"),
            producer="https://example.com/producer",
            inputs=[InputDataset(namespace="db", name="source")],
            outputs=[
                OutputDataset(
                    namespace="db",
                    name="target",
                    facets={"schema": schema_dataset.SchemaDatasetFacet(columns)},
                )
            ],
        )
        for state, time in (
            (RunState.COMPLETE, "2026-11-01T01:00:00Z"),
            (RunState.START, "2026-11-01T00:00:00Z"),
        )
    ]


@pytest.mark.parametrize(
    "transport",
    [
        {"type": "http"},
        {"type": "http", "compression": "gzip"},
        {"type": "async_http"},
        {"type": "async_http", "compression": "gzip", "max_concurrent_requests": 5},
        {"type": "composite", "transports": [{"type": "http"}, {"type": "async_http"}]},
    ],
    ids=lambda each: "-".join(map(str, each.values()))[:20],
)
def test_takes_what_openlineages_own_client_sends(
    address: str, catalog: Engine, reader: TestClient, transport: dict
) -> None:
    token = issue_service_token(catalog, "client", [Permission.REPORT], by="test")
    to = {"url": address, "auth": {"type": "api_key", "apiKey": token}}
    each = [one | to for one in transport.pop("transports", [])]
    config = transport | ({"transports": each} if each else to)
    client = OpenLineageClient(config={"transport": config})
    run = str(uuid4())
    for event in _events(run):
        client.emit(event)
    assert client.close(timeout=WAIT_SECONDS)
    reported = reader.get(f"/api/v1/run/{run}").json()["run"]
    assert (reported["state"], reported["started_at"]) == ("SUCCESS", "2026-11-01T00:00:00Z")
    target = reader.get("/api/v1/dataset/named", params={"namespace": "db", "name": "target"}).json()
    assert target["dataset"]["columns"][0]["name"] == "id"
    assert count(catalog, "run_event") == 2


def test_the_openlineage_client_gets_the_reason_of_a_refusal(address: str, catalog: Engine) -> None:
    token = issue_service_token(catalog, "client", [Permission.READ], by="test")
    to = {"type": "http", "url": address, "auth": {"type": "api_key", "apiKey": token}}
    client = OpenLineageClient(config={"transport": to})
    with pytest.raises(Exception, match="403"):
        client.emit(_events(str(uuid4()))[0])
