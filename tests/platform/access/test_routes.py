"""Authorization of the service: a table of every route by every role, of the same and of another organisation."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from headrace import queries
from headrace.access import grants, tokens
from headrace.access.callers import ROLES, Caller, Permission, Role
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.row_security import NARROW_ROLE, ROLE
from headrace.errors import CatalogUnavailable
from headrace.http.security import (
    OPEN,
    OPEN_PAGES,
    SIGNED,
    RouteRule,
    UnguardedRoute,
    connect,
    install,
    requires,
    rules,
)
from headrace.registration.registrations import RegistrationRequest, request
from headrace.service.app import create_app
from headrace.settings import settings
from tests.platform.conftest import DATASETS
from tests.platform.service.serving import application

OTHER = "acme"
# What exists only in organisation `default`, and must not be visible elsewhere.
MARKERS = ("crm/people", "crm/asked", "raw/flights", "ops@example.com", "Delays by day", "mart/report")


@pytest.fixture
def app(two: Engine, development: Any) -> FastAPI:
    return application(two)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def tokens_of(two: Engine, development: Any) -> dict[tuple[str, Role | None], str]:
    """The token of a user of each organisation and role, and of one without any."""
    issued = {}
    for organisation in ("default", OTHER):
        for role in Role:
            name = f"{organisation}-{role}"
            grants.grant(two, name, role, organisation=organisation, by="test")
            issued[organisation, role] = development(name)
    issued["default", None] = development("nobody")
    return issued  # type: ignore[return-value]


def test_every_route_is_guarded_or_open(app: FastAPI) -> None:
    table = rules(app)
    assert len(table) >= 20
    for rule in table:
        assert (rule.permission is None) == (rule.path in OPEN | OPEN_PAGES | SIGNED), rule
    assert {rule.permission for rule in table} >= {
        None,
        Permission.READ,
        Permission.REPORT,
        Permission.REGISTER,
        Permission.REVIEW,
        Permission.OPERATE,
    }


def test_what_a_route_takes_follows_from_what_it_does(app: FastAPI) -> None:
    own = {"/sign-in/organisation", "/links", "/links/forget"}  # which change what is the user's own
    for rule in rules(app):
        if rule.path in OPEN:
            assert rule.method in {"GET", "HEAD"}, rule
        elif rule.path not in SIGNED | OPEN_PAGES | own and rule.method not in {
            "GET",
            "HEAD",
        }:
            assert rule.permission not in {Permission.READ, None}, rule


def test_a_route_without_a_guard_does_not_come_up() -> None:
    app = FastAPI()
    app.add_api_route("/api/v1/forgotten", lambda: {}, methods=["GET"])
    with pytest.raises(UnguardedRoute, match="GET /api/v1/forgotten"):
        install(app)


@pytest.mark.parametrize("role", [None, *Role])
def test_each_route_by_each_role(
    app: FastAPI, client: TestClient, tokens_of: dict[tuple[str, Role | None], str], two: Engine, role: Any
) -> None:
    """With a role of the organisation: refused where it lacks the permission, and only there."""
    headers = {"Authorization": f"Bearer {tokens_of['default', role]}"}
    for rule, path in _asked(app, two):
        answer = client.request(rule.method, path, headers=headers, json=_BODIES.get(rule.path))
        if rule.method == "GET":
            assert client.head(path, headers=headers).status_code == answer.status_code, rule
        allowed = rule.permission is None or (role is not None and rule.permission in ROLES[role])
        if allowed:
            assert answer.status_code not in {401, 403}, (rule, answer.text)
            assert answer.status_code < 500, (rule, answer.text)
            if rule.method == "GET":
                assert answer.status_code == 200, (rule, answer.text)
        else:
            assert answer.status_code == 403, (rule, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


def test_each_route_without_a_token_and_with_a_wrong_one(app: FastAPI, two: Engine) -> None:
    for number, headers in enumerate(
        ({}, {"Authorization": "Bearer hrs_" + "0" * 32 + "_x"}, {"Authorization": "Basic YTpi"})
    ):
        for place, (rule, path) in enumerate(_asked(app, two)):
            # The number of invalid tokens per address is limited.
            client = TestClient(app, client=(f"10.0.{number}.{place}", 1))
            answer = client.request(rule.method, path, headers=headers, json=_BODIES.get(rule.path))
            if rule.permission is None:
                assert answer.status_code == 200, rule
            else:
                assert answer.status_code == 401, (rule, answer.text)
                assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("role", list(Role))
def test_each_route_for_what_belongs_to_another_organisation(
    app: FastAPI, client: TestClient, tokens_of: dict[tuple[str, Role | None], str], two: Engine, role: Any
) -> None:
    """An object does not exist, whatever the caller's role at home; lists do not contain it; it is not changed."""
    headers = {"Authorization": f"Bearer {tokens_of[OTHER, role]}"}
    asked, before = _asked(app, two), _everything(two)
    for rule, path in asked:
        if rule.permission in (None, Permission.OPERATE):
            continue
        answer = client.request(rule.method, path, headers=headers, json=_BODIES.get(rule.path))
        assert answer.status_code < 500, (rule, answer.text)
        if rule.permission not in ROLES[role]:
            assert answer.status_code == 403, rule
        elif "{" in rule.path:
            assert answer.status_code == 404, (rule, answer.text)
        message = answer.text.replace(path.removeprefix("/api/v1"), "")  # echoed to the caller
        for marker in MARKERS:
            assert marker not in message or marker in path, (rule, marker)
    assert _everything(two) == before


