"""Events that callers may report."""

from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.access.authentication import caller_of
from headrace.access.callers import Permission, Role
from headrace.access.tokens import issue_task_token
from headrace.catalog.naming import Name
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import Forbidden
from headrace.openlineage.permissions import Report, refusals, report_of, without_foreign_facets
from headrace.settings import settings
from tests.platform.access.conftest import caller, service

OWN = "headrace://default"


def event(run_id: Any, *written: Any, parent: Any = None, inputs: Any = (), **more: Any) -> Any:
    return {
        "eventType": "COMPLETE",
        "run": {
            "runId": str(run_id),
            "facets": {"parent": {"run": {"runId": str(parent)}}} if parent else {},
        },
        "job": {"namespace": "spark", "name": "app"},
        "inputs": list(inputs),
        "outputs": [{"namespace": namespace, "name": name} for namespace, name in written],
        **more,
    }


def why(engine: Engine, by: Any, *events: Any) -> Any:
    return refusals(engine, by, [report_of(each) for each in events])


def test_who_reports_for_the_organisation_is_asked_nothing(two: Any) -> None:
    events = [
        event(uuid4(), ("anything", "at all")),
        {"dataset": {"namespace": OWN, "name": "crm/people"}},
        None,
    ]
    for by in (service(Permission.REPORT), caller(Role.PLATFORM_ADMIN), caller(Role.DATA_OWNER)):
        assert why(two, by, *events) == [None, None, None]


def test_who_may_not_report_is_refused(two: Any) -> None:
    for by in (service(Permission.READ), caller(Role.DATA_CONSUMER), caller(Role.DATA_STEWARD)):
        with pytest.raises(Forbidden, match="may not report"):
            why(two, by, event(uuid4()))


def test_a_token_of_one_domain_reports_outputs_of_it(two: Any) -> None:
    mart = service(Permission.REPORT, domain="mart")
    lake = service(Permission.REPORT, domain="s3://lake")
    good, other, both = (
        event(uuid4(), (OWN, "mart/delays")),
        event(uuid4(), (OWN, "crm/people")),
        event(uuid4(), (OWN, "mart/delays"), (OWN, "crm/people")),
    )
    assert why(two, mart, good, other, both) == [
        None,
        "the output crm/people is not among the domains of this token",
        "the output crm/people is not among the domains of this token",
    ]
    assert why(two, lake, event(uuid4(), ("s3://lake", "raw/x")), good)[0] is None
    assert "mart/delays" in why(two, lake, event(uuid4(), ("s3://lake", "raw/x")), good)[1]
    assert why(two, mart, {"dataset": {"namespace": OWN, "name": "crm/people"}}) != [None]


def test_a_dataset_is_known_by_its_other_names_and_by_the_place_of_its_files(two: Any) -> None:
    with transaction(two) as cursor:
        cursor.execute(
            "INSERT INTO catalog.dataset_name (organisation_id, namespace, name, name_id, dataset_id, reported) "
            "SELECT organisation_id, 'db2://host', 'CRM.PEOPLE', %s, dataset_id, true "
            "FROM catalog.dataset WHERE full_name = 'crm/people' AND organisation_id = %s",
            [uuid4(), current_context().organisation_id],
        )
    place = f"{settings().warehouse_uri.removeprefix('file://')}/mart/delays/20261128T041500Z-1a2b3c4d"
    by_name, by_place = event(uuid4(), ("db2://host", "CRM.PEOPLE")), event(uuid4(), ("file", place))
    assert "crm/people" in why(two, service(Permission.REPORT, domain="db2://host"), by_name)[0]
    assert why(two, service(Permission.REPORT, domain="crm"), by_name, by_place)[0] is None
    assert why(two, service(Permission.REPORT, domain="mart"), by_place) == [None]
    assert why(two, service(Permission.REPORT, domain="crm"), by_place) != [None]


def test_no_dataset_of_another_domain_becomes_one_with_another_by_a_symlink(two: Any) -> None:
    mart = service(Permission.REPORT, domain="mart")

    def linked(name: Any) -> Any:
        identifiers = {"identifiers": [{"namespace": OWN, "name": name, "type": "TABLE"}]}
        return {"namespace": "x", "name": "y", "facets": {"symlinks": identifiers}}

    theirs, nobodys = (event(uuid4(), inputs=[linked(name)]) for name in ("crm/people", "crm/not-there"))
    assert why(two, mart, theirs, nobodys) == [
        "crm/people is not among the domains of this token, and so may not become one with another dataset",
        None,
    ]
    assert why(two, service(Permission.REPORT, domain="crm"), theirs) == [None]


