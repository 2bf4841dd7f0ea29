"""Lineage sent to DataHub's endpoint: valid runs of each process, again when something changes, and repeated safely.

The server is a contract of our own: no DataHub was tried.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.exports.datahub import PATH
from headrace.exports.exporter import GraphUnavailable
from headrace.exports.synchronisation import SynchronisationResult, synchronise
from headrace.openlineage.parsing import parse
from headrace.settings import settings
from tests.platform.exports.conftest import LONG, Filled

TOKEN = "t0ken"  # noqa: S105 - of the test's server


@dataclass
class Endpoint:
    """What DataHub's endpoint was sent. answers: statuses to give before it accepts."""

    events: list[dict[str, Any]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def names(self) -> list[str]:
        return [each["job"]["name"] for each in self.events]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A server that takes what DataHub's takes: RunEvents, valid by the spec, with a token."""
    kept = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = kept.answers.pop(0) if kept.answers else 200
            if self.path != PATH:
                status = 404
            elif self.headers["Authorization"] != f"Bearer {TOKEN}":
                status = 401
            elif status == 200:
                parse(content)
                assert content["run"]["facets"]["processing_engine"]["name"], "DataHub needs an orchestrator"
                kept.events.append(content)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HEADRACE_DATAHUB__URL", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("HEADRACE_DATAHUB__TOKEN", TOKEN)
    monkeypatch.setattr("headrace.exports.datahub._PAUSES", (0.0, 0.0))
    settings.cache_clear()
    yield kept
    server.shutdown()
    server.server_close()
    settings.cache_clear()


def sync(filled: Filled, **given: Any) -> SynchronisationResult:
    return synchronise(filled.engine, "datahub", current_context().organisation_id, **given)


def settle(filled: Filled, endpoint: Endpoint) -> None:
    """Send everything, and then nothing more."""
    sync(filled)
    sync(filled)
    endpoint.events.clear()


def test_each_process_is_a_run_with_its_datasets(filled: Filled, endpoint: Endpoint) -> None:
    assert sync(filled, is_dry=True).written == 19
    assert endpoint.events == []
    assert sync(filled).whole
    by_name = {each["job"]["name"]: each for each in endpoint.events}
    assert by_name.keys() == {"mart/delays", "mart/report", "load"}
    delays = by_name["mart/delays"]
    assert (delays["eventType"], delays["job"]["namespace"]) == ("COMPLETE", "headrace://default")
    assert delays["run"]["facets"]["processing_engine"]["name"] == "spark"
    [written] = delays["outputs"]
    # DataHub: urn:li:dataset:(urn:li:dataPlatform:headrace,mart/delays,PROD)
    assert (written["namespace"], written["name"]) == ("headrace://default", "mart/delays")
    assert [each["name"] for each in written["facets"]["schema"]["fields"]] == ["id", "delay"]
    [read] = by_name["load"]["inputs"]
    assert (read["namespace"], read["name"]) == ("s3://lake", LONG)
    [sales] = by_name["load"]["outputs"]
    assert sales["namespace"] == "postgres://db:5432"
    assert sales["facets"]["columnLineage"]["fields"].keys() == {"amount"}
    assert "symlinks" not in json.dumps(endpoint.events), "DataHub would take each for a table of Hive"


def test_the_same_state_is_the_same_run(filled: Filled, endpoint: Endpoint) -> None:
    sync(filled)
    runs = {each["job"]["name"]: each["run"]["runId"] for each in endpoint.events}
    sync(filled, whole=True)
    assert {each["job"]["name"]: each["run"]["runId"] for each in endpoint.events[-3:]} == runs


def test_what_changed_is_sent_again_and_nothing_else(filled: Filled, endpoint: Endpoint) -> None:
    settle(filled, endpoint)
    assert sync(filled) == SynchronisationResult(False, 0, 0)
    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET description = 'anew' WHERE full_name = 'mart/delays'")
    assert not sync(filled).whole
    assert sorted(endpoint.names()) == ["mart/delays", "mart/report"]
    endpoint.events.clear()
    with transaction(filled.engine) as cursor:
        cursor.execute(
            "UPDATE catalog.lineage_edge SET valid_to = now() WHERE process_id = %s AND edge_role = 'CONSUMES'",
            [filled.loading],
        )
    sync(filled)
    [event] = endpoint.events
    assert (event["job"]["name"], event["inputs"]) == ("load", [])


def test_a_busy_server_is_asked_again_and_one_refusal_does_not_stop_the_others(
    filled: Filled, endpoint: Endpoint
) -> None:
    endpoint.answers = [503, 429]
    sync(filled)
    assert len(endpoint.events) == 3
    endpoint.events.clear()
    endpoint.answers = [400]
    done = sync(filled, whole=True)
    assert len(endpoint.events) == 2
    [problem] = done.problems
    assert "DataHub refuses the event with HTTP 400" in problem


def test_an_interrupted_one_sends_the_rest_later(filled: Filled, endpoint: Endpoint) -> None:
    settle(filled, endpoint)
    with transaction(filled.engine) as cursor:
        cursor.execute("UPDATE catalog.dataset SET description = 'anew'")
    endpoint.answers = [200, 503, 503, 503]
    with pytest.raises(GraphUnavailable, match="HTTP 503"):
        sync(filled)
    assert not sync(filled).whole
    assert set(endpoint.names()) == {"mart/delays", "mart/report", "load"}
    assert len({each["run"]["runId"] for each in endpoint.events}) == 3


def test_a_wrong_token_says_what_to_check(
    filled: Filled, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_DATAHUB__TOKEN", "other")
    settings.cache_clear()
    with pytest.raises(GraphUnavailable, match=r"HTTP 401.*HEADRACE_DATAHUB__URL and __TOKEN"):
        sync(filled)