def test_naming_another_organisation_opens_nothing(
    client: TestClient, tokens_of: dict[tuple[str, Role | None], str]
) -> None:
    for role in Role:
        headers = {"Authorization": f"Bearer {tokens_of[OTHER, role]}", "Headrace-Organisation": "default"}
        assert client.get("/api/v1/dataset", headers=headers).status_code == 403


def test_lists_have_what_is_ones_own(
    client: TestClient, tokens_of: dict[tuple[str, Role | None], str]
) -> None:
    def keys(organisation: Any) -> Any:
        headers = {"Authorization": f"Bearer {tokens_of[organisation, Role.DATA_CONSUMER]}"}
        return [item["key"] for item in client.get("/api/v1/dataset", headers=headers).json()["items"]]

    assert keys("default") == sorted([record.key for record in DATASETS] + ["crm/people"])
    assert keys(OTHER) == ["hr/people", "mart/delays"]


def test_a_role_of_one_domain_sees_its_datasets(two: Engine, client: TestClient, development: Any) -> None:
    grants.grant(two, "ann", Role.DATA_CONSUMER, domain="mart", by="test")
    headers = {"Authorization": f"Bearer {development('ann')}"}
    listed = client.get("/api/v1/dataset", headers=headers).json()["items"]
    assert [item["key"] for item in listed] == ["mart/delays", "mart/report"]
    assert client.get("/api/v1/dataset/mart/delays", headers=headers).status_code == 200
    hidden = client.get("/api/v1/dataset/crm/people", headers=headers)
    absent = client.get("/api/v1/dataset/crm/nothing", headers=headers)
    assert hidden.status_code == absent.status_code == 404
    found = client.get("/api/v1/search", params={"q": "people"}, headers=headers)
    assert "crm/people" not in found.text


def test_what_is_sensitive_is_masked_in_every_answer(
    app: FastAPI, client: TestClient, tokens_of: dict[tuple[str, Role | None], str], two: Engine
) -> None:
    consumer, owner = (
        {"Authorization": f"Bearer {tokens_of['default', role]}"}
        for role in (Role.DATA_CONSUMER, Role.DATA_OWNER)
    )
    shown_to_owner = 0
    for rule, path in _asked(app, two):
        if rule.method != "GET" or rule.permission is not Permission.READ:
            continue
        answer = client.get(path, headers=consumer).text
        assert "ann@example.com" not in answer, rule
        assert "/warehouse/crm/people" not in answer, rule
        seen = client.get(path, headers=owner).text
        shown_to_owner += "ann@example.com" in seen or "/warehouse/crm/people" in seen
    assert shown_to_owner >= 2
    with transaction(two) as cursor:
        [row] = cursor.execute(
            "SELECT DISTINCT subject FROM catalog.audit_entry WHERE action = 'READ'"
        ).fetchall()
    assert row["subject"] == "user:default-DATA_OWNER"


def test_a_run_reads_its_datasets_and_reports_itself(client: TestClient, two: Engine) -> None:
    run_id = uuid4()
    token = tokens.issue_task_token(two, run_id, ["mart/delays"], ["raw/flights"], by="test")
    headers = {"Authorization": f"Bearer {token}"}
    listed = client.get("/api/v1/dataset", headers=headers).json()["items"]
    assert [item["key"] for item in listed] == ["mart/delays", "raw/flights"]
    assert client.get("/api/v1/dataset/mart/report", headers=headers).status_code == 404
    assert client.get("/api/v1/registration", headers=headers).json()["items"] == []
    assert client.post("/api/v1/lineage", json=_event(uuid4()), headers=headers).status_code == 403
    assert (
        client.post("/api/v1/lineage", json=_event(run_id, "crm/people"), headers=headers).status_code == 403
    )
    taken = client.post("/api/v1/lineage", json=_event(run_id, "mart/delays"), headers=headers)
    assert taken.status_code in {200, 201}, taken.text
    with transaction(two) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT reported_by FROM catalog.run_event WHERE run_id = %s", [run_id]
        ).fetchall()
    assert rows == [{"reported_by": f"task:{run_id}"}]


