"""What answers hide from whom."""

import copy
from uuid import uuid4

import pytest
from pydantic_core import to_jsonable_python

from headrace.access.audit import entries
from headrace.access.callers import Permission, Role
from headrace.catalog import queries
from headrace.catalog.publishing import publish
from headrace.catalog.queries import to_json
from headrace.catalog.records import Check, CheckResult, CheckStatus, DatasetRecord, ProcessRecord, Technology
from headrace.catalog.registry import register
from headrace.database.connection import transaction
from headrace.database.principal import act_as
from headrace.events.openlineage import Result
from headrace.service.api.responses import shown, shown_whole
from headrace.service.masking import MASK, masked
from tests.platform.access.conftest import SECRETS, SQL, STATISTICS, acting_of, caller, service
from tests.platform.events.openlineage.said import ingest, run_event, told_of, uuid

CONSUMER = caller(Role.DATA_CONSUMER)
LOCATION = "file:/warehouse/crm/people/v9"


@pytest.fixture
def people(two, draft):
    """crm/people with a process and a check over its sensitive column."""
    register(
        two,
        [
            DatasetRecord(
                "crm/people",
                "parquet",
                columns=SECRETS,
                checks=(
                    Check("known", "isin", "email", {"allowed": ["ann@example.com"]}),
                    Check("sane", "in_range", "amount", {"min_value": 0}),
                ),
            )
        ],
        [ProcessRecord("crm/people", Technology.SPARK, outputs=("crm/people",), source=SQL)],
    )
    checks = [CheckResult("known", CheckStatus.WARN, 1, {"example": "bob@example.com"})]
    publish(
        two,
        None,
        [
            draft(
                "crm/people",
                generation=1,
                tag="v9",
                columns=SECRETS,
                statistics=STATISTICS,
                checks=tuple(checks),
            )
        ],
    )
    return two


def seen(engine, by, document, about=None):
    with act_as(acting_of(by.organisation)):
        return masked(engine, by, document, about)


def test_a_consumer_sees_no_values_of_sensitive_columns(people):
    document = to_json(queries.version(people, "crm/people"))
    before = copy.deepcopy(document)
    shown = seen(people, CONSUMER, document)
    assert document == before
    assert shown["version"]["location"] == MASK
    assert shown["statistics"] == {
        "email": {"null_count": 0, "min": MASK, "max": MASK},
        "amount": {"null_count": 1, "min": 0.5, "max": 9.5},
    }
    assert "ann@example" not in str(shown)
    assert "bob@example" not in str(shown)
    assert shown["version"]["columns"] == document["version"]["columns"]
    assert shown["version"]["row_count"] == document["version"]["row_count"]


@pytest.mark.parametrize("role", [Role.DATA_OWNER, Role.DATA_STEWARD, Role.PLATFORM_ADMIN])
def test_who_may_sees_all_and_that_is_noted(people, role):
    document = to_json(queries.version(people, "crm/people"))
    assert seen(people, caller(role), document) == document
    [entry] = [entry for entry in entries(people) if entry.action == "READ"]
    assert (entry.subject, entry.object) == ("user:test", "crm/people")
    assert set(entry.detail["kinds"]) >= {"LOCATION", "STATISTICS", "CHECK"}


def test_an_owner_of_another_domain_is_as_a_consumer_here(people):
    document = to_json(queries.version(people, "crm/people"))
    owner = caller(Role.DATA_OWNER, Role.DATA_CONSUMER, domain="mart")
    assert seen(people, owner, document) == seen(people, CONSUMER, document)
    assert [entry for entry in entries(people) if entry.action == "READ"] == []


def test_what_is_not_sensitive_is_shown_and_not_noted(people):
    document = to_json(queries.versions(people, "mart/delays"))
    assert seen(people, CONSUMER, document) == document
    assert seen(people, caller(Role.DATA_OWNER), document) == document
    assert [entry for entry in entries(people) if entry.action == "READ"] == []


