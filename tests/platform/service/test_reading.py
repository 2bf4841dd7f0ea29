"""Queries of programs: datasets, versions, schemas, lineage, impact, checks, processes, runs, SLAs, search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.catalog.records import CheckStatus, Column, DatasetRecord, ProcessRecord, Technology
from headrace.database.connection import transaction
from headrace.registration.declarations import register
from headrace.registration.retirement import retire
from headrace.settings import settings
from headrace.slas.tick import evaluate
from tests.platform.service.conftest import OTHER, Ask, put, run_event


def got(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"/api/v1/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def all_of(client: TestClient, path: str, **params: Any) -> list[Any]:
    """Every row of a list, page by page."""
    rows, page = [], got(client, path, **params)
    while True:
        rows += page["items"]
        if page["next"] is None:
            return rows
        page = got(client, path, **params, cursor=page["next"])


def test_shows_a_dataset_by_key_and_by_id(reader: TestClient, run_id: UUID) -> None:
    answer = got(reader, "dataset/mart/delays")
    assert answer["dataset"]["description"] == "How late flights were, by day"
    assert answer["dataset"]["upstream"] == ["raw/flights"]
    assert answer["status"]["newest_tag"] == "second"
    assert [row["version"]["tag"] for row in answer["newest_versions"]] == ["second", "first"]
    assert got(reader, f"dataset/{answer['dataset']['dataset_id']}") == answer


@pytest.mark.parametrize("name", ["schema", "versions", "impact", "lineage", "runs"])
def test_shows_a_dataset_that_is_called_like_a_question(
    reader: TestClient, catalog: Engine, name: str
) -> None:
    register(catalog, [DatasetRecord(f"crm/{name}", "csv")])
    found = reader.get(f"/api/v1/dataset/crm/{name}")
    assert (found.status_code, found.json()["dataset"]["key"]) == (200, f"crm/{name}")
    assert reader.get(f"/api/v1/dataset/crm/{name}/versions").json() == {"items": [], "next": None}
    register(catalog, [], [ProcessRecord(f"crm/{name}", Technology.SPARK, outputs=(f"crm/{name}",))])
    assert reader.get(f"/api/v1/process/crm/{name}").json()["process"]["key"] == f"crm/{name}"
    by_id = reader.get(f"/api/v1/dataset/{found.json()['dataset']['dataset_id']}/versions")
    assert by_id.json() == {"items": [], "next": None}


def test_lists_datasets_page_by_page(reader: TestClient) -> None:
    keys = [row["key"] for row in all_of(reader, "dataset", limit=1)]
    assert keys == ["mart/delays", "mart/report", "raw/flights"]
    assert [row["key"] for row in all_of(reader, "dataset", search="gold")] == []
    assert [row["key"] for row in all_of(reader, "dataset", search="tier")] == ["mart/delays"]


def test_lists_retired_datasets_on_request_only(reader: TestClient, catalog: Engine) -> None:
    retire(catalog, "mart/report", by="user:alice", reason="replaced")
    assert [row["key"] for row in all_of(reader, "dataset")] == ["mart/delays", "raw/flights"]
    assert [row["key"] for row in all_of(reader, "dataset", retired=True)] == ["mart/report"]
    shown = reader.get("/api/v1/dataset/mart/report").json()
    assert (shown["dataset"]["status"], shown["status"]["key"]) == ("RETIRED", "mart/report")


def test_pages_over_versions_that_were_written_at_once(reader: TestClient, catalog: Engine) -> None:
    for number in range(5):
        put(catalog, "raw/flights", "range", partition=f"2026-01-0{number + 1}")
    with transaction(catalog) as cursor:
        cursor.execute("UPDATE catalog.dataset_version SET produced_at = '2026-02-01Z'")
    rows = all_of(reader, "dataset/raw/flights/versions", limit=2)
    assert sorted(row["version"]["partition"] for row in rows) == [f"2026-01-0{n}" for n in range(1, 6)]
    published = all_of(reader, "dataset/raw/flights/published", limit=2)
    assert [row["partition"] for row in published] == [f"2026-01-0{n}" for n in range(1, 6)]
    [one] = all_of(reader, "dataset/raw/flights/versions", partition="2026-01-03")
    assert one["version"]["partition"] == "2026-01-03"


def test_shows_what_produced_a_version(reader: TestClient, run_id: UUID) -> None:
    answer = got(reader, "dataset/mart/delays/versions/second")
    assert [ref["dataset"] for ref in answer["version"]["inputs"]] == ["raw/flights"]
    assert answer["run"]["run_id"] == str(run_id)
    assert answer["run"]["attempts"][0]["state"] == "SUCCESS"
    assert got(reader, "dataset/mart/delays/versions/published") == answer


def test_shows_how_the_schema_changed(reader: TestClient, run_id: UUID) -> None:
    newest, first = all_of(reader, "dataset/mart/delays/schema", limit=1)
    assert newest["change"]["compatible"] == ["column carrier (string) was added"]
    assert [column["name"] for column in newest["columns"]] == ["id", "delay", "carrier"]
    assert first["change"] is None
    assert first["tag"] == "first"


def test_a_version_without_columns_is_no_change_of_the_schema(ask: Ask, reader: TestClient) -> None:
    reporter = ask(Permission.REPORT)

    def report_schema(day: int, role: str, name: str, *columns: str) -> None:
        schema = {
            "_producer": "https://example.com/producer",
            "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json",
            "fields": [{"name": each, "type": "int"} for each in columns],
        }
        facets = {"schema": schema} if columns else {}
        event = run_event(at=datetime(2026, 3, day, tzinfo=UTC))
        event[role] = [{"namespace": "db", "name": name, "facets": facets}]
        assert reporter.post("/api/v1/lineage", json=event).status_code == 200

    report_schema(1, "outputs", "out", "a")
    report_schema(2, "outputs", "out")
    report_schema(3, "outputs", "out", "a")
    report_schema(4, "outputs", "out", "a", "b")
    last, first = all_of(reader, "dataset/db%23out/schema", limit=1)
    assert (first["since"][:10], last["since"][:10]) == ("2026-03-01", "2026-03-04")
    assert last["change"] == {"compatible": ["column b (int) was added"], "breaking": []}
    report_schema(1, "inputs", "source", "a")
    report_schema(2, "inputs", "source", "a", "b")
    rows = all_of(reader, "dataset/db%23source/schema", limit=1)
    assert [[column["name"] for column in row["columns"]] for row in rows] == [["a", "b"], ["a"]]
    assert [row["version_id"] for row in rows] == [None, None]


def test_lists_checks(reader: TestClient, catalog: Engine, run_id: UUID) -> None:
    put(catalog, "mart/delays", "bad", status=CheckStatus.WARN)
    rows = all_of(reader, "dataset/mart/delays/quality", limit=1)
    assert [(row["tag"], row["name"], row["status"]) for row in rows] == [
        ("bad", "id_not_null", "WARN"),
        ("second", "id_not_null", "PASS"),
        ("first", "id_not_null", "PASS"),
    ]
    assert rows[0]["kind"] == "not_null"
    assert [row["tag"] for row in all_of(reader, "dataset/mart/delays/quality", status="WARN")] == ["bad"]


def test_shows_the_last_success(reader: TestClient, run_id: UUID) -> None:
    assert got(reader, "dataset/mart/delays/last-success")["run_id"] == str(run_id)


def test_walks_between_datasets(reader: TestClient) -> None:
    answer = got(reader, "dataset/raw/flights/lineage", direction="downstream")
    assert [(node["key"], node["depth"]) for node in answer["nodes"]] == [
        ("raw/flights", 0),
        ("mart/delays", 1),
        ("mart/report", 2),
    ]
    before = got(reader, "dataset/raw/flights/lineage", direction="downstream", as_of="2020-01-01T00:00:00Z")
    assert [node["key"] for node in before["nodes"]] == ["raw/flights"]
    near = got(reader, "dataset/mart/report/lineage", depth=1)
    assert (near["truncated"], near["nodes"][1]["hidden"]) == (True, 1)


def test_walks_between_versions(reader: TestClient, run_id: UUID) -> None:
    answer = got(reader, "dataset/mart/delays/lineage", level="version", version="first")
    assert [node["version"]["tag"] for node in answer["nodes"]] == ["first", "raw-1"]
    down = got(reader, "dataset/raw/flights/lineage", level="version", direction="downstream")
    assert {node["version"]["tag"] for node in down["nodes"]} == {"raw-1", "first", "second"}


def test_walks_over_processes(reader: TestClient) -> None:
    answer = got(reader, "dataset/raw/flights/lineage", level="process", direction="downstream", depth=3)
    assert [(node["kind"], node["key"], node["depth"], node["hidden"]) for node in answer["nodes"]] == [
        ("DATASET", "raw/flights", 0, 0),
        ("PROCESS", "mart/delays", 1, 0),
        ("DATASET", "mart/delays", 2, 0),
        ("PROCESS", "mart/report", 3, 1),
    ]
    assert answer["truncated"]
    assert len(answer["edges"]) == 3
    few = got(reader, "dataset/raw/flights/lineage", level="process", direction="downstream", nodes=2)
    assert [(node["key"], node["hidden"]) for node in few["nodes"]] == [
        ("raw/flights", 0),
        ("mart/delays", 1),
    ]
    up = got(reader, "process/mart/report/lineage", direction="upstream", depth=1)
    assert [node["key"] for node in up["nodes"]] == ["mart/report", "mart/delays"]


def test_lists_direct_and_transitive_readers(reader: TestClient) -> None:
    answer = got(reader, "dataset/raw/flights/impact")
    assert (answer["datasets"], answer["processes"], answer["truncated"]) == (2, 2, False)
    assert [(row["kind"], row["key"], row["depth"], row["is_end"]) for row in answer["items"]] == [
        ("DATASET", "mart/delays", 1, False),
        ("PROCESS", "mart/delays", 1, False),
        ("DATASET", "mart/report", 2, True),
        ("PROCESS", "mart/report", 2, False),
    ]
    assert answer["items"][2]["owners"] == ["team:board"]
    direct = got(reader, "dataset/raw/flights/impact", depth=1)
    assert [row["key"] for row in direct["items"]] == ["mart/delays", "mart/delays"]
    assert all_of(reader, "dataset/raw/flights/impact", limit=1) == answer["items"]
    assert got(reader, "dataset/mart/report/impact")["items"] == []


def test_goes_round_a_circle_once(reader: TestClient, catalog: Engine) -> None:
    register(
        catalog,
        [DatasetRecord("a/one", "csv"), DatasetRecord("a/two", "csv")],
        [
            ProcessRecord("a/one", Technology.SPARK, inputs=("a/two", "a/one"), outputs=("a/one",)),
            ProcessRecord("a/two", Technology.SPARK, inputs=("a/one",), outputs=("a/two",)),
        ],
    )
    impact = got(reader, "dataset/a/one/impact")
    assert [row["key"] for row in impact["items"] if row["kind"] == "DATASET"] == ["a/two"]
    assert [node["key"] for node in got(reader, "dataset/a/one/lineage", depth=50)["nodes"]] == [
        "a/one",
        "a/two",
    ]


def test_shows_processes_and_runs(reader: TestClient, run_id: UUID) -> None:
    assert [row["key"] for row in all_of(reader, "process", limit=1)] == ["mart/delays", "mart/report"]
    assert all_of(reader, "process", technology="AUTOSYS") == []
    answer = got(reader, "process/mart/delays")
    assert answer["process"]["inputs"] == ["raw/flights"]
    assert answer["newest_runs"][0]["run_id"] == str(run_id)
    assert got(reader, f"process/{answer['process']['process_id']}") == answer
    assert len(all_of(reader, "process/mart/delays/runs", limit=1)) == 2
    assert all_of(reader, "process/mart/delays/runs", state="FAILED") == []
    run = got(reader, f"run/{run_id}")
    assert [output["version"]["tag"] for output in run["run"]["outputs"]] == ["second"]
    assert [each["run_id"] for each in got(reader, "run", run=str(run_id)[:13])] == [str(run_id)]
    assert got(reader, f"run/{run_id}/children") == []


def test_finds_processes_by_words(reader: TestClient, run_id: UUID) -> None:
    found = all_of(reader, "process", q="MART elay")
    assert [row["key"] for row in found] == ["mart/delays"]
    (newest,) = got(reader, "run/newest", process=found[0]["process_id"])
    assert newest["run_id"] == str(run_id)
    assert all_of(reader, "process", q="mart_delays") == all_of(reader, "process", q="%") == []


def test_shows_sla_history(reader: TestClient, catalog: Engine, run_id: UUID) -> None:
    now = datetime.now(UTC)
    assert all_of(reader, "sla/status") == []  # not evaluated yet
    evaluate(catalog, now)
    [objective] = all_of(reader, "sla/status")
    assert (objective["key"], objective["kind"], objective["state"]) == ("mart/delays", "AGE", "ON_TRACK")
    evaluate(catalog, now + timedelta(hours=2))
    assert [row["key"] for row in all_of(reader, "sla/status", state="LATE")] == ["mart/delays"]
    assert all_of(reader, "sla/status", state=["ON_TRACK", "UNKNOWN"]) == []
    assert all_of(reader, "sla/status", domain="raw") == []
    assert len(all_of(reader, "sla/status", owner="team:data", kind="AGE", key="mart/delays")) == 1
    [incident] = all_of(reader, "sla/incidents", limit=1)
    found = got(reader, f"sla/incidents/{incident['incident_id']}")
    assert (found["incident"], found["parts"]) == (incident, [])
    assert found["links"]["page"].endswith(f"/incidents/{incident['incident_id']}")
    assert incident["cause"] == "mart/delays"
    assert [row["key"] for row in incident["downstream"]] == ["mart/report"]
    until = (now + timedelta(hours=3)).isoformat()
    history = got(reader, "sla/history", key="mart/delays", until=until)
    assert [row["state"] for row in history["changes"]] == ["LATE", "ON_TRACK"]
    assert reader.get("/api/v1/sla/history", params={"key": "mart/report"}).status_code == 404


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("mart/delays", "mart/delays"),
        ("delays", "mart/delays"),
        ("del", "mart/delays"),
        ("DELAYS mart", "mart/delays"),
        ("late flights", "mart/delays"),
        ("gold", "mart/delays"),
        ("board", "mart/report"),
        ("delasy", "mart/delays"),
        ("dellays", "mart/delays"),
        ("filghts raw", "raw/flights"),
        ("fligths", "raw/flights"),
        ("rpeort", "mart/report"),
        ("mrat", "mart/report"),
    ],
)
def test_finds_datasets_by_words(reader: TestClient, words: str, first: str) -> None:
    answer = got(reader, "search", q=words)
    assert first in [row["key"] for row in answer["items"]][:2]


def test_finds_nothing_for_nothing_like_it(reader: TestClient) -> None:
    assert got(reader, "search", q="zzzqqq")["items"] == []
    assert got(reader, "search", q="delays zzzqqq")["items"] == []
    assert got(reader, "search", q="!!! '\\ & | :*")["items"] == []


def test_says_what_was_misspelt_and_pages(reader: TestClient) -> None:
    assert got(reader, "search", q="delasy")["misspelt"] == ["delasy"]
    assert got(reader, "search", q="delays")["misspelt"] == []
    assert {row["key"] for row in all_of(reader, "search", q="mart", limit=1)} == {
        "mart/delays",
        "mart/report",
    }


def test_finds_what_has_changed(reader: TestClient, catalog: Engine) -> None:
    register(catalog, [DatasetRecord("mart/report", "csv", description="Punctuality of carriers")])
    assert [row["key"] for row in got(reader, "search", q="punctuality")["items"]] == ["mart/report"]
    assert got(reader, "search", q="board")["items"] == []


def test_shows_each_only_his_own(ask: Ask, run_id: UUID) -> None:
    elsewhere = ask(Permission.READ, organisation=OTHER)
    assert all_of(elsewhere, "dataset") == []
    assert all_of(elsewhere, "process") == []
    assert all_of(elsewhere, "sla/status") == []
    assert got(elsewhere, "search", q="delays")["items"] == []
    for path in ("dataset/mart/delays", "process/mart/delays", f"run/{run_id}", "dataset/mart/delays/impact"):
        assert elsewhere.get(f"/api/v1/{path}").status_code == 404
    narrow = ask(Permission.READ, domain="raw")
    assert [row["key"] for row in all_of(narrow, "dataset")] == ["raw/flights"]
    assert [row["key"] for row in got(narrow, "search", q="flights")["items"]] == ["raw/flights"]
    assert narrow.get("/api/v1/dataset/mart/delays").status_code == 404
    assert all_of(narrow, "sla/status") == []
    assert all_of(narrow, "sla/incidents") == []
    hit = got(narrow, "dataset/raw/flights/impact")
    assert [row["key"] for row in hit["items"] if row["kind"] == "DATASET"] == []


def test_hides_what_is_sensitive(ask: Ask, reader: TestClient, run_id: UUID) -> None:
    seen = got(reader, f"run/{run_id}")
    assert seen["run"]["outputs"][0]["location"] == "file:/warehouse/mart/delays/second"
    assert (
        got(ask(Permission.READ), "dataset/mart/delays/versions/second")["version"]["version"]["tag"]
        == "second"
    )


def test_datasets_are_found_by_the_tags_of_their_columns(ask: Ask, catalog: Engine) -> None:
    columns = (Column("name", "string", tags=("PII",)), Column("mail", "string", tags=("PII", "contact")))
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=columns)], [])
    client = ask(Permission.READ)

    for path in ("/api/v1/dataset?column_tag=PII", "/api/v1/search?q=people&column_tag=PII"):
        assert [each["key"] for each in client.get(path).json()["items"]] == ["crm/people"]
    assert client.get("/api/v1/dataset?column_tag=secret").json()["items"] == []
    counts = client.get("/api/v1/search/counts").json()
    assert [each for each in counts if each["filter"] == "column_tag"] == [
        {"filter": "column_tag", "value": "PII", "count": 1},
        {"filter": "column_tag", "value": "contact", "count": 1},
    ]


def test_answers_lead_to_the_pages(reader: TestClient, run_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SERVICE_URL", "https://catalog.example.com/")
    settings.cache_clear()
    for path, page in (
        ("dataset/mart/delays", "datasets/mart/delays"),
        ("dataset/mart/delays/versions/second", "datasets/mart/delays/version/second"),
        ("process/mart/delays", "processes/mart/delays"),
        (f"run/{run_id}", f"runs/{run_id}"),
    ):
        links = reader.get(f"/api/v1/{path}").json()["links"]
        assert links == {"page": f"https://catalog.example.com/{page}", "dagster": None}