def test_datasets_of_other_domains_cannot_be_renamed(two: Any) -> None:
    mart = service(Permission.REPORT, domain="mart")
    people = {"namespace": OWN, "name": "crm/people"}
    delays = {"namespace": OWN, "name": "mart/delays"}

    def read(dataset: Any, **facets: Any) -> Any:
        return event(uuid4(), inputs=[{**dataset, "facets": facets}])

    def renamed(dataset: Any, before: Any) -> Any:
        change = {"lifecycleStateChange": "RENAME", "previousIdentifier": before}
        return event(uuid4(), outputs=[{**dataset, "facets": {"lifecycleStateChange": change}}])

    owners = {"ownership": {"owners": [{"name": "eve"}]}}
    assert why(two, mart, read(people, schema={"fields": []}), read(delays, **owners)) == [None, None]
    assert (
        why(two, mart, read(people, **owners), read(people, tags={"tags": []}))
        == [
            "crm/people is not among the domains of this token, whose owners, tags, sources and names may be reported"
        ]
        * 2
    )
    assert why(two, mart, renamed(delays, {"namespace": OWN, "name": "mart/old"})) == [None]
    assert "may not become one" in why(two, mart, renamed(delays, people))[0]


def test_what_a_job_explains_counts_as_written(two: Any) -> None:
    mart = service(Permission.REPORT, domain="mart")

    def explaining(name: Any) -> Any:
        entries = [
            {"type": "DATASET", "namespace": OWN, "name": name, "inputs": []},
            {"type": "JOB", "inputs": []},
        ]
        return event(
            uuid4(), job={"namespace": "x", "name": "y", "facets": {"lineage": {"entries": entries}}}
        )

    assert why(two, mart, explaining("mart/delays"), explaining("crm/people")) == [
        None,
        "the output crm/people is not among the domains of this token",
    ]


@pytest.mark.parametrize("facet", ["columnLineage", "lineage"])
def test_lineage_of_inputs_cannot_be_reported(two: Any, facet: Any) -> None:
    """Else he takes from its columns that they are sensitive."""
    people = {"namespace": OWN, "name": "crm/people", "facets": {facet: {"fields": {}}}}
    message = event(uuid4(), (OWN, "mart/delays"), inputs=[people])
    assert "whose owners, tags, sources" in why(two, service(Permission.REPORT, domain="mart"), message)[0]
    assert why(two, service(Permission.REPORT, domain="crm"), event(uuid4(), inputs=[people])) == [None]


def test_job_events_of_other_domains_are_refused(two: Any) -> None:
    """Otherwise the caller could see the job, next to a dataset of theirs, and would count as its reporter."""
    mart = service(Permission.REPORT, domain="mart")
    delays = {"namespace": OWN, "name": "mart/delays", "type": "DATASET"}
    theirs, unknown = ({"namespace": "airflow", "name": name, "type": "JOB"} for name in ("people", "new"))
    with transaction(two) as cursor:
        cursor.execute(
            "UPDATE catalog.process SET process_key = 'airflow#people' "
            "WHERE process_key = 'crm/people' AND organisation_id = %s",
            [current_context().organisation_id],
        )

    def by_job(*entries: Any) -> Any:
        job = {"namespace": "x", "name": "y", "facets": {"lineage": {"entries": list(entries)}}}
        return event(uuid4(), job=job)

    def by_dataset(**facet: Any) -> Any:
        return event(uuid4(), outputs=[{**delays, "facets": {"lineage": facet}}])

    def each_way(job: Any) -> Any:
        return (
            by_job({**job, "inputs": [delays]}),
            by_job({**delays, "inputs": [job]}),
            by_job({**delays, "fields": {"id": {"inputs": [job]}}}),
            by_dataset(inputs=[job]),
            by_dataset(fields={"id": {"inputs": [job]}}),
        )

    refused = "the job airflow#people writes crm/people and nothing that this token may report"
    assert why(two, mart, *each_way(theirs)) == [refused] * 5
    assert why(two, mart, *each_way(unknown), *each_way({"type": "JOB"})) == [None] * 10


def test_processes_of_other_domains_cannot_be_reported(two: Any) -> None:
    mart = service(Permission.REPORT, domain="mart")

    def by(name: Any, namespace: Any = OWN) -> Any:
        return event(uuid4(), job={"namespace": namespace, "name": name})

    assert why(two, mart, by("mart/delays"), by("crm/people", "airflow"), by("crm/people")) == [
        None,
        None,
        "the job crm/people is one of the catalog's own, and not this token's",
    ]