def test_what_a_check_compares_with_is_hidden_where_its_column_is_sensitive(people):
    shown = seen(people, CONSUMER, to_json(queries.dataset(people, "crm/people")))
    parameters = {check["name"]: check["parameters"] for check in shown["checks"]}
    assert parameters == {"known": MASK, "sane": {"min_value": 0}}


def test_sql_is_for_those_who_may_read_what_is_sensitive(people):
    document = {"process_key": "crm/people", "source": SQL, "technology": "SPARK"}
    assert seen(people, CONSUMER, document)["source"] == MASK
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), document)["source"] == SQL
    assert seen(people, caller(Role.DATA_OWNER, domain="mart"), document)["source"] == MASK


def test_where_an_edge_begins_is_no_source_text(people):
    document = to_json(queries.lineage(people, "mart/report", queries.Direction.UP))
    assert document["edges"]
    assert seen(people, CONSUMER, document) == document


def test_the_columns_of_older_schemas_stay_sensitive(people, draft):
    plain = tuple(column.__class__(column.name, column.type) for column in SECRETS)
    register(people, [DatasetRecord("crm/people", "parquet", columns=plain)], [])
    document = to_json(queries.version(people, "crm/people"))
    assert seen(people, CONSUMER, document)["version"]["location"] == MASK


def test_what_is_not_known_is_hidden(people):
    for document in (
        {"dataset": "no/such", "location": LOCATION},
        {"location": LOCATION},
        {"items": [{"location": LOCATION}]},
    ):
        assert LOCATION not in str(seen(people, CONSUMER, document))
        assert LOCATION not in str(seen(people, caller(Role.DATA_OWNER, domain="mart"), document))
        assert LOCATION in str(seen(people, caller(Role.DATA_OWNER), document))


def test_who_asks_for_one_dataset_is_shown_what_it_is_about(people):
    document = {"rows": [{"location": LOCATION}]}
    assert seen(people, CONSUMER, document, "mart/delays") == document
    assert seen(people, CONSUMER, document, "crm/people") == {"rows": [{"location": MASK}]}


def test_events_are_masked_by_their_facets(people):
    event = {
        "eventType": "COMPLETE",
        "run": {
            "runId": str(uuid4()),
            "facets": {
                "errorMessage": {
                    "message": "no such user ann@example.com",
                    "programmingLanguage": "PYTHON",
                    "stackTrace": "at ann@example.com",
                }
            },
        },
        "job": {
            "namespace": "airflow",
            "name": "load",
            "facets": {"sql": {"query": SQL}, "sourceCode": {"language": "python", "sourceCode": SQL}},
        },
        "inputs": [],
        "outputs": [
            {
                "namespace": "headrace://default",
                "name": "crm/people",
                "facets": {
                    "dataSource": {"name": "lake", "uri": LOCATION},
                    "dataQualityAssertions": {
                        "assertions": [
                            {
                                "assertion": "isin",
                                "success": False,
                                "column": "email",
                                "actual": "bob@example.com",
                            },
                            {"assertion": "max", "success": True, "column": "amount", "expected": "9"},
                        ]
                    },
                },
                "inputFacets": {
                    "dataQualityMetrics": {
                        "rowCount": 2,
                        "columnMetrics": {
                            "email": {
                                "nullCount": 0,
                                "min": "ann@example.com",
                                "quantiles": {"0.5": "x@example.com"},
                            },
                            "amount": {"min": 1},
                        },
                    }
                },
            }
        ],
    }
    shown = seen(people, CONSUMER, {"payload": event})["payload"]
    assert "example.com" not in str(shown)
    assert LOCATION not in str(shown)
    [output] = shown["outputs"]
    assert output["inputFacets"]["dataQualityMetrics"]["columnMetrics"] == {
        "email": {"nullCount": 0, "min": MASK, "quantiles": MASK},
        "amount": {"min": 1},
    }
    assert output["facets"]["dataQualityAssertions"]["assertions"][1]["expected"] == "9"
    assert shown["job"]["facets"]["sourceCode"] == {"language": "python", "sourceCode": MASK}
    assert seen(people, caller(Role.PLATFORM_ADMIN), {"payload": event})["payload"] == event


