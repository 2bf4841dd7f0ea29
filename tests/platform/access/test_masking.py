"""Masked fields of responses, by caller."""

import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace import queries
from headrace.access.audit import entries
from headrace.access.callers import Permission, Role
from headrace.access.sensitivity import MASK, DatasetKey, Public, Sensitive, SubjectKey
from headrace.alerts.records import AlertState
from headrace.api.alerts import AlertRow
from headrace.api.responses import shown
from headrace.catalog.column_lineage import ColumnSource, How, Subtype
from headrace.catalog.masking import visible
from headrace.catalog.records import (
    Check,
    CheckResult,
    CheckStatus,
    DatasetRecord,
    Outcome,
    ProcessRecord,
    RunState,
    Technology,
)
from headrace.catalog.sensitivity import hidden_columns
from headrace.context import act_as
from headrace.openlineage.model import Result
from headrace.publishing.publication import publish
from headrace.queries.facets import FacetRow
from headrace.queries.names import DatasetName
from headrace.queries.process_detail import process, process_id
from headrace.queries.rows import AttemptRow, RunOutput, RunReport, VersionRef
from headrace.registration.declarations import register
from headrace.retention.run_facets import RunDataset
from headrace.severity import Severity
from headrace.slas.events import Kind, SubjectType
from headrace.slas.queries import Incident
from tests.platform.access.conftest import SECRETS, SQL, STATISTICS, caller, principal_of, service
from tests.platform.openlineage.events import facets_of, ingest, run_event, uuid

CONSUMER = caller(Role.DATA_CONSUMER)
LOCATION = "file:/warehouse/crm/people/v9"


@pytest.fixture
def people(two: Any, draft: Any) -> Any:
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


@dataclass(frozen=True)
class Place:
    """A row that names its dataset, or does not."""

    location: Annotated[str, Sensitive.LOCATION]
    dataset: DatasetKey | None = None
    metadata: Annotated[dict[str, Any], Sensitive.METADATA] = field(default_factory=dict)


@dataclass(frozen=True)
class Places:
    rows: tuple[Place, ...]


@dataclass(frozen=True)
class Text:
    key: SubjectKey
    text: Public[str]
    tags: Public[dict[str, str]] = field(default_factory=dict)


def seen(engine: Engine, by: Any, row: Any, about: Any = None) -> Any:
    with act_as(principal_of(by.organisation)):
        return visible(engine, by, row, about)


def test_a_consumer_sees_no_values_of_sensitive_columns(people: Any) -> None:
    row = queries.version(people, "crm/people")
    before = copy.deepcopy(row)
    shown = seen(people, CONSUMER, row)
    assert row == before
    assert shown.version.location == MASK
    assert shown.statistics == {
        "email": {"null_count": 0, "min": MASK, "max": MASK},
        "amount": {"null_count": 1, "min": 0.5, "max": 9.5},
    }
    assert "ann@example" not in str(shown)
    assert "bob@example" not in str(shown)
    assert shown.version.columns == row.version.columns
    assert shown.version.row_count == row.version.row_count


@pytest.mark.parametrize("role", [Role.DATA_OWNER, Role.DATA_STEWARD, Role.PLATFORM_ADMIN])
def test_who_may_sees_all_and_that_is_noted(people: Any, role: Any) -> None:
    row = queries.version(people, "crm/people")
    assert seen(people, caller(role), row) == row
    [entry] = [entry for entry in entries(people) if entry.action == "READ"]
    assert (entry.subject, entry.object) == ("user:test", "crm/people")
    assert set(entry.detail["kinds"]) >= {"LOCATION", "STATISTICS", "CHECK"}


def test_an_owner_of_another_domain_is_as_a_consumer_here(people: Any) -> None:
    row = queries.version(people, "crm/people")
    owner = caller(Role.DATA_OWNER, Role.DATA_CONSUMER, domain="mart")
    assert seen(people, owner, row) == seen(people, CONSUMER, row)
    assert [entry for entry in entries(people) if entry.action == "READ"] == []


