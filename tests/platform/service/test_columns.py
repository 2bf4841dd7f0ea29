"""Queries on columns: their lineage in a version, the impact of a change, and sensitivity."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Permission
from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, LineageOfOutput, Subtype
from headrace.catalog.records import Column, DatasetRecord, ProcessRecord, Technology
from headrace.catalog.sensitivity_suggestions import store_suggestions
from headrace.personal_data.suggestions import Suggestion
from headrace.registration.declarations import register
from tests.platform.service.conftest import Ask, put, run_event

PEOPLE = (Column("email", "string", tags=("pii",)), Column("id", "bigint"))


def direct(key: str, column: str, **more: Any) -> ColumnSource:
    return ColumnSource(key, column, How.DIRECT, Subtype.TRANSFORMATION, **more)


MAILS = LineageOfOutput(
    (ColumnLineage("mail", (direct("hr/people", "email", expression="lower(email)"),)), ColumnLineage("n")),
    whole=(ColumnSource("raw/flights", "id", How.INDIRECT, Subtype.JOIN),),
)


@pytest.fixture
def mails(catalog: Engine) -> Engine:
    """mart/mails, made from hr/people, whose email is tagged, and joined with raw/flights."""
    register(
        catalog,
        [
            DatasetRecord("hr/people", "parquet", columns=PEOPLE),
            DatasetRecord("mart/mails", "parquet", owners=("team:mail",)),
        ],
        [
            ProcessRecord(
                "mart/mails", Technology.SPARK, inputs=("hr/people", "raw/flights"), outputs=("mart/mails",)
            )
        ],
    )
    people = put(catalog, "hr/people", "p1", columns=PEOPLE).version
    put(catalog, "mart/mails", "one", lineage=MAILS, inputs=(people.version_id,))
    return catalog


def got(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"/api/v1/dataset/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_where_the_columns_of_a_version_come_from(mails: Engine, reader: TestClient, ask: Ask) -> None:
    consumer = ask(Permission.READ)
    found = got(consumer, "mart/mails/column-lineage")
    assert (found["version"]["tag"], found["known"], found["columns"]) == ("one", 2, 2)
    assert [each["tag"] for each in found["inputs"]] == ["p1"]
    (source,) = found["lineage"]["columns"][0]["sources"]
    assert (source["input"], source["column"], source["expression"]) == ("hr/people", "email", "***")
    row = got(reader, "mart/mails")["dataset"]
    assert (row["known_columns"], row["lineage_columns"]) == (2, 2)


def test_who_sees_one_domain_sees_no_sources_in_others(mails: Engine, ask: Ask) -> None:
    narrow = ask(Permission.READ, domain="mart")
    found = got(narrow, "mart/mails/column-lineage")
    assert found["lineage"]["columns"][0]["sources"] == []
    assert found["lineage"]["whole"] == []
    assert found["inputs"] == []
    (mail,) = got(narrow, "mart/mails/sensitive")["columns"]
    assert (mail["column"], mail["status"], mail["from_dataset"]) == ("mail", "INHERITED", None)
    assert narrow.get("/api/v1/dataset/hr/people/column-impact").status_code in {403, 404}


@pytest.mark.parametrize("path", ["column-impact?", "lineage?level=column&"])
def test_an_unknown_column_is_an_error(mails: Engine, reader: TestClient, path: str) -> None:
    refused = reader.get(f"/api/v1/dataset/hr/people/{path}column=emial")
    assert refused.status_code == 404
    assert "hr/people has no column emial. Its columns: email" in refused.json()["detail"]


def test_two_versions_are_compared(mails: Engine, reader: TestClient) -> None:
    more = (direct("hr/people", "email"), direct("hr/people", "id"))
    put(
        mails, "mart/mails", "two", lineage=LineageOfOutput((ColumnLineage("mail", more), ColumnLineage("n")))
    )
    put(mails, "mart/mails", "three")
    found = got(reader, "mart/mails/column-lineage-changes", before="one", after="two")
    assert [(each["kind"], each["column"], each["source"]) for each in found["changes"]] == [
        ("READS", "mail", "hr/people.id"),
        ("NO_LONGER_READS", "", "raw/flights.id"),
    ]
    refused = reader.get("/api/v1/dataset/mart/mails/column-lineage-changes", params={"before": "one"})
    assert refused.status_code == 409
    assert "is known for version three" in refused.json()["detail"]


def test_impact_of_a_column_joins_what_foreign_producers_report(
    mails: Engine, reader: TestClient, reporter: TestClient
) -> None:
    event = run_event(outputs=("export",))
    event["inputs"] = [{"namespace": "headrace://default", "name": "mart/mails"}]
    event["outputs"][0]["facets"] = {
        "columnLineage": {
            "_producer": "https://example.com/p",
            "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json"
            "#/$defs/ColumnLineageDatasetFacet",
            "fields": {
                "to": {
                    "inputFields": [
                        {
                            "namespace": "headrace://default",
                            "name": "mart/mails",
                            "field": "mail",
                            "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
                        }
                    ]
                }
            },
        }
    }
    assert reporter.post("/api/v1/lineage", json=event).status_code in {200, 201}
    found = got(reader, "hr/people/column-impact", column="email")
    assert [(each["key"], each["depth"], each["direct"]) for each in found["used_by"]] == [
        ("mart/mails", 1, ["mail"]),
        ("db#export", 2, ["to"]),
    ]
    assert found["used_by"][0]["owners"] == ["team:mail"]
    nearest = got(reader, "hr/people/column-impact", column="email", depth=1)
    assert [each["key"] for each in nearest["used_by"]] == ["mart/mails"]
    exported = got(reader, "db%23export/sensitive")["columns"]
    assert [(each["column"], each["status"], each["from_column"]) for each in exported] == [
        ("to", "INHERITED", "email")
    ]
    up = got(reader, "db%23export/lineage", level="column", depth=5)
    assert [(each["source_key"], each["origin"], each["confidence"]) for each in up["edges"]] == [
        ("mart/mails", "REPORTED", 1.0),
        ("raw/flights", "PLAN", 1.0),
        ("hr/people", "PLAN", 1.0),
    ]


def test_only_an_owner_clears_a_column(mails: Engine, reader: TestClient, ask: Ask) -> None:
    path, asked = "/api/v1/dataset/mart/mails/sensitive", {"column": "mail", "reason": "internal only"}
    assert reader.post(f"{path}/clear", json=asked).status_code == 403
    proposer = ask(Permission.READ, Permission.REGISTER)
    assert proposer.post(f"{path}/clear", json=asked).status_code == 403
    owner = ask(Permission.READ, Permission.REGISTER, Permission.READ_SENSITIVE, domain="mart")
    answer = owner.post(f"{path}/clear", json=asked)
    assert answer.status_code == 200, answer.text
    (cleared,) = answer.json()["columns"]
    assert (cleared["status"], cleared["reason"]) == ("CLEARED", "internal only")
    assert cleared["by"].startswith("service:")
    assert owner.post(f"{path}/clear", json=asked).status_code == 409
    assert (
        owner.post(f"{path}/withdraw", json={"column": "mail"}).json()["columns"][0]["status"] == "INHERITED"
    )
    elsewhere = ask(Permission.READ, Permission.REGISTER, Permission.READ_SENSITIVE, domain="raw")
    assert elsewhere.post(f"{path}/clear", json=asked).status_code in {403, 404}


def test_an_owner_accepts_and_dismisses_suggestions(mails: Engine, reader: TestClient, ask: Ask) -> None:
    found = Suggestion("n", "phone number", 0.9, "9 of 9 values are valid phone numbers")
    store_suggestions(mails, "mart/mails", [found], datetime.now(UTC))
    path = "/api/v1/dataset/mart/mails/sensitive"
    [listed] = reader.get("/api/v1/sensitive/suggestions", params={"status": "PENDING"}).json()["items"]
    assert (listed["dataset"], listed["column"], listed["kind"]) == ("mart/mails", "n", "phone number")
    elsewhere = ask(Permission.READ, Permission.REGISTER, Permission.READ_SENSITIVE, domain="raw")
    assert elsewhere.get("/api/v1/sensitive/suggestions").json()["items"] == []
    assert reader.post(f"{path}/accept", json={"column": "n"}).status_code == 403
    assert (
        ask(Permission.READ, Permission.REGISTER).post(f"{path}/accept", json={"column": "n"}).status_code
        == 403
    )

    owner = ask(Permission.READ, Permission.REGISTER, Permission.READ_SENSITIVE, domain="mart")
    answer = owner.post(f"{path}/accept", json={"column": "n", "note": "a customer's"})
    assert ("n", "ACCEPTED", "a customer's") in [
        (each["column"], each["status"], each["reason"]) for each in answer.json()["columns"]
    ]
    [change] = got(reader, "mart/mails/proposed-changes")["items"]
    assert (change["column"], change["value"], change["state"]) == ("n", ["pii"], "ACCEPTED")
    assert owner.post(f"{path}/accept", json={"column": "n"}).status_code == 409
    assert owner.post(f"{path}/dismiss", json={"column": "n"}).status_code == 422
    assert owner.post(f"{path}/dismiss", json={"column": "n", "note": "a count"}).status_code == 200
    assert got(reader, "mart/mails/proposed-changes")["items"] == []
