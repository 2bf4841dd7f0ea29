"""Policies over HTTP: events and registrations that they refuse, and the page's route."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.settings import settings
from tests.platform.service.conftest import Ask, run_event

OWNED: dict[str, Any] = {
    "name": "owned",
    "at": ["registration"],
    "require": "size(dataset.owners) > 0 && dataset.kind == 'registered'",
    "message": "it has no owner",
    "comply": "Name one.",
}
DESCRIBED = OWNED | {
    "name": "described",
    "require": "size(dataset.description) > 0",
    "outcome": "hold",
    "message": "it has no description",
    "comply": "Describe it.",
}
KNOWN: dict[str, Any] = {
    "name": "known",
    "at": ["event"],
    "require": "run.system != 'etl' || dataset.key != 'db#unwanted'",
    "message": "its reports are not wanted",
    "comply": "Remove it.",
}
FROM_THERE = KNOWN | {
    "name": "from_there",
    "require": "inputs.all(i, i.key != 'db#in')",
    "outcome": "warn",
    "message": "it reads db#in",
    "comply": "Read another.",
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The service's project, with these rules."""
    (tmp_path / "headrace.toml").write_text('name = "shop"\n')
    (tmp_path / "policies").mkdir()
    rules = [OWNED, DESCRIBED, KNOWN, FROM_THERE]
    (tmp_path / "policies" / "rules.yaml").write_text(yaml.safe_dump(rules))
    monkeypatch.setenv("HEADRACE_PROJECT", str(tmp_path))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def registering(client: TestClient, **fields: Any) -> Any:
    return client.post("/api/v1/dataset/register", json={"key": "crm/people", "format": "csv", **fields})


def without_schema(event: Mapping[str, Any], *outputs: str) -> dict[str, Any]:
    return {**event, "outputs": [{"namespace": "db", "name": name} for name in outputs]}


def test_an_event_that_a_rule_denies_is_refused_with_what_to_do(reporter: TestClient) -> None:
    refused = reporter.post("/api/v1/lineage", json=run_event(outputs=("unwanted",)))
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert refused.json()["detail"] == "db#unwanted: its reports are not wanted (policy:known). Remove it."
    stored = reporter.post("/api/v1/lineage", json=run_event(outputs=("out",)))
    assert stored.status_code == HTTPStatus.OK
    assert stored.json()["warnings"] == ["db#out: it reads db#in (policy:from_there). Read another."]


def test_a_refused_event_of_a_batch_does_not_stop_the_others(reporter: TestClient) -> None:
    events = [run_event(outputs=("a",)), run_event(outputs=("b", "unwanted")), {"no": "event"}, run_event()]
    answer = reporter.post("/api/v1/lineage/batch", json=events).json()
    assert answer["summary"] == {
        "received": 4,
        "successful": 2,
        "failed": 2,
        "retriable": 0,
        "non_retriable": 2,
    }
    assert [each["index"] for each in answer["failed_events"]] == [1, 2]
    assert answer["failed_events"][0]["reason"].startswith("db#unwanted: its reports are not wanted")
    assert [each.partition("]")[0] for each in answer["warnings"]] == ["[0", "[3"]


def test_an_event_that_calls_its_job_one_of_headrace_is_refused_all_the_same(
    reporter: TestClient, project: Path
) -> None:
    job = {"namespace": "headrace://default", "name": "db/unwanted"}
    made = run_event(outputs=("unwanted",)) | {"job": job}
    rule = KNOWN | {"require": "dataset.key != 'db#unwanted'"}
    (project / "policies" / "rules.yaml").write_text(yaml.safe_dump([rule]))
    refused = reporter.post("/api/v1/lineage", json=made)
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_history_passes_the_same_rules_which_know_it_as_history(project: Path, reporter: TestClient) -> None:
    refused = reporter.post("/api/v1/lineage?historical=true", json=run_event(outputs=("unwanted",)))
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    tolerant = KNOWN | {"require": f"run.historical || ({KNOWN['require']})"}
    (project / "policies" / "rules.yaml").write_text(yaml.safe_dump([tolerant]))
    loaded = reporter.post("/api/v1/lineage?historical=true", json=run_event(outputs=("unwanted",)))
    assert loaded.json()["result"] == "STORED"
    refused = reporter.post("/api/v1/lineage", json=run_event(outputs=("unwanted",)))
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_a_rule_without_an_answer_refuses_if_it_says_so(project: Path, reporter: TestClient) -> None:
    broken = KNOWN | {"require": "version.rows > 0", "if_not_evaluated": "refuse"}
    (project / "policies" / "rules.yaml").write_text(yaml.safe_dump([broken]))
    refused = reporter.post("/api/v1/lineage", json=run_event())
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "policy:known: there is no field 'rows'" in refused.json()["detail"]


def test_a_registration_that_a_rule_denies_is_refused(ask: Ask) -> None:
    client = ask(Permission.REGISTER, Permission.READ)
    refused = registering(client)
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "it has no owner (policy:owned). Name one." in refused.json()["detail"]
    assert client.get("/api/v1/registration").json()["items"] == []


def test_a_held_registration_is_approved_with_a_comment(ask: Ask) -> None:
    made = registering(ask(Permission.REGISTER), owners=["team:crm"]).json()
    assert made["objections"] == [
        {
            "name": "policy:described",
            "text": "it has no description (policy:described). Describe it.",
            "held": True,
        }
    ]
    reviewer = ask(Permission.REVIEW, Permission.READ)
    path = f"/api/v1/registration/{made['registration_id']}/approve"
    refused = reviewer.post(path, json={})
    assert refused.status_code == HTTPStatus.CONFLICT
    assert "crm/people is held: it has no description" in refused.json()["detail"]
    approved = reviewer.post(path, json={"comment": "Described in the wiki."}).json()
    assert (approved["status"], approved["comment"]) == ("APPROVED", "Described in the wiki.")


def test_a_registration_that_meets_the_rules_has_no_objections(ask: Ask) -> None:
    made = registering(ask(Permission.REGISTER), owners=["team:crm"], description="People.").json()
    assert made["objections"] == []


def test_readers_see_the_policies(reader: TestClient) -> None:
    found = reader.get("/api/v1/policies").json()
    assert [(each["name"], each["outcome"]) for each in found["rules"]] == [
        ("owned", "deny"),
        ("described", "hold"),
        ("known", "deny"),
        ("from_there", "warn"),
    ]
    assert (found["decisions"], found["problems"]) == ([], [])