def test_what_is_not_sensitive_is_shown_and_not_noted(people: Any) -> None:
    rows = queries.versions(people, "mart/delays")
    assert seen(people, CONSUMER, rows) == rows
    assert seen(people, caller(Role.DATA_OWNER), rows) == rows
    assert [entry for entry in entries(people) if entry.action == "READ"] == []


def test_what_a_check_compares_with_is_hidden_where_its_column_is_sensitive(people: Any) -> None:
    shown = seen(people, CONSUMER, queries.dataset(people, "crm/people"))
    parameters = {check.name: check.parameters for check in shown.checks}
    assert parameters == {"known": {"allowed": MASK}, "sane": {"min_value": 0}}


def test_sql_is_for_those_who_may_read_what_is_sensitive(people: Any) -> None:
    row = process(people, process_id(people, "crm/people"))
    assert row.source == SQL
    assert seen(people, CONSUMER, row).source == MASK
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), row).source == SQL
    assert seen(people, caller(Role.DATA_OWNER, domain="mart"), row).source == MASK


def test_rows_without_sensitive_fields_are_returned_as_they_are(people: Any) -> None:
    row = queries.lineage(people, "mart/report", queries.Direction.UP)
    assert row.edges
    assert seen(people, CONSUMER, row) is row


def test_the_columns_of_older_schemas_stay_sensitive(people: Any, draft: Any) -> None:
    plain = tuple(column.__class__(column.name, column.type) for column in SECRETS)
    register(people, [DatasetRecord("crm/people", "parquet", columns=plain)], [])
    row = queries.version(people, "crm/people")
    assert seen(people, CONSUMER, row).version.location == MASK


@pytest.mark.parametrize(
    "row", [Place(LOCATION, "no/such"), Place(LOCATION), [Place(LOCATION)], Places((Place(LOCATION),))]
)
def test_what_is_not_known_is_hidden(people: Any, row: Any) -> None:
    assert LOCATION not in str(seen(people, CONSUMER, row))
    assert LOCATION not in str(seen(people, caller(Role.DATA_OWNER, domain="mart"), row))
    assert LOCATION in str(seen(people, caller(Role.DATA_OWNER), row))


def test_who_asks_for_one_dataset_is_shown_what_it_is_about(people: Any) -> None:
    row = Places((Place(LOCATION),))
    assert seen(people, CONSUMER, row, "mart/delays") == row
    assert seen(people, CONSUMER, row, "crm/people") == Places((Place(MASK),))


def facet(name: Any, content: Any) -> Any:
    return FacetRow(name, content, datetime.now(UTC), modelled=True)


def test_facets_are_masked_by_their_fields(people: Any) -> None:
    facets = {
        "errorMessage": {
            "message": "no such user ann@example.com",
            "programmingLanguage": "PYTHON",
            "stackTrace": "at ann@example.com",
        },
        "sql": {"query": SQL},
        "sourceCode": {"language": "python", "sourceCode": SQL},
        "dataSource": {"name": "lake", "uri": LOCATION},
        "dataQualityAssertions": {
            "assertions": [
                {"assertion": "isin", "success": False, "column": "email", "actual": "bob@example.com"},
                {"assertion": "max", "success": True, "column": "amount", "expected": "9"},
            ]
        },
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
        },
        "extractionError": {
            "errors": [{"task": "SELECT 'ann@example.com'", "errorMessage": "no", "taskNumber": 1}]
        },
    }
    rows = [facet(name, content) for name, content in facets.items()]
    shown = {row.name: row.content for row in seen(people, CONSUMER, rows, "crm/people")}
    assert "example.com" not in str(shown)
    assert LOCATION not in str(shown)
    assert shown["dataQualityMetrics"]["columnMetrics"] == {
        "email": {"nullCount": 0, "min": MASK, "quantiles": MASK},
        "amount": {"min": 1},
    }
    assert shown["dataQualityAssertions"]["assertions"][1]["expected"] == "9"
    assert shown["sourceCode"] == {"language": "python", "sourceCode": MASK}
    assert shown["extractionError"] == {"errors": [{"task": MASK, "errorMessage": MASK, "taskNumber": 1}]}
    assert seen(people, caller(Role.PLATFORM_ADMIN), rows, "crm/people") == rows


