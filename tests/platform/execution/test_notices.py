"""Systems that are notified by a request or by a procedure of their database."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest

from headrace.catalog.records import Outcome, Version
from headrace.connections.database import Database
from headrace.execution.notices import HttpRequest, NoticeFailed, ProcedureCall, described, give, notify
from tests.platform.connections.conftest import database  # noqa: F401 - a fixture

VERSION = Version(
    version_id=uuid4(),
    dataset="risk/exposure",
    partition="2026-11-28",
    tag="20261129T040000Z-0a1b2c3d",
    location="/w/risk/exposure",
    format="parquet",
    columns=(),
    row_count=5,
    byte_size=10,
    file_count=1,
    checksum="x",
    schema_hash="x",
    code_version=None,
    fingerprint=None,
    run_id=None,
    outcome=Outcome.PUBLISHED,
    created_at=datetime(2026, 11, 29, tzinfo=UTC),
)


class Receiver(BaseHTTPRequestHandler):
    """An endpoint that keeps what it gets, and answers as it is told."""

    status = 202
    received: list[tuple[str, dict[str, str], Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.append((self.path, dict(self.headers), body))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    Receiver.received.clear()
    Receiver.status = 202
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_request_has_the_version_and_a_key_by_which_repetitions_are_known(
    receiver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNS_TOKEN", "s3cret")
    notice = HttpRequest(
        f"{receiver}/new/{{dataset}}?day={{partition}}", {"Authorization": "Bearer ${RUNS_TOKEN}"}
    )

    give(notice, VERSION)

    [(path, headers, body)] = Receiver.received
    assert path == "/new/risk%2Fexposure?day=2026-11-28"
    assert headers["Authorization"] == "Bearer s3cret"
    assert headers["Idempotency-Key"] == str(VERSION.version_id)
    assert (body["dataset"], body["partition"], body["row_count"]) == ("risk/exposure", "2026-11-28", 5)
    assert "s3cret" not in described(notice, VERSION)


def test_a_request_that_is_refused_is_tried_again_and_then_a_failure(receiver: str) -> None:
    Receiver.status = 503
    [result] = notify([HttpRequest(receiver, {})], [VERSION], pauses=(0.0, 0.0))
    assert result.failed == (f"POST {receiver}: it answers with HTTP 503",)
    assert len(Receiver.received) == 3
    with pytest.raises(NoticeFailed, match="the environment variable MISSING_TOKEN"):
        give(HttpRequest(receiver, {"X": "${MISSING_TOKEN}"}), VERSION)


def test_a_procedure_gets_the_placeholders_as_bound_values(database: Database) -> None:  # noqa: F811
    database.execute("CREATE TABLE shop.told (dataset VARCHAR(40), day VARCHAR(40))")
    notice = ProcedureCall("crm", "INSERT INTO shop.told VALUES ({dataset}, {partition})")

    give(notice, VERSION)

    [row] = database.query("SELECT dataset, day FROM shop.told")
    assert list(row.values()) == ["risk/exposure", "2026-11-28"]
    assert described(notice, VERSION) == "crm: INSERT INTO shop.told VALUES ('risk/exposure', '2026-11-28')"
    with pytest.raises(NoticeFailed, match="connection crm"):
        give(ProcedureCall("crm", "CALL shop.missing({version})"), VERSION)
    with pytest.raises(NoticeFailed, match="There is no connection 'other'"):
        give(ProcedureCall("other", "CALL shop.missing({version})"), VERSION)