@pytest.mark.parametrize(
    "document",
    [
        {"dataset": "mart/delays", "location": "jdbc:postgresql://bob:hunter2@db/x?password=hunter3"},
        {"dataset": "mart/delays", "metadata": {"options": {"password": "hunter2", "user": "bob"}}},
        {
            "key": "mart/delays",
            "description": "read it with PASSWORD=hunter2",
            "tags": {"by": "Bearer hunter2hunter2"},
        },
        {"nodes": [{"key": "jdbc:db2://bob:hunter2@host#T"}]},
    ],
)
def test_passwords_are_never_shown(people, document):
    for by in (CONSUMER, caller(Role.PLATFORM_ADMIN)):
        with act_as(acting_of("default")):
            answers = shown(people, by, document), shown_whole(document)
        for answer in answers:
            assert b"hunter" not in answer.body
            assert MASK.encode() in answer.body
    assert b"bob" in answers[0].body or b"by" in answers[0].body


def test_why_an_attempt_failed_is_for_those_who_may_read_what_is_sensitive(people):
    attempt = {
        "number": 1,
        "reason": "ValueError: ann@example.com",
        "failure_kind": "CODE",
        "state": "FAILED",
    }
    report = {"process_key": "crm/people", "attempts": [attempt], "outputs": [{"reason": "superseded"}]}
    hidden = seen(people, CONSUMER, report)
    assert hidden["attempts"] == [{**attempt, "reason": MASK}]
    assert hidden["outputs"] == report["outputs"]
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), report) == report
    assert seen(people, caller(Role.DATA_OWNER, domain="mart"), report) == hidden


@pytest.mark.parametrize(
    "told",
    [
        {"key": "crm/people", "kind": "RUN_FAILED"},
        {"cause_type": "DATASET", "cause": "crm/people", "run_id": str(uuid4())},
    ],
)
def test_alerts_and_incidents_do_not_say_it_either(people, told):
    told = {**told, "reason": "ValueError: ann@example.com"}
    assert seen(people, CONSUMER, [told]) == [{**told, "reason": MASK}]
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), [told]) == [told]
    late = {"key": "crm/people", "kind": "LATE", "reason": "nothing came by 06:00"}
    assert seen(people, CONSUMER, [late]) == [late]


def test_how_a_column_is_made_is_text_of_a_query(people):
    edge = {
        "source_key": "raw/flights",
        "target_key": "crm/people",
        "process": "crm/people",
        "description": "iff(email = 'ann@example.com', 1, 0)",
        "masking": False,
    }
    assert seen(people, CONSUMER, {"edges": [edge]})["edges"][0]["description"] == MASK
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), {"edges": [edge]}) == {"edges": [edge]}


def test_what_else_is_kept_of_a_dataset_is_hidden_where_a_column_is_sensitive(people):
    kept = {"options": {"dbtable": "(SELECT 1)"}, "text": "ann@example.com"}
    hidden = seen(people, CONSUMER, {"dataset": "crm/people", "metadata": kept})
    assert hidden["metadata"] == {"options": MASK, "text": MASK}
    plain = seen(people, CONSUMER, {"dataset": "mart/delays", "metadata": {**kept, "query": SQL}})
    assert plain["metadata"] == {**kept, "query": MASK}


def test_a_run_sees_where_its_own_datasets_are(people):
    from headrace.access.authentication import caller_of
    from headrace.access.tokens import issue_task_token

    task = caller_of(people, None, issue_task_token(people, uuid4(), ["crm/people"], by="test"))
    document = {"dataset": "crm/people", "location": LOCATION}
    assert seen(people, task, document) == document
    assert seen(people, task, {"dataset": "mart/x", "location": LOCATION})["location"] == MASK