def test_reports_of_one_organisation_stay_there(client: TestClient, two: Engine) -> None:
    grants.grant(two, "eve", Role.DATA_OWNER, organisation=OTHER, by="test")
    token = tokens.issue_service_token(two, "airflow", [Permission.REPORT], organisation=OTHER, by="test")
    taken = client.post(
        "/api/v1/lineage",
        json=_event(uuid4(), "crm/people", namespace=f"headrace://{OTHER}"),
        headers={"Authorization": f"Bearer {token}"},
    )
    assert taken.status_code in {200, 201}, taken.text
    with transaction(two) as cursor:
        rows = cursor.execute(
            "SELECT organisation.name FROM catalog.run_event JOIN catalog.organisation USING (organisation_id) "
            "WHERE reported_by = 'service:airflow'"
        ).fetchall()
    assert rows == [{"name": OTHER}]


def test_the_trail_is_read_page_by_page_by_those_who_may(
    client: TestClient, two: Engine, tokens_of: dict[tuple[str, Role | None], str], development: Any
) -> None:
    headers = {"Authorization": f"Bearer {tokens_of['default', Role.DATA_STEWARD]}"}
    found, cursor = [], None
    while True:
        page = client.get(
            "/api/v1/audit",
            params={"limit": 3, "cursor": cursor} if cursor else {"limit": 3},
            headers=headers,
        )
        found += page.json()["items"]
        cursor = page.json()["next"]
        if cursor is None:
            break
    assert len(found) == 4
    assert [row["audit_id"] for row in found] == sorted((row["audit_id"] for row in found), reverse=True)
    of_one = client.get("/api/v1/audit", params={"of": "user:default-DATA_OWNER"}, headers=headers).json()[
        "items"
    ]
    assert [row["detail"]["role"] for row in of_one] == ["DATA_OWNER"]
    grants.grant(two, "ann", Role.DATA_STEWARD, domain="mart", by="test")
    refused = client.get("/api/v1/audit", headers={"Authorization": f"Bearer {development('ann')}"})
    assert refused.status_code == 403
    assert "only some domains" in refused.json()["detail"]


# The dependency by itself