def test_jobs_without_own_outputs_cannot_be_reported(two: Any) -> None:
    mart, crm = (service(Permission.REPORT, domain=domain) for domain in ("mart", "crm"))
    job = {"namespace": "airflow", "name": "people", "facets": {"ownership": {"owners": [{"name": "eve"}]}}}
    with transaction(two) as cursor:
        cursor.execute(
            "UPDATE catalog.process SET process_key = 'airflow#people' "
            "WHERE process_key = 'crm/people' AND organisation_id = %s",
            [current_context().organisation_id],
        )
    message = event(uuid4(), job=job)
    design = {"job": job, "outputs": []}
    refused = "the job airflow#people writes crm/people and nothing that this token may report"
    assert why(two, mart, message, design) == [refused, refused]
    assert why(two, crm, message, design) == [None, None]
    run_id = uuid4()
    by = caller_of(two, None, issue_task_token(two, run_id, ["mart/delays"], by="test"))
    assert why(two, by, event(run_id, job=job)) == [refused]


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("AUTOSYS", "PEOPLE"), ("AUTOSYS", "NIGHT_BOX/PEOPLE"), ("AUTOSYS", "PEOPLE.20261128T041500Z-1a2b3c4d")],
)
def test_a_job_is_known_by_each_of_its_names(two: Any, namespace: Any, name: Any) -> None:
    with transaction(two) as cursor:
        cursor.execute(
            "UPDATE catalog.process SET process_key = 'AUTOSYS/PEOPLE', technology = 'AUTOSYS', "
            "external_name = 'PEOPLE', lifecycle = 'UNSCANNED' "
            "WHERE process_key = 'crm/people' AND organisation_id = %s",
            [current_context().organisation_id],
        )
    message = event(uuid4(), job={"namespace": namespace, "name": name})
    refused = f"the job {namespace}#{name} writes crm/people and nothing that this token may report"
    assert why(two, service(Permission.REPORT, domain="mart"), message) == [refused]
    assert why(two, service(Permission.REPORT, domain="crm"), message) == [None]


@pytest.fixture
def task(two: Any) -> Any:
    run_id = uuid4()
    token = issue_task_token(two, run_id, ["mart/delays"], ["raw/flights"], by="test")
    return run_id, caller_of(two, None, token)


def test_a_run_reports_itself(two: Any, task: Any) -> None:
    run_id, by = task
    whole = event(run_id, (OWN, "mart/delays"), inputs=[{"namespace": "a", "name": "b"}])
    own = event(run_id, job={"namespace": OWN, "name": "mart/delays"})
    assert why(two, by, event(run_id), whole, own) == [None, None, None]
    assert why(two, by, event(run_id, job={"namespace": OWN, "name": "mart/report"})) != [None]


def test_a_run_reports_no_other_run(two: Any, task: Any) -> None:
    run_id, by = task
    other = uuid4()
    assert why(two, by, event(other)) == [
        f"this token reports the run {run_id} and its child runs; {other} is not one of them"
    ]


def test_a_run_reports_no_other_output_than_its_token_was_issued_for(two: Any, task: Any) -> None:
    run_id, by = task
    for output in ("mart/report", "mart/delays2", "raw/flights", "crm/people"):
        assert why(two, by, event(run_id, (OWN, output))) == [
            f"the output {output} is not among the outputs that this token was issued for"
        ]
    assert why(two, by, event(run_id, ("headrace://acme", "mart/delays"))) != [None]


def test_a_run_reports_runs_below_it(two: Any, task: Any) -> None:
    run_id, by = task
    child, grandchild = uuid4(), uuid4()
    assert why(two, by, event(child, (OWN, "mart/delays"), parent=run_id)) == [None]
    _store(two, child, run_id)
    _store(two, grandchild, child)
    assert why(two, by, event(child), event(grandchild, parent=child)) == [None, None]
    assert why(two, by, event(child, (OWN, "crm/people"), parent=run_id)) != [None]


def test_a_run_takes_no_run_of_others_for_a_child(two: Any, task: Any) -> None:
    run_id, by = task
    orphan, others = uuid4(), uuid4()
    _store(two, orphan, None)
    _store(two, others, uuid4())
    assert why(two, by, event(orphan, parent=run_id), event(others, parent=run_id)).count(None) == 0


def test_a_run_makes_no_child_of_a_run_of_others(two: Any, task: Any) -> None:
    """Whichever run it says that all of them began with."""
    run_id, by = task
    others, child = uuid4(), uuid4()
    _store(two, others, None)
    _store(two, child, run_id)

    def below(run: Any, parent: Any) -> Any:
        message = event(run, (OWN, "mart/delays"), parent=parent)
        message["run"]["facets"]["parent"]["root"] = {"run": {"runId": str(run_id)}}
        return message

    refused = f"this token reports the run {run_id} and its child runs; %s is not one of them"
    fresh = uuid4()
    assert why(two, by, below(fresh, others), below(child, others)) == [refused % fresh, refused % child]
    assert why(two, by, below(fresh, child), below(fresh, uuid4()), below(child, run_id)) == [None] * 3
    assert why(two, by, event(run_id, parent=others)) == [None]  # what has started it, it may say


