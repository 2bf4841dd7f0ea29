"""Reports over HTTP: a real server on loopback, real clients, and the catalog that they come to."""

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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
import uvicorn
from sqlalchemy import Engine

from headrace.autosys.client import write
from headrace.autosys.completions.parsing import read_completions
from headrace.database.connection import transaction
from headrace.errors import CatalogUnavailable
from headrace.events.ingestion import ingest
from headrace.local.servers import COMPLETIONS
from headrace.service import completions as intake
from headrace.settings import settings
from tests.paths import REPOSITORY

DOCUMENT = {"process": "LOAD", "status": "SUCCESS", "run": "7", "at": "2026-11-28T04:15:00Z"}


class Served:
    """The intake at a port of loopback."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def post(self, body: bytes | str, **headers: str) -> tuple[int, dict[str, Any]]:
        return self.ask("POST", "/api/v1/events", body, headers)

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


def serve(engine: Callable[[], Engine]) -> Iterator[Served]:
    server = uvicorn.Server(uvicorn.Config(intake.app(engine), port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Served(server.servers[0].sockets[0].getsockname()[1])
    server.should_exit = True
    thread.join()


@pytest.fixture
def served(engine: Engine) -> Iterator[Served]:
    yield from serve(lambda: engine)


def events(engine: Engine) -> list[dict[str, Any]]:
    with transaction(engine) as cursor:
        return cursor.execute(
            "SELECT process.process_key, run, state FROM catalog.reported_event"
            " LEFT JOIN catalog.process USING (process_id) ORDER BY sequence"
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
    assert served.post(body.encode()) == (202, {"accepted": 1, "repeated": 0, "rejected": [], "warnings": []})
    assert served.post(body.encode()) == (202, {"accepted": 0, "repeated": 1, "rejected": [], "warnings": []})
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
    assert served.post("[]") == (202, {"accepted": 0, "repeated": 0, "rejected": [], "warnings": []})


def test_a_wrong_element_of_an_array_is_told_by_its_number(served: Served, engine: Engine) -> None:
    good = json.dumps(DOCUMENT)
    status, answer = served.post(f'[{good}, {{"process": "B" "x"}}, {{"process": "C", "status": "?"}}]')
    assert (status, answer["accepted"]) == (202, 1)
    assert [each["message"].partition(":")[0] for each in answer["rejected"]] == ["element 2", "element 3"]


def test_that_nothing_is_measured_here_is_said(served: Served, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("a\n1\n")
    document = {"dataset": "ops/raw", "status": "SU", "location": str(tmp_path / "raw.csv"), "measure": True}
    status, answer = served.post(json.dumps(document))
    assert (status, answer["accepted"]) == (202, 1)
    [warning] = answer["warnings"]
    assert "ops/raw was not measured: no file is read for a report over HTTP" in warning


@pytest.mark.parametrize("odd", ['"at": "9999-12-31T23:59:59-05:00"', f'"foo": {"[" * 900}{"]" * 900}'])
def test_a_document_that_nobody_has_thought_of_is_rejected_and_keeps_no_other_out(
    served: Served, engine: Engine, odd: str
) -> None:
    body = '{"process": "ODD", "status": "SUCCESS", ' + odd + "}\n" + json.dumps(DOCUMENT)
    status, answer = served.post(body.encode())
    assert (status, answer["accepted"], [each["line"] for each in answer["rejected"]]) == (202, 1, [1])
    assert [event["process_key"] for event in events(engine)] == ["AUTOSYS/LOAD"]


def test_a_body_that_is_too_large_is_413(
    served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "LARGEST", 1000)
    assert served.post(b" " * 1001)[0] == 413
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("POST", "/api/v1/events", iter([b"x" * 600, b"x" * 600]), encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    assert served.post(json.dumps(DOCUMENT))[0] == 202


def test_no_web_page_can_report(served: Served, engine: Engine) -> None:
    assert served.post(json.dumps(DOCUMENT), Origin="https://example.org")[0] == 403
    assert events(engine) == []


def test_the_token_is_asked_for(served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_INTAKE_TOKEN", "geheimnis-ä")
    settings.cache_clear()
    body = json.dumps(DOCUMENT)
    for wrong in ({}, {"Authorization": "Bearer nope"}, {"Authorization": "geheimnis"}):
        assert served.post(body, **wrong)[0] == 401
    assert events(engine) == []
    right = "Bearer geheimnis-ä".encode().decode("latin-1")
    assert served.post(body, Authorization=right)[0] == 202
    assert served.ask("GET", "/health")[0] == 200
    assert "geheimnis" not in repr(settings())


def unreachable() -> Engine:
    raise CatalogUnavailable("the catalog cannot be reached: see to it")


def test_what_an_unreachable_catalog_cannot_take_waits_in_the_folder(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_COMPLETIONS", str(tmp_path / "completions"))
    settings.cache_clear()
    for served in serve(unreachable):
        body = "\n".join(map(json.dumps, [DOCUMENT, DOCUMENT | {"run": "8"}, {"process": "X"}]))
        status, answer = served.post(body)
        assert (status, answer["accepted"], [each["line"] for each in answer["rejected"]]) == (202, 2, [3])
        assert served.ask("GET", "/health")[0] == 503
    [file] = (tmp_path / "completions").iterdir()
    taken = read_completions(file.read_bytes(), file.name, name=file.name, at=datetime.now(UTC))
    assert [event.run for event in taken.events] == ["7", "8"]
    for served in serve(lambda: engine):
        assert served.post(file.read_bytes())[1]["accepted"] == 2
        assert served.post(body)[1]["repeated"] == 2


@pytest.mark.parametrize("folder", ["file", "s3://bucket/completions"])
def test_what_nobody_can_keep_is_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_COMPLETIONS", folder if "://" in folder else str(tmp_path / folder / "x"))
    settings.cache_clear()
    for served in serve(unreachable):
        status, answer = served.post(json.dumps(DOCUMENT))
        assert status == 503
        assert answer["message"].startswith("the catalog cannot be reached: see to it")
    settings.cache_clear()


def test_a_document_that_the_database_refuses_keeps_no_other_out(
    served: Served, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ingest

    def refusing(engine: Engine, found: Any) -> Any:
        if any(event.process == "POISON" for event in found):
            raise psycopg.DataError("invalid byte")
        return real(engine, found)

    monkeypatch.setattr("headrace.events.ingestion.ingest", refusing)
    lines = [json.dumps({"process": name, "status": "SU"}) for name in ("A", "POISON", "B")]
    status, answer = served.post("\n".join(lines))
    assert (status, answer["accepted"]) == (202, 2)
    message = "the catalog does not take it: invalid byte"
    assert answer["rejected"] == [{"line": 2, "field": None, "message": message}]


def test_many_at_once_are_each_taken_once(served: Served, engine: Engine) -> None:
    bodies = [
        "\n".join(json.dumps(DOCUMENT | {"run": str(run)}) for run in range(at, at + 40))
        for at in range(0, 200, 20)
    ]
    answers: list[tuple[int, dict[str, Any]]] = []
    threads = [
        threading.Thread(target=lambda body=body: answers.append(served.post(body)))  # type: ignore[misc]
        for body in bodies
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


def test_a_database_that_comes_back_gets_what_waited(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_COMPLETIONS", "s3://bucket/elsewhere")
    settings.cache_clear()
    up = threading.Event()

    def sometimes() -> Engine:
        if not up.is_set():
            raise CatalogUnavailable("down")
        return engine

    write(tmp_path)
    for served in serve(sometimes):
        environment = {
            **os.environ,
            "HEADRACE_URL": served.url,
            "HEADRACE_SPOOL": str(tmp_path / "spool"),
            "no_proxy": "*",
        }
        report = [sys.executable, str(tmp_path / "headrace_client.py")]
        failed = subprocess.run([*report, "process", "A", "SU"], env=environment, capture_output=True)
        assert failed.returncode == 0
        assert events(engine) == []
        up.set()
        subprocess.run([*report, "process", "B", "SU"], env=environment, check=True)
        assert [event["process_key"] for event in events(engine)] == ["AUTOSYS/A", "AUTOSYS/B"]


@pytest.mark.slow
def test_an_intake_that_is_killed_again_and_again_loses_and_doubles_nothing(
    engine: Engine, tmp_path: Path
) -> None:
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
    enough = threading.Event()

    def job(number: int) -> None:
        for run in count():
            words = [*forms[number % 2], "process", f"JOB_{number}", "SUCCESS", f"run={run}"]
            assert subprocess.run(words, env=environment, capture_output=True).returncode == 0
            reported.append((f"AUTOSYS/JOB_{number}", str(run)))
            if enough.is_set():
                return

    jobs = [threading.Thread(target=job, args=(number,)) for number in range(3)]
    for each in jobs:
        each.start()
    for _ in range(3):
        server = subprocess.Popen(
            [sys.executable, "-m", *COMPLETIONS.command(port)],
            cwd=REPOSITORY,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        while not COMPLETIONS.is_up(port):
            time.sleep(0.05)
        time.sleep(random.random())  # noqa: S311
        server.kill()
        server.wait()
    enough.set()
    for each in jobs:
        each.join()
    assert events(engine)
    server = subprocess.Popen(
        [sys.executable, "-m", *COMPLETIONS.command(port)], cwd=REPOSITORY, env=environment
    )
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


def test_an_end_that_does_not_fit_its_exit_code_is_a_warning_and_one_before_its_start_an_error(engine):
    end = {"process": "LOAD", "status": "SUCCESS", "run": "1", "at": "2026-11-26T05:00:00Z", "exit_code": 5}
    receipt = intake.receive(lambda: engine, json.dumps(end).encode(), "test")
    assert (receipt.accepted, receipt.warnings) == (
        1,
        ["test:1: LOAD is said to be a SUCCESS with exit_code 5"],
    )
    later = {**end, "started_at": "2026-11-26T06:00:00Z"}
    receipt = intake.receive(lambda: engine, json.dumps(later).encode(), "test")
    assert "is later than at" in receipt.rejected[0].message


def test_an_empty_token_is_none(monkeypatch):
    monkeypatch.setenv("HEADRACE_INTAKE_TOKEN", "")
    settings.cache_clear()
    assert settings().intake_token is None