def test_a_service_sees_what_it_was_permitted(people):
    document = {"dataset": "crm/people", "location": LOCATION}
    assert seen(people, service(Permission.READ), document)["location"] == MASK
    assert seen(people, service(Permission.READ, Permission.READ_SENSITIVE), document) == document


def test_masking_asks_the_database_once(people, monkeypatch):
    asked = []
    real = transaction

    def counted(engine):
        asked.append(1)
        return real(engine)

    monkeypatch.setattr("headrace.service.masking.transaction", counted)
    page = {
        "items": [{"dataset": key, "location": "x"} for key in ("crm/people", "mart/delays", "raw/flights")]
        * 50
    }
    shown = seen(people, CONSUMER, page)
    assert [item["location"] for item in shown["items"][:3]] == [MASK, "x", "x"]
    assert len(asked) == 1


def test_a_facet_of_a_run_is_of_the_spec_by_its_name_and_version_and_not_by_its_address(two):
    def named(schema: str, **content):
        url = f"https://openlineage.io/spec/facets/{schema}.json#/$defs/{schema.partition('/')[2]}"
        return {"_producer": "https://example.com", "_schemaURL": url, **content}

    parent = {"run": {"runId": uuid(5)}, "job": {"namespace": "a", "name": "b"}}
    facets = {
        "plan": named("1-0-0/PlanRunFacet", plan=SQL),
        "parent": named("9-0-0/ParentRunFacet", **parent, query=SQL),
        "processing_engine": named("1-1-1/ProcessingEngineRunFacet", version="3.5.1", name="spark"),
    }
    assert [each.result for each in ingest(two, run_event(run="told", run_facets=facets))] == [Result.STORED]
    with act_as(acting_of("default")):
        found = told_of(two, "told").facets
        hidden = masked(two, CONSUMER, to_jsonable_python({"facets": found}), "airflow#load")
    assert {name: each.modelled for name, each in found.items()} == {
        "plan": False,
        "parent": False,
        "processing_engine": True,
    }
    assert "ann@example.com" not in str(hidden)
    assert hidden["facets"]["processing_engine"]["content"]["name"] == "spark"


def hidden_of(engine, document, about=None):
    """The document as a consumer sees it."""
    with act_as(acting_of("default")):
        return masked(engine, CONSUMER, document, about)


def test_where_a_dataset_is_known_by_another_name_is_hidden_with_the_name(two):
    names = [
        {"namespace": "headrace://default", "name": "crm/people", "canonical": True, "kind": None},
        {"namespace": "s3://hr-private", "name": "people", "canonical": False, "kind": "LOCATION"},
    ]
    hidden = hidden_of(two, {"names": names}, "crm/people")
    assert hidden["names"] == [names[0], {**names[1], "namespace": MASK, "name": MASK}]


def test_the_query_that_could_not_be_read_is_hidden(two):
    error = {"task": "SELECT 'ann@example.com'", "errorMessage": "no", "taskNumber": 1}
    hidden = hidden_of(two, {"errors": [error]}, "crm/people")
    assert hidden["errors"] == [{"task": MASK, "errorMessage": MASK, "taskNumber": 1}]


def test_partitions_by_a_sensitive_column_are_hidden(two):
    partition = {
        "identifier": "email=ann@example.com",
        "dimensions": {"email": "ann@example.com", "day": "1"},
    }
    document = {"dataset": "crm/people", "partitions": [partition]}
    assert hidden_of(two, document)["partitions"] == [
        {"identifier": MASK, "dimensions": {"email": MASK, "day": "1"}}
    ]
    assert hidden_of(two, {**document, "dataset": "mart/delays"})["partitions"] == [partition]
