"""Generated requests from the API's own document: none of them may be answered with a 500."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import hypothesis
import pytest
import schemathesis
from fastapi import FastAPI
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.schemas import BaseSchema
from sqlalchemy import Engine

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token
from headrace.alerts.heartbeat import ALERTS, JUDGING, record_heartbeat
from headrace.http.security import ORGANISATION
from headrace.service.app import routed
from tests.platform.service.serving import served

load_all_checks()
_CHECKS = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)
_OPERATIONS = [
    (method.upper(), path) for path, methods in routed().openapi()["paths"].items() for method in methods
]


@pytest.fixture
def document(app: FastAPI) -> Iterator[BaseSchema]:
    with served(app) as address:
        yield schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json")


@pytest.mark.slow
def test_answers_whatever_is_sent(document: BaseSchema, catalog: Engine, run_id: UUID) -> None:
    token = issue_service_token(catalog, "fuzz", tuple(Permission), by="test")
    for sensor in (JUDGING, ALERTS):  # without which the service says, rightly, that alerts are not at work
        record_heartbeat(catalog, sensor, datetime.now(UTC), silent_after=timedelta(days=1))
    headers = {"Authorization": f"Bearer {token}"}
    known = {"dataset": "mart/delays", "process": "mart/delays", "tag": "second", "run_id": str(run_id)}
    for method, path in _OPERATIONS:
        operation = document[path][method]

        @hypothesis.settings(
            max_examples=15,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(), is_known=hypothesis.strategies.booleans())
        def send(case: schemathesis.Case, is_known: bool) -> None:
            if is_known:  # an unknown name leads to a refusal
                case.headers.pop(ORGANISATION, None)
                case.path_parameters |= {
                    name: value for name, value in known.items() if name in case.path_parameters
                }
            case.validate_response(case.call(headers=headers), checks=_CHECKS)  # type: ignore[arg-type]

        send()