@pytest.fixture
def small(two: Engine, development: Any) -> TestClient:
    app = FastAPI()

    def seen() -> dict[str, object]:
        with transaction(two) as cursor:
            who = cursor.execute("SELECT current_user AS who, catalog.caller_subject() AS subject").fetchone()
        return {
            **who,  # type: ignore[dict-item]
            "keys": [row.key for row in queries.datasets(two).rows],
            "of": str(current_context().organisation_id),
        }

    def sync(caller: Caller = Depends(requires(Permission.READ))) -> dict[str, object]:  # noqa: B008
        return {"caller": caller.subject, **seen()}

    async def asynchronous(caller: Caller = Depends(requires(Permission.READ))) -> dict[str, object]:  # noqa: B008
        return {"caller": caller.subject, **seen()}

    app.add_api_route("/sync", sync)
    app.add_api_route("/async", asynchronous)
    from headrace.http import security

    app.router.on_startup = []
    original = security.OPEN
    security.OPEN = original | {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc"}
    try:
        install(app)
        connect(app, two)
    finally:
        security.OPEN = original
    return TestClient(app)


@pytest.mark.parametrize("path", ["/sync", "/async"])
def test_a_handler_works_for_its_caller(small: TestClient, two: Engine, development: Any, path: Any) -> None:
    grants.grant(two, "ann", Role.DATA_CONSUMER, domain="mart", by="test")
    grants.grant(two, "bob", Role.DATA_CONSUMER, organisation=OTHER, by="test")
    ours = current_context().organisation_id
    for _ in range(2):
        ann = small.get(path, headers={"Authorization": f"Bearer {development('ann')}"}).json()
        bob = small.get(path, headers={"Authorization": f"Bearer {development('bob')}"}).json()
        assert (ann["caller"], ann["who"], ann["keys"]) == (
            "user:ann",
            NARROW_ROLE,
            ["mart/delays", "mart/report"],
        )
        assert (bob["subject"], bob["who"], bob["keys"]) == ("user:bob", ROLE, ["hr/people", "mart/delays"])
        assert ann["of"] == str(ours) != bob["of"]
        assert current_context().organisation_id == ours


def test_where_postgresql_cannot_keep_callers_apart_the_service_does_not_come_up(
    two: Engine, development: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.http.security.NARROW_ROLE", "headrace_missing")
    with pytest.raises(CatalogUnavailable, match="CREATE ROLE headrace_missing NOLOGIN"):
        create_app(two)


def test_the_development_issuer_is_not_asked_in_production(
    two: Engine, monkeypatch: pytest.MonkeyPatch, development: Any
) -> None:
    token = development("ann")
    grants.grant(two, "ann", Role.PLATFORM_ADMIN, by="test")
    monkeypatch.setenv("HEADRACE_PRODUCTION", "true")
    settings.cache_clear()
    with TestClient(create_app(two)) as client:
        answer = client.get("/api/v1/dataset", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


# The requests for each route


_ALERT = """
INSERT INTO catalog.alert (alert_id, organisation_id, subject_type, subject, dataset_id, owners, kind, severity, state,
                           at, opened_at, facts, affected, round, event_count)
SELECT md5('alert')::uuid, organisation_id, 'DATASET', full_name, dataset_id, owners, 'RUN_FAILED', 'ERROR', 'OPEN',
       now(), now(), '{"reason": "ann@example.com is not a number"}', '{"raw/flights": []}', 0, 1
FROM catalog.dataset WHERE organisation_id = %s AND full_name = 'crm/people'
ON CONFLICT (alert_id) DO UPDATE SET round = 0
RETURNING alert_id
"""
_INCIDENT = """
INSERT INTO catalog.incident (incident_id, organisation_id, cause_type, cause_key, dataset_id, reason,
                              severity, opened_at)
SELECT md5('incident')::uuid, organisation_id, 'DATASET', full_name, dataset_id, 'late', 'ERROR', now()
FROM catalog.dataset WHERE organisation_id = %s AND full_name = 'crm/people'
ON CONFLICT (incident_id) DO UPDATE SET reason = 'late'
RETURNING incident_id
"""
_BODIES = {
    "/api/v1/sla/outages": {
        "subjects": "mart/*",
        "begins_at": "2030-01-01T00:00:00Z",
        "ends_at": "2030-01-02T00:00:00Z",
        "reason": "the cluster moves",
    },
    "/api/v1/alert/{alert_id}/acknowledge": {},
    "/api/v1/alert/{alert_id}/hand-over": {"to": "bob"},
    "/api/v1/lineage": {},
    "/api/v1/lineage/batch": [],
    "/api/v1/run_event": {},
    "/api/v1/dataset/register": {"key": "mart/asked", "format": "csv", "owners": ["team:a"]},
    "/api/v1/access/grant": {"user": "cem", "role": "DATA_CONSUMER"},
    "/api/v1/access/revoke": {"user": "cem", "role": "DATA_CONSUMER"},
    "/api/v1/access/token": {"name": "airflow", "permissions": ["report"]},
    "/api/v1/access/token/revoke": {"name": "airflow"},
    "/api/v1/alert/{alert_id}/resolve": {"comment": "x"},
    "/api/v1/candidate/decide": {"decisions": [{"pattern": "/data/x.csv", "decision": "reject"}]},
    "/api/v1/dataset/{dataset:path}/rollback": {"reason": "x"},
    "/api/v1/dataset/{dataset:path}/sensitive/accept": {"column": "x"},
    "/api/v1/dataset/{dataset:path}/sensitive/dismiss": {"column": "x", "note": "x"},
    "/api/v1/dataset/{dataset:path}/pin": {"tag": "first", "reason": "x"},
    "/api/v1/dataset/{dataset:path}/unpin": {},
    "/api/v1/dataset/{dataset:path}/materialize": {},
    "/api/v1/dataset/{dataset:path}/deprecate": {"reason": "x"},
    "/api/v1/dataset/{dataset:path}/retire": {"reason": "x"},
    "/api/v1/dataset/{dataset:path}/restore": {"reason": "x"},
    "/api/v1/registration/{registration_id}/approve": {"comment": "x"},
    "/api/v1/registration/{registration_id}/reject": {"comment": "x"},
}
_SCAN = """
INSERT INTO catalog.estate_scan (scan_id, organisation_id, instance, scanned_by, files, counts, changes, findings)
VALUES ('00000000-0000-0000-0000-00000000005c', %s, '', 'test', '[]', '{}', '{}', '[]')
ON CONFLICT (scan_id) DO UPDATE SET instance = excluded.instance
RETURNING scan_id
"""
_QUERIES = {
    "/api/v1/dataset/named": "namespace=headrace://default&name=crm/people",
    "/api/v1/lineage/path": "source=crm/people&target=crm/people",
    "/api/v1/night": "since=2026-01-01T00:00Z&until=2026-01-02T00:00Z",
    "/api/v1/night/plan": "since=2026-01-01T00:00Z&until=2026-01-02T00:00Z",
    "/api/v1/search": "q=people",
    "/api/v1/run": "run={run_id}",
    "/api/v1/sla/history": "key=crm/people",
    "/api/v1/sla/explanation": "key=crm/people",
    "/api/v1/dataset/{dataset:key}/differences": "before={tag}&after={tag}",
    "/api/v1/dataset/{dataset:key}/column-lineage-changes": "before={tag}&after={tag}",
}


def _asked(app: FastAPI, engine: Engine) -> list[tuple[RouteRule, str]]:
    """Each route with an address that names something of organisation `default`."""
    ids = _ids(engine)
    asked = []
    for rule in rules(app):
        if (
            rule.by_session
            or rule.path in OPEN_PAGES
            or rule.path.startswith("/api/v1/docs")
            or rule.path.endswith("openapi.json")
            or rule.method == "HEAD"
            or rule.path
            in SIGNED | {"/health/alerts"}  # whose answers are a matter of signatures and of time
        ):
            continue
        path = rule.path
        for name, value in ids.items():
            for kind in ("", ":path", ":key"):
                path = path.replace(f"{{{name}{kind}}}", value)
        assert "{" not in path, f"say what stands for the parameters of {rule.path}"
        query = _QUERIES.get(rule.path, "").format(**ids)
        asked.append((rule, f"{path}?{query}" if query else path))
    return asked


def _ids(engine: Engine) -> dict[str, str]:
    with transaction(engine) as cursor:
        organisation = current_context().organisation_id
        run = cursor.execute(
            "SELECT run_id FROM catalog.process_run JOIN catalog.process USING (process_id) "
            "WHERE process.organisation_id = %s AND process_key = 'crm/people'",
            [organisation],
        ).fetchone()
        version = cursor.execute(
            "SELECT version_tag FROM catalog.dataset_version JOIN catalog.dataset USING (dataset_id) "
            "WHERE full_name = 'crm/people'"
        ).fetchone()
        waiting = cursor.execute(
            "SELECT reg_id FROM catalog.dataset_registration ORDER BY submitted_at"
        ).fetchone()
        registration = waiting["reg_id"] if waiting else _request(cursor)
        alert = cursor.execute(_ALERT, [organisation]).fetchone()
        incident = cursor.execute(_INCIDENT, [organisation]).fetchone()
        scan = cursor.execute(_SCAN, [organisation]).fetchone()
    return {
        "dataset": "crm/people",
        "process": "crm/people",
        "run_id": str(run["run_id"]),
        "tag": version["version_tag"],
        "registration_id": str(registration),
        "scan_id": str(scan["scan_id"]),
        "alert_id": str(alert["alert_id"]),
        "incident_id": str(incident["incident_id"]),
    }


def _request(cursor: Any) -> UUID:
    return request(
        cursor, RegistrationRequest("crm/asked", "csv", owners=("team:a",)), by="test"
    ).registration_id


def _everything(engine: Engine) -> str:
    """All of organisation `default` that a caller could change."""
    with transaction(engine) as cursor:
        return str(
            [
                cursor.execute(
                    f"SELECT * FROM catalog.{table} WHERE organisation_id = %s ORDER BY 1, 2",  # noqa: S608
                    [current_context().organisation_id],
                ).fetchall()
                for table in (
                    "dataset",
                    "dataset_registration",
                    "process_run",
                    "run_event",
                    "dataset_version",
                    "alert",
                )
            ]
        )


def _event(run_id: Any, *outputs: Any, namespace: Any = "headrace://default") -> Any:
    return {
        "eventType": "START",
        "eventTime": "2026-11-28T12:00:00Z",
        "producer": "https://example.com/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(run_id)},
        "job": {"namespace": "test", "name": "job"},
        "inputs": [],
        "outputs": [{"namespace": namespace, "name": name} for name in outputs],
    }