def test_a_run_reports_nothing_outside_of_it(two: Any, task: Any) -> None:
    _, by = task
    job = {"job": {"namespace": "a", "name": "b"}, "outputs": [{"namespace": OWN, "name": "mart/delays"}]}
    dataset = {"dataset": {"namespace": OWN, "name": "mart/delays"}}
    for each in (job, dataset, {}, None, [], {"run": {"runId": 7}}, {"run": {"runId": "x"}}):  # type: ignore[var-annotated]
        [reason] = why(two, by, each)
        assert reason.endswith("the event names no run")


@pytest.mark.parametrize(
    "broken",
    [
        None,
        1,
        [],
        {"outputs": 1},
        {"outputs": [1, {"namespace": 1, "name": None}]},
        {"run": {"facets": {"parent": {"run": []}}}},
        {"inputs": [{"facets": {"symlinks": {"identifiers": [None, {"namespace": "x"}]}}}]},
        {"inputs": [{"facets": ["tags"]}, 3, {"facets": {"tags": 1, "lifecycleStateChange": 2}}]},
        {"dataset": "x"},
    ],
)
def test_what_is_no_event_reports_nothing(broken: Any) -> None:
    assert report_of(broken) == Report()


def test_what_an_event_says_is_read(two: Any) -> None:
    run_id, parent = uuid4(), uuid4()
    read = report_of(event(run_id, ("a", "b"), parent=parent, dataset={"namespace": "c", "name": "d"}))
    written = frozenset({Name("a", "b"), Name("c", "d")})
    assert read == Report(run_id, parent, written=written, job=Name("spark", "app"))


def _store(engine: Engine, run_id: Any, parent: Any) -> None:
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.process_run (run_id, start_ts, organisation_id, process_id, status, attempt, "
            "parent_run_id, partitions) SELECT %s, now(), organisation_id, process_id, 'RUNNING', 1, %s, '{}' "
            "FROM catalog.process WHERE process_key = 'mart/report'",
            [run_id, parent],
        )


def _scan(engine: Engine, name: Any) -> None:
    """A job of a scanned estate, with no known outputs."""
    with transaction(engine) as cursor:
        cursor.execute(
            "INSERT INTO catalog.process (process_id, organisation_id, process_key, technology, trigger_mode, owners, "
            "steps, metadata_json, declaration_hash, external_name, lifecycle) "
            "VALUES (gen_random_uuid(), %s, %s, 'AUTOSYS', 'PROCESS', '{}', '[]', '{}', '', %s, 'ACTIVE')",
            [current_context().organisation_id, f"AUTOSYS/{name}", name],
        )


def test_a_scanned_job_without_known_outputs_takes_a_token_for_every_domain(two: Any, task: Any) -> None:
    _scan(two, "PAYROLL_DONE")
    run_id, by = task
    job = {"namespace": "AUTOSYS", "name": "PAYROLL_DONE"}
    refused = (
        "the job AUTOSYS#PAYROLL_DONE belongs to a scanned estate and has no known outputs: "
        "reporting it takes a token for every domain"
    )
    assert why(two, by, event(uuid4(), job=job, parent=run_id), event(run_id, job=job)) == [refused] * 2
    assert why(two, service(Permission.REPORT, domain="mart"), event(uuid4(), job=job)) == [refused]
    assert why(two, service(Permission.REPORT), event(uuid4(), job=job)) == [None]
    assert why(two, by, event(uuid4(), job={"namespace": "airflow", "name": "new"}, parent=run_id)) == [None]


@pytest.mark.parametrize("facet", ["schema", "documentation", "storage", "symlinks", "dataSource"])
def test_who_read_a_dataset_may_not_describe_it(two: Any, task: Any, facet: Any) -> None:
    run_id, by = task
    theirs = {
        "namespace": "k://b",
        "name": "t3",
        "facets": {facet: {"x": 1}, "version": {"datasetVersion": "7"}},
        "inputFacets": {"dataQualityAssertions": {"assertions": []}, "inputStatistics": {"rowCount": 1}},
    }
    own = {"namespace": OWN, "name": "mart/delays", "facets": {facet: {"x": 1}}}
    [limited] = without_foreign_facets(two, by, [event(run_id, inputs=[theirs, own])])
    assert limited["inputs"] == [
        {
            **theirs,
            "facets": {"version": {"datasetVersion": "7"}},
            "inputFacets": {"inputStatistics": {"rowCount": 1}},
        },
        own,
    ]
    whole = event(run_id, inputs=[theirs])
    assert without_foreign_facets(two, service(Permission.REPORT), [whole, None]) == [whole, None]
    assert without_foreign_facets(two, by, [None, {"inputs": [1]}]) == [None, {"inputs": [1]}]
