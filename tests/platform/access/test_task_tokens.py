"""The token of a run at a real server: what it permits, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport
from sqlalchemy import Engine

from headrace.access.callers import Permission
from headrace.access.errors import AccessRefused
from headrace.access.grants import add_organisation
from headrace.access.tokens import issue_service_token, issue_task_token, renew_task_token
from headrace.context import act_as, current_context
from headrace.database.connection import transaction
from headrace.publishing.runs import attempt
from headrace.service.app import create_app
from tests.paths import WAIT_SECONDS
from tests.platform.access.conftest import principal_of
from tests.platform.service.serving import served

OWN = "headrace://default"


@pytest.fixture
def url(two: Engine) -> Iterator[str]:
    with served(create_app(two)) as address:
        yield address


def event(run_id: UUID, *outputs: str, parent: UUID | None = None) -> dict[str, Any]:
    facets = (
        {"parent": {"run": {"runId": str(parent)}, "job": {"namespace": "x", "name": "y"}}} if parent else {}
    )
    for facet in facets.values():
        facet |= {"_producer": "https://example.com", "_schemaURL": "https://example.com/1-0-0/x.json"}  # type: ignore[dict-item]
    return {
        "eventType": "RUNNING",
        "eventTime": "2026-11-28T12:00:00Z",
        "producer": "https://example.com/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(run_id), "facets": facets},
        "job": {"namespace": "spark", "name": "app"},
        "inputs": [],
        "outputs": [{"namespace": OWN, "name": name} for name in outputs],
    }


def post(url: str, token: str, body: object, path: str = "/api/v1/lineage") -> httpx.Response:
    return httpx.post(
        url + path, json=body, headers={"Authorization": f"Bearer {token}"}, timeout=WAIT_SECONDS
    )


def test_an_unmodified_client_reports_its_run_with_the_token(two: Engine, url: str) -> None:
    run_id = uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], by="test")
    provider = ApiKeyTokenProvider({"api_key": token})
    client = OpenLineageClient(transport=HttpTransport(HttpConfig(url=url, auth=provider)))

    def event_of(run: UUID, output: str) -> RunEvent:
        return RunEvent(
            eventType=RunState.RUNNING,
            eventTime="2026-11-28T12:00:00Z",
            run=Run(runId=str(run)),
            job=Job(namespace="spark", name="app"),
            outputs=[OutputDataset(namespace=OWN, name=output)],
        )

    client.emit(event_of(run_id, "mart/delays"))
    for wrong in (event_of(uuid4(), "mart/delays"), event_of(run_id, "mart/report")):
        with pytest.raises(Exception, match="403"):
            client.emit(wrong)
    assert _stored(two) == [(run_id, f"task:{run_id}")]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda own: event(uuid4(), "mart/delays"),
        lambda own: event(own, "crm/people"),
        lambda own: event(own, "mart/delays", "crm/people"),
        lambda own: event(uuid4(), "crm/people", parent=own),
        lambda own: {**event(own), "job": {"namespace": OWN, "name": "crm/people"}},
        lambda own: {**event(own), "inputs": [_renamed("crm/people")]},
        lambda own: {
            "eventTime": "2026-11-28T12:00:00Z",
            "dataset": {"namespace": OWN, "name": "mart/delays"},
        },
        lambda own: {"dataset": {"namespace": OWN, "name": "crm/people"}, **event(own)},
    ],
    ids=["run", "output", "one more", "child's", "job", "owners", "no run", "hidden dataset"],
)
def test_a_token_that_is_stretched_is_refused_alone_and_in_batches(two: Engine, url: str, wrong: Any) -> None:
    run_id = uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], ["raw/flights"], by="test")
    assert post(url, token, wrong(run_id)).status_code == 403
    alone = post(url, token, [wrong(run_id)], "/api/v1/lineage/batch")
    assert (alone.status_code, alone.json()["summary"]["failed"]) == (200, 1), "it is told by index"
    batch = post(url, token, [wrong(run_id), event(run_id, "mart/delays")], "/api/v1/lineage/batch").json()
    assert [each["index"] for each in batch["failed_events"]] == [0]
    assert _stored(two) == [(run_id, f"task:{run_id}")]


def test_a_run_reports_a_finished_child_as_an_adapter(two: Engine, url: str) -> None:
    run_id, child = uuid4(), uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], by="test")
    times = {"startTime": "2026-11-28T12:00:00Z", "endTime": "2026-11-28T12:05:00Z"}
    parent = {"run": {"runId": str(run_id)}, "job": {"namespace": "x", "name": "y"}}

    def event_of(facets: dict[str, Any]) -> dict[str, Any]:
        run = {"runId": str(child), **times, "facets": facets}
        return {"eventType": "COMPLETE", "run": run, "job": {"namespace": "spark", "name": "app"}}

    assert post(url, token, event_of({}), "/api/v1/run_event").status_code == 403
    assert _stored(two) == []
    answer = post(url, token, event_of({"parent": parent}), "/api/v1/run_event")
    assert answer.status_code == 200, answer.text
    assert _stored(two) == [(child, f"task:{run_id}")]


def _renamed(name: str) -> dict[str, Any]:
    owners = {
        "owners": [{"name": "eve"}],
        "_producer": "https://e.x",
        "_schemaURL": "https://e.x/1-0-0/x.json",
    }
    return {"namespace": OWN, "name": name, "facets": {"ownership": owners}}


def test_a_token_that_is_replayed_after_its_run_or_its_time_is_refused(two: Engine, url: str) -> None:
    run_id, short = uuid4(), uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], by="test")
    with attempt(two, run_id=run_id, process_key="mart/delays"):
        assert post(url, token, event(run_id, "mart/delays")).status_code == 200
    with transaction(two) as cursor:  # as if the grace after the run were over
        cursor.execute("UPDATE catalog.task_token SET expires_at = expires_at - interval '31 s'")
    expired = issue_task_token(two, short, ["mart/delays"], lifetime=timedelta(milliseconds=1), by="test")
    for ended, of in ((token, run_id), (expired, short)):
        answer = post(url, ended, event(of, "mart/delays"))
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert (
            httpx.get(f"{url}/api/v1/dataset", headers={"Authorization": f"Bearer {ended}"}).status_code
            == 401
        )
        assert not renew_task_token(two, ended)


def test_a_run_that_has_succeeded_gets_no_token_and_one_that_failed_does(two: Engine) -> None:
    done, failed = uuid4(), uuid4()
    with attempt(two, run_id=done, process_key="mart/delays"):
        pass
    with pytest.raises(ArithmeticError), attempt(two, run_id=failed, process_key="mart/delays"):
        raise ArithmeticError
    with pytest.raises(AccessRefused, match=f"run {done} has succeeded"):
        issue_task_token(two, done, ["mart/delays"], by="test")
    assert issue_task_token(two, failed, ["mart/delays"], by="test")


def test_a_token_opens_nothing_else(two: Engine, url: str) -> None:
    token = issue_task_token(two, uuid4(), ["mart/delays"], ["raw/flights"], by="test")
    headers = {"Authorization": f"Bearer {token}"}
    for path in ("/api/v1/audit", "/metrics"):
        assert httpx.get(url + path, headers=headers).status_code == 403
    asked = {"key": "mart/delays", "format": "csv"}
    assert httpx.post(f"{url}/api/v1/dataset/register", json=asked, headers=headers).status_code == 403
    assert httpx.get(f"{url}/api/v1/dataset/crm/people", headers=headers).status_code == 404
    assert httpx.get(f"{url}/api/v1/dataset/mart/delays", headers=headers).status_code == 200


@pytest.mark.parametrize("change", [lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"), lambda t: t + "A"])
def test_a_token_that_is_changed_is_refused(two: Engine, url: str, change: Any) -> None:
    run_id = uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], by="test")
    assert post(url, change(token), event(run_id)).status_code == 401


def test_a_token_of_another_organisation_reports_there(two: Engine, url: str) -> None:
    add_organisation(two, "acme", by="test")
    run_id = uuid4()
    with act_as(principal_of("acme")), pytest.raises(Exception, match="may not"):
        issue_task_token(two, run_id, ["mart/delays"], by="test")  # callers issue none
    token = issue_task_token(two, run_id, ["mart/delays"], by="test")
    headers = {"Authorization": f"Bearer {token}", "Headrace-Organisation": "acme"}
    assert httpx.get(f"{url}/api/v1/dataset", headers=headers).status_code == 403


def test_a_token_lasts_as_long_as_its_run_renews_it(two: Engine) -> None:
    token = issue_task_token(two, uuid4(), [], lifetime=timedelta(seconds=60), by="test")
    assert renew_task_token(two, token)
    with transaction(two) as cursor:
        row = cursor.execute("SELECT expires_at - now() AS left FROM catalog.task_token").fetchone()
        assert timedelta(minutes=9) < row["left"] <= timedelta(minutes=10)
        cursor.execute("UPDATE catalog.task_token SET issued_at = now() - interval '24 hours'")
    assert renew_task_token(two, token)  # which no longer makes it longer
    with transaction(two) as cursor:
        again = cursor.execute("SELECT expires_at - now() AS left FROM catalog.task_token").fetchone()
    assert again["left"] <= row["left"]


def _stored(engine: Engine) -> list[tuple[UUID, str]]:
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT run_id, reported_by FROM catalog.run_event WHERE reported_by IS NOT NULL"
        ).fetchall()
    return [(row["run_id"], row["reported_by"]) for row in rows]


@pytest.mark.parametrize("at", ["2026-11-28T11:59:59Z", "2026-11-28T12:00:01Z"], ids=["before", "after"])
def test_a_job_that_a_run_has_started_does_not_end_the_run(two: Engine, url: str, at: str) -> None:
    run_id = uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], by="test")
    with attempt(two, run_id=run_id, process_key="mart/delays"):
        own, started = {"namespace": OWN, "name": "mart/delays"}, {"namespace": "spark", "name": "app"}
        for job, time in ((own, "2026-11-28T12:00:00Z"), (started, at)):
            for kind in ("COMPLETE", "FAIL"):
                event_of = {**event(run_id, "mart/delays"), "job": job, "eventType": kind, "eventTime": time}
                assert post(url, token, event_of).status_code in (200, 403), kind
        assert _run(two, run_id) == {"status": "RUNNING", "state": "RUNNING", "process_key": "mart/delays"}
        assert (
            post(url, token, event(run_id, "mart/delays")).status_code == 200
        )  # the token has not ended either
    assert _run(two, run_id) == {"status": "SUCCESS", "state": "SUCCESS", "process_key": "mart/delays"}


def test_the_run_of_another_organisation_is_left_as_it_is(two: Engine, url: str) -> None:
    run_id = uuid4()
    with attempt(two, run_id=run_id, process_key="mart/delays"):
        before = _run(two, run_id)
        token = issue_service_token(
            two, "x", [Permission.REPORT, Permission.READ], organisation="acme", by="test"
        )
        event_of = {**event(run_id), "eventType": "FAIL"}
        assert post(url, token, event_of).status_code in (200, 422)
        assert _run(two, run_id) == before
        headers = {"Authorization": f"Bearer {token}"}
        assert "mart/report" not in httpx.get(f"{url}/api/v1/run/{run_id}", headers=headers).text
    assert _run(two, run_id)["status"] == "SUCCESS"


def _run(engine: Engine, run_id: UUID) -> dict[str, Any]:
    with transaction(engine) as cursor:
        [row] = cursor.execute(
            "SELECT run.status, attempt.state, process_key FROM catalog.process_run run "
            "JOIN catalog.process USING (process_id) JOIN catalog.run_attempt attempt USING (run_id) "
            "WHERE run_id = %s AND run.organisation_id = %s",
            [run_id, current_context().organisation_id],
        ).fetchall()
    return dict(row)
