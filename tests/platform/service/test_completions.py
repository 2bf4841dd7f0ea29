"""Reports over HTTP: a real server on loopback, real clients, and the resulting catalog."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

from headrace.access.callers import Caller, CallerKind, Grant, Permission
from headrace.api.completions import receive
from headrace.autosys.client import write
from headrace.context import organisation_named
from headrace.database.connection import engine_for, transaction
from headrace.http import bodies
from headrace.job_reports.ingestion import ingest
from headrace.local.servers import SERVICE
from headrace.service import create_app
from headrace.settings import settings
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.service.serving import served as serving

DOCUMENT = {"process": "LOAD", "status": "SUCCESS", "run": "7", "at": "2026-11-28T04:15:00Z"}

NOTHING: dict[str, Any] = {"accepted": 0, "repeated": 0, "rejected": [], "forbidden": [], "warnings": []}


class Served:
    """The service at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def post(self, body: bytes | str, **headers: str) -> tuple[int, dict[str, Any]]:
        return self.ask("POST", "/api/v1/events", body, headers)

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@contextmanager
def serve(engine: Engine) -> Iterator[Served]:
    with serving(create_app(engine)) as url:
        yield Served(int(url.rpartition(":")[2]))


@pytest.fixture(autouse=True)
def development(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment that is not in production takes reports of this machine without a token."""
    monkeypatch.setenv("HEADRACE_PRODUCTION", "false")
    settings.cache_clear()


@pytest.fixture
def served(engine: Engine) -> Iterator[Served]:
    with serve(engine) as served:
        yield served


def events(engine: Engine) -> list[dict[str, Any]]:
    with transaction(engine) as cursor:
        return cursor.execute(
            "SELECT process_key, facet ->> 'run' AS run, facet ->> 'state' AS state FROM catalog.run_event,"
            " LATERAL (SELECT coalesce(payload_json -> 'run', payload_json -> 'dataset')"
            " #> '{facets,headrace_scheduler}' AS facet) AS scheduler ORDER BY sequence"
        ).fetchall()


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(DOCUMENT),
        json.dumps([DOCUMENT]),
        json.dumps(DOCUMENT) + "\n",
        json.dumps(DOCUMENT, indent=2),
        "\ufeff" + json.dumps(DOCUMENT) + "\r\n",
    ],
    ids=["document", "array", "line", "pretty", "windows"],
)
def test_a_document_is_an_event(served: Served, engine: Engine, body: str) -> None:
    assert served.post(body.encode()) == (202, {**NOTHING, "accepted": 1})
    assert served.post(body.encode()) == (202, {**NOTHING, "repeated": 1})
    [event] = events(engine)
    assert (event["process_key"], event["run"], event["state"]) == ("AUTOSYS/LOAD", "7", "SUCCESS")


def test_lines_are_taken_or_rejected_one_by_one(served: Served, engine: Engine) -> None:
    lines = [
        json.dumps({"process": "A", "status": "SUCCESS"}),
        json.dumps({"process": "B", "status": "SUCESS"}),
        "{not json}",
        json.dumps({"status": "SUCCESS"}),
        json.dumps({"process": "C", "status": "SU", "exit_code": "many"}),
        json.dumps({"dataset": "ops/raw", "status": "SUCCESS", "row_count": 3}),
    ]
    status, answer = served.post("\n".join(lines))
    assert status == 202
    assert answer["accepted"] == 2
    rejected = {each["line"]: each["field"] for each in answer["rejected"]}
    assert rejected == {2: "status", 3: None, 4: None, 5: "exit_code"}
    assert "did you mean SUCCESS?" in answer["rejected"][0]["message"]
    assert len(events(engine)) == 2


@pytest.mark.parametrize(
    "body", [b"", b"  \n", b"{", b"\xff\xfe\x00\x01", b"<html>", b"[]x", b'{"status": "SU"}']
)
def test_what_cannot_be_read_is_400(served: Served, engine: Engine, body: bytes) -> None:
    status, answer = served.post(body)
    assert status == 400
    assert answer["accepted"] == 0
    assert answer["rejected"]
    assert events(engine) == []


def test_an_array_with_nothing_in_it_is_taken(served: Served) -> None:
    assert served.post("[]") == (202, NOTHING)


def test_a_wrong_array_element_is_reported_by_number(served: Served, engine: Engine) -> None:
    good = json.dumps(DOCUMENT)
    status, answer = served.post(f'[{good}, {{"process": "B" "x"}}, {{"process": "C", "status": "?"}}]')
    assert (status, answer["accepted"]) == (202, 1)
    assert [each["message"].partition(":")[0] for each in answer["rejected"]] == ["element 2", "element 3"]


def test_a_warning_says_that_nothing_is_measured_over_http(
    served: Served, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "raw.csv").write_text("a\n1\n")
    document = {"dataset": "ops/raw", "status": "SU", "location": str(tmp_path / "raw.csv"), "measure": True}
    status, answer = served.post(json.dumps(document))
    assert (status, answer["accepted"]) == (202, 1)
    [warning] = answer["warnings"]
    assert "ops/raw was not measured: files cannot be measured over HTTP" in warning


@pytest.mark.parametrize("odd", ['"at": "9999-12-31T23:59:59-05:00"', f'"foo": {"[" * 900}{"]" * 900}'])
def test_an_unexpected_document_is_rejected_and_others_are_stored(
    served: Served, engine: Engine, odd: str
) -> None:
    body = '{"process": "ODD", "status": "SUCCESS", ' + odd + "}\n" + json.dumps(DOCUMENT)
    status, answer = served.post(body.encode())
    assert (status, answer["accepted"], [each["line"] for each in answer["rejected"]]) == (202, 1, [1])
    assert [event["process_key"] for event in events(engine)] == ["AUTOSYS/LOAD"]


def test_a_body_that_is_too_large_is_413(
    served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY_BYTES", 1000)
    monkeypatch.setattr(bodies, "_MAX_DRAINED_BYTES", 1000)
    assert served.post(b" " * 1001)[0] == 413
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=WAIT_SECONDS)
    connection.request("POST", "/api/v1/events", iter([b"x" * 600, b"x" * 600]), encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    assert served.post(json.dumps(DOCUMENT))[0] == 202


def test_a_web_page_cannot_report_without_a_token(served: Served, engine: Engine) -> None:
    assert served.post(json.dumps(DOCUMENT), Origin="https://example.org")[0] == 401
    assert events(engine) == []


def test_a_request_for_another_host_needs_a_token(served: Served, engine: Engine) -> None:
    for passed_on in ({"X-Forwarded-For": "10.0.0.7"}, {"Forwarded": "for=10.0.0.7"}):
        assert served.post(json.dumps(DOCUMENT), **passed_on)[0] == 401
    assert events(engine) == []


def test_in_production_every_report_needs_a_token(
    served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_PRODUCTION", "true")
    settings.cache_clear()
    for wrong in ({}, {"Authorization": "Bearer nope"}, {"Authorization": "secret"}):
        assert served.post(json.dumps(DOCUMENT), **wrong)[0] == 401
    assert events(engine) == []


def test_a_report_while_the_database_is_away_is_answered_503_and_stored_when_it_comes_again(
    engine: Engine,
) -> None:
    app = create_app(engine)
    with serving(app) as url:
        served = Served(int(url.rpartition(":")[2]))
        app.state.engine = engine_for("postgresql://headrace@127.0.0.1:9/headrace")
        status, answer = served.post(json.dumps(DOCUMENT))
        assert (status, answer["status"]) == (503, 503)
        assert "nothing was stored" in answer["detail"]
        app.state.engine = engine
        assert served.post(json.dumps(DOCUMENT))[1]["accepted"] == 1


def test_a_document_that_the_database_refuses_keeps_no_other_out(
    served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ingest

    def refusing(engine: Engine, found: Any) -> Any:
        if any(event.process == "POISON" for event in found):
            raise psycopg.DataError("invalid byte")
        return real(engine, found)

    monkeypatch.setattr("headrace.job_reports.ingestion.ingest", refusing)
    lines = [json.dumps({"process": name, "status": "SU"}) for name in ("A", "POISON", "B")]
    status, answer = served.post("\n".join(lines))
    assert (status, answer["accepted"]) == (202, 2)
    message = "the catalog rejected it: invalid byte"
    assert answer["rejected"] == [{"line": 2, "field": None, "message": message}]


def test_many_at_once_are_each_taken_once(served: Served, engine: Engine) -> None:
    bodies = [
        "\n".join(json.dumps(DOCUMENT | {"run": str(run)}) for run in range(at, at + 40))
        for at in range(0, 200, 20)
    ]
    answers: list[tuple[int, dict[str, Any]]] = []
    threads = [
        threading.Thread(target=lambda body=body: answers.append(served.post(body))) for body in bodies
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _ in answers} == {202}
    assert sum(answer["accepted"] for _, answer in answers) == 220
    assert sum(answer["repeated"] for _, answer in answers) == 180
    assert len(events(engine)) == 220


@pytest.mark.parametrize(
    "form", [[sys.executable, "headrace_client.py"], ["dash", "headrace.sh"]], ids=["python", "sh"]
)
def test_a_job_that_is_run_comes_to_a_run(
    served: Served, engine: Engine, tmp_path: Path, form: list[str]
) -> None:
    write(tmp_path)
    environment = {
        **os.environ,
        "HEADRACE_URL": served.url,
        "HEADRACE_SPOOL": str(tmp_path / "spool"),
        "AUTO_JOB_NAME": "LOAD",
        "AUTORUN": "1620",
        "no_proxy": "*",
    }
    done = subprocess.run(
        [form[0], str(tmp_path / form[1]), "run", "business_date=20130101", "--", "sh", "-c", "exit 0"],
        env=environment,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    registered = subprocess.run(
        [
            *(form[0], str(tmp_path / form[1]), "dataset", "ops/raw", "version=v1", "row_count=842"),
            *("partition=2013-01-01", 'schema:=[{"name": "id", "type": "bigint"}]', "location=/data/raw.csv"),
            "reason=\x01 é",
        ],
        env=environment,
        capture_output=True,
    )
    assert (registered.returncode, registered.stderr) == (0, b"")
    with transaction(engine) as cursor:
        runs = cursor.execute("SELECT status, partitions FROM catalog.process_run").fetchall()
        versions = cursor.execute("SELECT version_tag, row_count FROM catalog.dataset_version").fetchall()
    assert [(run["status"], run["partitions"]) for run in runs] == [("SUCCESS", ["2013-01-01"])]
    assert [(each["version_tag"], each["row_count"]) for each in versions] == [("v1", 842)]


def test_the_client_keeps_what_the_service_cannot_store_and_sends_it_later(
    engine: Engine, tmp_path: Path
) -> None:
    write(tmp_path)
    app = create_app(engine)
    app.state.engine = engine_for("postgresql://headrace@127.0.0.1:9/headrace")
    with serving(app) as url:
        environment = {
            **os.environ,
            "HEADRACE_URL": url,
            "HEADRACE_SPOOL": str(tmp_path / "spool"),
            "no_proxy": "*",
        }
        report = [sys.executable, str(tmp_path / "headrace_client.py")]
        failed = subprocess.run([*report, "process", "A", "SU"], env=environment, capture_output=True)
        assert failed.returncode == 0
        assert events(engine) == []
        app.state.engine = engine
        subprocess.run([*report, "process", "B", "SU"], env=environment, check=True)
        assert [event["process_key"] for event in events(engine)] == ["AUTOSYS/A", "AUTOSYS/B"]


@pytest.mark.slow
def test_a_service_killed_again_and_again_loses_and_doubles_nothing(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "HEADRACE_URL": f"http://127.0.0.1:{port}",
        "HEADRACE_SPOOL": str(tmp_path / "spool"),
        "HEADRACE_COMPLETIONS": "s3://bucket/nowhere",
        "HEADRACE_TIMEOUT": "1",
        "no_proxy": "*",
    }
    forms = [[sys.executable, str(tmp_path / "headrace_client.py")], ["dash", str(tmp_path / "headrace.sh")]]

    reported: list[tuple[str, str]] = []
    serving = threading.Event()
    enough = threading.Event()

    def job(number: int) -> None:
        for run in count():
            serving.wait(0.3)  # reports that only go into the spool need not be many
            words = [*forms[number % 2], "process", f"JOB_{number}", "SUCCESS", f"run={run}"]
            assert subprocess.run(words, env=environment, capture_output=True).returncode == 0
            reported.append((f"AUTOSYS/JOB_{number}", str(run)))
            if enough.is_set():
                return

    jobs = [threading.Thread(target=job, args=(number,)) for number in range(3)]
    for each in jobs:
        each.start()
    for times in range(3):
        server = subprocess.Popen(
            [sys.executable, "-m", *SERVICE.command(port)],
            cwd=REPOSITORY,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        while not SERVICE.is_up(port):
            time.sleep(0.05)
        serving.set()
        time.sleep(random.random())  # noqa: S311
        deadline = time.monotonic() + WAIT_SECONDS
        while times == 2 and not events(engine) and time.monotonic() < deadline:
            time.sleep(0.1)  # on a busy machine no report has come through yet
        server.kill()
        serving.clear()
        server.wait()
    enough.set()
    for each in jobs:
        each.join()
    assert events(engine)
    server = subprocess.Popen([sys.executable, "-m", *SERVICE.command(port)], cwd=REPOSITORY, env=environment)
    try:
        deadline = time.monotonic() + 60
        while list((tmp_path / "spool").glob("*.json")):
            assert time.monotonic() < deadline
            subprocess.run([*forms[0], "flush"], env=environment, capture_output=True)
    finally:
        server.terminate()
        server.wait()
    found = [(event["process_key"], event["run"]) for event in events(engine)]
    assert sorted(found) == sorted(reported)
    assert not (tmp_path / "spool" / "refused").exists()


LOCAL = Caller(
    "local",
    CallerKind.LOCAL,
    organisation_named("default"),
    "default",
    (Grant("*", frozenset({Permission.REPORT})),),
)


def test_an_end_that_does_not_fit_its_exit_code_is_a_warning_and_one_before_its_start_an_error(
    engine: Engine,
) -> None:
    end = {"process": "LOAD", "status": "SUCCESS", "run": "1", "at": "2026-11-26T05:00:00Z", "exit_code": 5}
    receipt = receive(engine, json.dumps(end).encode(), "test", LOCAL)
    assert (receipt.accepted, receipt.warnings) == (
        1,
        ["test:1: LOAD is reported as SUCCESS with exit_code 5"],
    )
    later = {**end, "started_at": "2026-11-26T06:00:00Z"}
    receipt = receive(engine, json.dumps(later).encode(), "test", LOCAL)
    assert "is later than at" in receipt.rejected[0].message