@pytest.mark.parametrize(
    "row",
    [
        Place("jdbc:postgresql://bob:hunter2@db/x?password=hunter3", "mart/delays"),
        Place("", "mart/delays", {"options": {"password": "hunter2", "user": "bob"}}),
        Text("mart/delays", "read it with PASSWORD=hunter2", {"by": "Bearer hunter2hunter2"}),
        Text("jdbc:db2://bob:hunter2@host#T", ""),
    ],
)
def test_passwords_are_never_shown(people: Any, row: Any) -> None:
    for by in (CONSUMER, caller(Role.PLATFORM_ADMIN)):
        with act_as(principal_of("default")):
            answer = shown(people, by, row)
        assert b"hunter" not in answer.body
        assert MASK.encode() in answer.body
    assert b"bob" in answer.body or b"by" in answer.body


def run_report(**changes: Any) -> Any:
    at = datetime(2026, 11, 28, tzinfo=UTC)
    attempt = AttemptRow(1, RunState.FAILED, at, at, "ValueError: ann@example.com", "CODE", None, None, None)
    written = VersionRef(uuid4(), "crm/people", None, "v9")
    output = RunOutput(written, Outcome.SUPERSEDED, "superseded", 1, 0, LOCATION, ())
    return RunReport(
        uuid4(),
        "crm/people",
        "SPARK",
        RunState.FAILED,
        at,
        at,
        (),
        None,
        (attempt,),
        (),
        (output,),
        **changes,
    )


def test_why_an_attempt_failed_is_for_those_who_may_read_what_is_sensitive(people: Any) -> None:
    report = run_report()
    hidden = seen(people, CONSUMER, report)
    assert hidden.attempts == (replace(report.attempts[0], reason=MASK),)
    assert hidden.outputs == (replace(report.outputs[0], location=MASK),)
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), report) == report
    assert seen(people, caller(Role.DATA_OWNER, domain="mart"), report) == hidden


def test_incidents_that_a_run_caused_do_not_say_it_either(people: Any) -> None:
    at = datetime(2026, 11, 28, tzinfo=UTC)
    incident = Incident(
        uuid4(),
        "DATASET",
        "crm/people",
        (),
        "ValueError: ann@example.com",
        "ERROR",
        uuid4(),
        at,
        None,
        None,
        [],
        [],
    )
    assert seen(people, CONSUMER, [incident]) == [replace(incident, reason=MASK)]
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), [incident]) == [incident]
    late = replace(incident, run_id=None, reason="nothing arrived by 06:00")
    assert seen(people, CONSUMER, [late]) == [late]


@pytest.mark.parametrize(("kind", "is_hidden"), [(Kind.RUN_FAILED, True), (Kind.LATE, False)])
def test_alerts_hide_the_message_of_a_failed_run(people: Any, kind: Any, is_hidden: Any) -> None:
    at = datetime(2026, 11, 28, tzinfo=UTC)
    alert = AlertRow(
        alert_id=uuid4(),
        incident_id=None,
        subject_type=SubjectType.DATASET,
        key="crm/people",
        owners=(),
        kind=kind,
        severity=Severity.ERROR,
        state=AlertState.OPEN,
        at=at,
        opened_at=at,
        closed_at=None,
        acknowledged_at=None,
        acknowledged_by=None,
        acknowledged_until=None,
        comment=None,
        acknowledgements=(),
        reason="ValueError: ann@example.com",
        affected=(),
        route=None,
    )
    assert seen(people, CONSUMER, alert).reason == (MASK if is_hidden else alert.reason)
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), alert) == alert


def test_how_a_column_is_made_is_text_of_a_query(people: Any) -> None:
    source = ColumnSource(
        "crm/people",
        "email",
        How.DIRECT,
        Subtype.TRANSFORMATION,
        expression="iff(email = 'ann@example.com', 1, 0)",
    )
    assert seen(people, CONSUMER, source, "crm/people").expression == MASK
    assert seen(people, caller(Role.DATA_OWNER, domain="crm"), source, "crm/people") == source


