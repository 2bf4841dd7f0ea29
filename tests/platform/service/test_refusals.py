"""Every invalid request gets a problem document, with the invalid field."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from headrace.access.callers import Permission
from headrace.access.grants import add_organisation
from headrace.database.connection import engine_for
from headrace.http import bodies, protocol
from headrace.http.limits import Limits
from tests.paths import WAIT_SECONDS
from tests.platform.service.conftest import Ask, run_event
from tests.platform.service.serving import served

PROBLEM = "application/problem+json"


def test_says_what_is_wrong_and_where(reader: TestClient) -> None:
    answer = reader.get("/api/v1/dataset/mart/delays/lineage", params={"depth": 0})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == PROBLEM
    problem = answer.json()
    assert problem["errors"][0]["field"] == "query.depth"
    assert "query.depth" in problem["detail"]
    assert problem["instance"] == "/api/v1/dataset/mart/delays/lineage"
    assert problem["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/dataset/mart/nothing", 404),
        ("/api/v1/dataset/00000000-0000-0000-0000-000000000000", 404),
        ("/api/v1/dataset/mart/delays/versions/nothing", 404),
        ("/api/v1/dataset/mart/report/last-success", 404),
        ("/api/v1/dataset/named?namespace=a&name=b", 404),
        ("/api/v1/process/nothing", 404),
        ("/api/v1/run/00000000-0000-0000-0000-000000000000", 404),
        ("/api/v1/run/what", 422),
        ("/api/v1/registration/00000000-0000-0000-0000-000000000000", 404),
        ("/api/v1/nothing", 404),
        ("/nothing", 404),
        ("/api/v1/dataset?cursor=tampered", 400),
        ("/api/v1/dataset/mart/delays/versions?cursor=WzEsMl0", 400),
        ("/api/v1/search?q=delays&cursor=Wy01XQ", 400),
        ("/api/v1/dataset?limit=0", 422),
        ("/api/v1/dataset?limit=100000", 422),
        ("/api/v1/dataset?search=a%00b", 400),
        ("/api/v1/dataset/a%00b", 400),
        ("/api/v1/dataset/mart/delays/lineage?as_of=2026-01-01T00:00:00", 422),
        ("/api/v1/dataset/mart/delays/lineage?column=delay", 422),
        ("/api/v1/dataset/mart/delays/lineage?level=version&version=1&as_of=2026-01-01T00:00:00Z", 422),
    ],
)
def test_refuses(reader: TestClient, path: str, status: int) -> None:
    answer = reader.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    assert answer.json()["status"] == status


def test_refuses_a_method_that_is_not_there(reader: TestClient) -> None:
    answer = reader.delete("/api/v1/dataset/mart/delays")
    assert answer.status_code == 405
    assert answer.headers["content-type"] == PROBLEM
    assert "GET" in answer.headers["allow"]


def test_keeps_the_request_id_if_it_is_valid(reader: TestClient) -> None:
    assert reader.get("/health/live", headers={"X-Request-ID": "mine-1"}).headers["x-request-id"] == "mine-1"
    made = reader.get("/health/live", headers={"X-Request-ID": 'no"id\t'}).headers["x-request-id"]
    assert UUID(hex=made)


def test_wants_a_token(app: FastAPI, ask: Ask) -> None:
    client = ask(Permission.READ)
    client.headers.pop("Authorization")
    answer = client.get("/api/v1/dataset")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.headers["content-type"] == PROBLEM
    wrong = client.get("/api/v1/dataset", headers={"Authorization": "Bearer hrs_wrong"})
    assert wrong.status_code == 401


def test_says_503_while_the_database_is_away(app: FastAPI, reporter: TestClient) -> None:
    away = engine_for("postgresql://127.0.0.1:1/away")
    app.state.guard = replace(app.state.guard, engine=away)
    app.state.engine = away
    for answer in (
        reporter.post("/api/v1/lineage", json=run_event()),
        reporter.get("/api/v1/dataset/mart/delays"),
        reporter.get("/health/ready"),
    ):
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["content-type"] == PROBLEM
        assert "127.0.0.1" not in answer.text
    assert reporter.get("/health/live").status_code == 200


def test_internal_errors_are_not_exposed(
    app: FastAPI, reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: Any) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr("headrace.api.processes.process_page", fail)
    answer = reader.get("/api/v1/process")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == PROBLEM
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] == answer.json()["request_id"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {}, 400),
        (b"{", {}, 400),
        (b"\xff\xfe{}", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b'{"a": ' + b"9" * 10_000 + b"}", {}, 400),
        (b"[]", {}, 422),
        (b"null", {}, 422),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Encoding": "br"}, 415),
        (b"no gzip", {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(b"{}" * 1000, mtime=0)[:-20], {"Content-Encoding": "gzip"}, 400),
        (b" " * (bodies.MAX_BODY_BYTES + 1), {}, 413),
        (gzip.compress(b" " * (bodies.MAX_BODY_BYTES + 1), mtime=0), {"Content-Encoding": "gzip"}, 413),
    ],
)
def test_refuses_bodies(reporter: TestClient, body: bytes, headers: dict[str, str], status: int) -> None:
    answer = reporter.post(
        "/api/v1/lineage", content=body, headers={"Content-Type": "application/json", **headers}
    )
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM


@pytest.mark.parametrize("path", ["lineage", "lineage/batch", "run_event", "dataset/register"])
def test_reads_json_alone(admin: TestClient, path: str) -> None:
    answer = admin.post(f"/api/v1/{path}", content=b"{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415, answer.text
    assert answer.json()["errors"][0]["field"] == "header.content-type"


def test_who_sends_too_much_hears_why(app: FastAPI, reporter: TestClient) -> None:
    with served(app) as address, socket.create_connection(("127.0.0.1", urlsplit(address).port)) as client:
        size = 3 * bodies.MAX_BODY_BYTES
        head = (
            "POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n"
            "Authorization: {}\r\n\r\n"
        )
        client.sendall(head.format(size, reporter.headers["authorization"]).encode())
        client.sendall(b" " * size)
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("length", ["Content-Length: 15728640", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("token", ["", "Authorization: Bearer hrs_" + "0" * 32 + "_x\r\n"])
def test_a_large_body_without_a_valid_token_is_not_read(app: FastAPI, length: str, token: str) -> None:
    """Otherwise some connections without a token would fill the memory."""
    with served(app) as address, socket.create_connection(("127.0.0.1", urlsplit(address).port)) as client:
        client.sendall(f"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\n{length}\r\n{token}\r\n".encode())
        client.settimeout(WAIT_SECONDS)
        assert client.recv(100).startswith(b"HTTP/1.1 401 ")  # nothing of the body was sent


def test_a_connection_whose_headers_do_not_arrive_is_closed(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a thousand of them would shut out everybody for good."""
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    with served(app) as address:
        for sent in (b"", b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: "):
            with socket.create_connection(("127.0.0.1", urlsplit(address).port)) as client:
                client.sendall(sent)
                client.settimeout(WAIT_SECONDS)
                assert client.recv(1) == b""
        assert httpx.get(f"{address}/health/live").status_code == 200


def test_who_never_comes_to_the_end_of_his_headers_is_cut_short(app: FastAPI) -> None:
    with served(app) as address:
        for piece in (b"a" * 1000, b"a\r\nX-B: b\r\nX-C: "):
            with socket.create_connection(("127.0.0.1", urlsplit(address).port)) as client:
                client.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: ")
                client.sendall(piece * (protocol.MAX_HEAD_BYTES // len(piece) + 1))
                head, _, body = client.recv(10_000).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
                assert "more than 65,536 bytes" in json.loads(body)["detail"]
                assert client.recv(1) == b""
        large = {"X-A": "a" * 60_000}
        assert httpx.get(f"{address}/health/live", headers=large).status_code == 200


def test_unpacks_members_one_after_the_other() -> None:
    assert bodies.unpacked(gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_refuses_a_body_packed_in_a_million_pieces_as_soon_as_others() -> None:
    packed = gzip.compress(b"") * 500_000
    began = time.process_time()
    with pytest.raises(zlib.error, match="more than 1000 members"):
        bodies.unpacked(packed)
    assert time.process_time() - began < 1


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits allow nothing more while a test runs, however long that takes."""
    monkeypatch.setattr("headrace.http.limits.time", SimpleNamespace(monotonic=lambda: 0.0))


@pytest.mark.usefixtures("stopped_clock")
def test_slows_down_who_asks_too_often() -> None:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("well")(scope, receive, send)

    client = TestClient(Limits(application, rate=1))
    answers = [client.get("/api", headers={"Authorization": "Bearer one"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["retry-after"] == "1"
    assert answers[2].headers["content-type"] == PROBLEM
    assert client.get("/api", headers={"Authorization": "Bearer two"}).status_code == 200
    assert {client.get("/health/live").status_code for _ in range(5)} == {200}


@pytest.mark.usefixtures("stopped_clock")
def test_refuses_the_next_of_many_wrong_tokens(app: FastAPI, ask: Ask) -> None:
    client = ask(Permission.READ)
    wrong = [
        client.get("/api/v1/dataset", headers={"Authorization": f"Bearer wrong{number}"}).status_code
        for number in range(80)
    ]
    assert wrong[0] == 401
    assert wrong[-1] == 429
    assert client.get("/api/v1/dataset").status_code == 429


@pytest.mark.usefixtures("stopped_clock")
def test_wrong_tokens_do_not_limit_known_callers(app: FastAPI, ask: Ask) -> None:
    known, stranger = ask(Permission.READ), ask(Permission.READ)
    assert known.get("/api/v1/dataset").status_code == 200
    wrong = [{"Authorization": f"Bearer wrong{number}"} for number in range(80)]
    assert known.get("/api/v1/openapi.json", headers=wrong[-1]).status_code == 200  # public, without access
    statuses = [known.get("/api/v1/dataset", headers=each).status_code for each in wrong]
    assert statuses[-1] == 429
    assert stranger.get("/api/v1/dataset").status_code == 429
    assert known.get("/api/v1/dataset").status_code == 200


def test_knows_what_the_client_has_already(reader: TestClient) -> None:
    first = reader.get("/api/v1/dataset/mart/delays")
    tag = first.headers["etag"]
    again = reader.get("/api/v1/dataset/mart/delays", headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    changed = reader.get("/api/v1/dataset/mart/delays", headers={"If-None-Match": '"other"'})
    assert changed.json() == first.json()
    assert "authorization" in changed.headers["vary"].lower()


def test_answers_head_like_get_without_the_body(
    app: FastAPI, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    token = {"Authorization": ask(Permission.READ).headers["Authorization"]}
    with served(app) as address, httpx.Client(base_url=address) as client, caplog.at_level("INFO"):
        for path in (
            "/health/live",
            "/health/ready",
            "/api/v1/docs",
            "/api/v1/dataset/mart/delays",
            "/api/v1/dataset/x",
        ):
            caplog.clear()
            got, headed = client.get(path, headers=token), client.head(path, headers=token)
            assert headed.status_code == got.status_code
            assert got.content
            assert not headed.content
            kept = ("content-length", "content-type", "etag")
            assert [headed.headers.get(name) for name in kept] == [got.headers.get(name) for name in kept]
            lines = [
                json.loads(each.getMessage()) for each in caplog.records if each.name == "headrace.access"
            ]
            assert [line["method"] for line in lines] == ["GET", "HEAD"]
            assert lines[0]["route"] == lines[1]["route"]
        known = client.head("/api/v1/dataset", headers=token).headers["etag"]
        assert client.head("/api/v1/dataset", headers={**token, "If-None-Match": known}).status_code == 304
        assert client.head("/api/v1/dataset").status_code == 401
        assert client.head("/metrics", headers=token).status_code == 403
        assert client.head("/api/v1/lineage/batch", headers=token).headers["allow"] == "POST"


def test_measures_by_route_and_logs_a_line(
    ask: Ask, reader: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="headrace.access")
    reader.get("/api/v1/dataset/mart/delays", params={"secret": "thing"})
    [line] = [
        json.loads(record.getMessage()) for record in caplog.records if record.name == "headrace.access"
    ]
    assert line["route"] == "/api/v1/dataset/{dataset:path}"
    assert line["path"] == "/api/v1/dataset/mart/delays"
    assert line["status"] == 200
    assert line["subject"].startswith("service:")
    assert "thing" not in caplog.text
    measures = ask(Permission.OPERATE).get("/metrics")
    assert measures.status_code == 200
    assert 'route="/api/v1/dataset/{dataset:path}",status="200"' in measures.text
    assert reader.get("/metrics").status_code == 403


def test_metrics_of_all_organisations_are_for_the_services_own(ask: Ask, catalog: Engine) -> None:
    add_organisation(catalog, "acme", by="test")
    refused = ask(Permission.OPERATE, organisation="acme").get("/metrics")
    assert refused.status_code == 403
    assert "count all organisations" in refused.json()["detail"]
