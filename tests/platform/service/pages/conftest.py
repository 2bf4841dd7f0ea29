"""Browsers: one for each role, signed in, without running scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from fastapi import FastAPI
from httpx2 import Response
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Role
from headrace.access.grants import grant
from headrace.access.sessions import open_session, session_of
from headrace.alerts.outbox import decide_next
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.pages.sessions import COOKIE
from headrace.settings import settings
from headrace.severity import Severity
from headrace.slas.events import AlertEvent, Kind, Subject, SubjectType, record
from tests.platform.alerts.making import rules

HTML = {"Accept": "text/html,application/xhtml+xml"}


@dataclass(frozen=True)
class Browser:
    """A browser with a session: it follows redirects, and sends forms with the token of their page."""

    client: TestClient

    def open(self, path: str, status: int = 200) -> str:
        """The page at this address."""
        response = self.client.get(path)
        assert response.status_code == status
        assert response.headers["content-type"].startswith("text/html")
        return response.text

    def post(self, action: str, **fields: str) -> Response:
        """Send a form that no page shows, with the token that those of this session have."""
        token = session_of(self.client.app.state.engine, self.client.cookies[COOKIE]).form_token  # type: ignore[attr-defined]
        return self.client.post(action, data={**fields, "form_token": token})

    def submit(self, page: str, action: str, **fields: str | list[str]) -> Response:
        """Send a form of the page at the address `page`."""
        token = re.search(r'name="form_token" value="(\w+)"', self.client.get(page).text)
        return self.client.post(action, data={**fields, "form_token": token.group(1)})


Browse = Callable[..., Browser]


@pytest.fixture
def browse(app: FastAPI, catalog: Engine) -> Iterator[Browse]:
    """A browser of a user with this role, in a domain or all of them."""
    with TestClient(app) as portal:

        def browser(role: Role = Role.DATA_CONSUMER, user: str = "ann", domain: str = "*") -> Browser:
            grant(catalog, user, role, domain=domain, by="test")
            made = TestClient(
                app,
                raise_server_exceptions=False,
                headers=HTML,
                cookies={COOKIE: open_session(catalog, user)},
                client=("127.0.0.1", 50000),
                base_url="http://127.0.0.1",
            )
            made.portal = portal.portal
            return Browser(made)

        yield browser


@pytest.fixture
def visitor(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser on the machine of a deployment in development, without a session; it does not follow redirects."""
    monkeypatch.setenv("HEADRACE_PRODUCTION", "false")
    settings.cache_clear()
    with TestClient(
        app,
        raise_server_exceptions=False,
        headers=HTML,
        client=("127.0.0.1", 50000),
        base_url="http://127.0.0.1",
        follow_redirects=False,
    ) as client:
        yield client


def raised(
    engine: Engine,
    key: str = "mart/delays",
    *affected: str,
    kind: Kind = Kind.LATE,
    severity: Severity = Severity.ERROR,
    reason: str = "It was due.",
) -> UUID:
    """An alert about a dataset, and those that it affects."""
    found, now = uuid4(), datetime.now(UTC)
    with transaction(engine) as cursor:
        ids = {
            row["full_name"]: row["dataset_id"]
            for row in cursor.execute("SELECT full_name, dataset_id FROM catalog.dataset").fetchall()
        }
        cursor.execute(
            "INSERT INTO catalog.incident (incident_id, organisation_id, cause_type, cause_key, dataset_id, reason, "
            "severity, opened_at) VALUES (%s, %s, 'DATASET', %s, %s, %s, %s, %s)",
            [found, current_context().organisation_id, key, ids[key], reason, severity, now],
        )
        happened = [
            AlertEvent(
                kind if each == key else Kind.LATE,
                severity,
                Subject(SubjectType.DATASET, each, ids[each], ("team:data",)),
                now,
                found,
                {"reason": reason},
            )
            for each in (key, *affected)
        ]
        record(cursor, happened, now)
    decide_next(engine, rules(), now)
    return found