def test_what_else_is_kept_of_a_dataset_is_hidden_where_a_column_is_sensitive(people: Any) -> None:
    kept = {"options": {"dbtable": "(SELECT 1)"}, "text": "ann@example.com"}
    hidden = seen(people, CONSUMER, Place("", "crm/people", kept))
    assert hidden.metadata == {"options": MASK, "text": MASK}
    plain = seen(people, CONSUMER, Place("", "mart/delays", {**kept, "query": SQL}))
    assert plain.metadata == {**kept, "query": MASK}


def test_a_run_sees_where_its_own_datasets_are(people: Any) -> None:
    from headrace.access.authentication import caller_of
    from headrace.access.tokens import issue_task_token

    task = caller_of(people, None, issue_task_token(people, uuid4(), ["crm/people"], by="test"))
    row = Place(LOCATION, "crm/people")
    assert seen(people, task, row) == row
    assert seen(people, task, Place(LOCATION, "mart/x")).location == MASK


def test_a_service_sees_what_it_was_permitted(people: Any) -> None:
    row = Place(LOCATION, "crm/people")
    assert seen(people, service(Permission.READ), row).location == MASK
    assert seen(people, service(Permission.READ, Permission.READ_SENSITIVE), row) == row


def test_masking_asks_the_database_once(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = hidden_columns

    def counted(engine: Engine, datasets: Any) -> Any:
        asked.append(1)
        return real(engine, datasets)

    monkeypatch.setattr("headrace.catalog.masking.rows.hidden_columns", counted)
    page = [Place("x", key) for key in ("crm/people", "mart/delays", "raw/flights")] * 50
    shown = seen(people, CONSUMER, page)
    assert [row.location for row in shown[:3]] == [MASK, "x", "x"]
    assert len(asked) == 1


def test_a_facet_of_a_run_is_of_the_spec_by_its_name_and_version_and_not_by_its_address(two: Any) -> None:
    def named(schema: str, **content: Any) -> Any:
        url = f"https://openlineage.io/spec/facets/{schema}.json#/$defs/{schema.partition('/')[2]}"
        return {"_producer": "https://example.com", "_schemaURL": url, **content}

    parent = {"run": {"runId": uuid(5)}, "job": {"namespace": "a", "name": "b"}}
    facets = {
        "plan": named("1-0-0/PlanRunFacet", plan=SQL),
        "parent": named("9-0-0/ParentRunFacet", **parent, query=SQL),
        "processing_engine": named("1-1-1/ProcessingEngineRunFacet", version="3.5.1", name="spark"),
    }
    assert [each.result for each in ingest(two, run_event(run="told", run_facets=facets))] == [Result.STORED]
    with act_as(principal_of("default")):
        found = facets_of(two, "told").facets
        hidden = visible(two, CONSUMER, list(found.values()), "airflow#load")
    assert {name: each.modelled for name, each in found.items()} == {
        "plan": False,
        "parent": False,
        "processing_engine": True,
    }
    assert "ann@example.com" not in str(hidden)
    assert {row.name: row for row in hidden}["processing_engine"].content["name"] == "spark"


def test_where_a_dataset_is_known_by_another_name_is_hidden_with_the_name(two: Any) -> None:
    names = [
        DatasetName("headrace://default", "crm/people", True, None),
        DatasetName("s3://hr-private", "people", False, "LOCATION"),
    ]
    assert seen(two, CONSUMER, names, "crm/people") == [
        names[0],
        replace(names[1], namespace=MASK, name=MASK),
    ]


def test_partitions_by_a_sensitive_column_are_hidden(two: Any) -> None:
    partition = {
        "identifier": "email=ann@example.com",
        "dimensions": {"email": "ann@example.com", "day": "1"},
    }
    row = Place("", "mart/delays", {"partitions": [partition]})
    assert seen(two, CONSUMER, row) == row
    use = RunDataset(
        "INPUT",
        uuid4(),
        "crm/people",
        None,
        None,
        {"inputStatistics": {"rowCount": 1, "partitions": [partition]}},
    )
    assert seen(two, CONSUMER, use).facets == {
        "inputStatistics": {
            "rowCount": 1,
            "partitions": [{"identifier": MASK, "dimensions": {"email": MASK, "day": "1"}}],
        }
    }
