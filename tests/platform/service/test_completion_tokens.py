"""Reports of legacy jobs with the catalog's tokens, by the clients for old hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headrace.access.callers import Permission
from headrace.access.grants import add_organisation
from headrace.access.tokens import issue_service_token, issue_task_token
from headrace.autosys.client import write
from headrace.database.connection import transaction
from headrace.database.ids import external_run_id
from tests.paths import WAIT_SECONDS
from tests.platform.service.test_completions import Served, development, events, serve

OWN = {"process": "LOAD", "run": "7", "status": "SUCCESS", "at": "2026-11-28T04:15:00Z"}
WRITES = {**OWN, "dataset": "ops/flights", "version": "v1"}

__all__ = ["development"]  # a fixture


@pytest.fixture
def served(engine: Engine) -> Iterator[Served]:
    with serve(engine) as served:
        yield served


@pytest.fixture
def token(engine: Engine) -> str:
    """The token of run 7 of the job LOAD, which writes ops/flights."""
    return issue_task_token(engine, external_run_id("AUTOSYS", "", "LOAD", "7"), ["ops/flights"], by="test")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_run_reports_itself_and_its_output(engine: Engine, served: Served, token: str) -> None:
    alone = {"dataset": "ops/flights", "version": "v2", "status": "SUCCESS", "at": "2026-11-28T04:16:00Z"}
    status, message = served.post(json.dumps([WRITES, alone]), **bearer(token))
    assert (status, message["accepted"]) == (202, 2), message
    with transaction(engine) as cursor:
        rows = cursor.execute("SELECT DISTINCT reported_by FROM catalog.run_event").fetchall()
    assert [row["reported_by"] for row in rows] == [f"task:{external_run_id('AUTOSYS', '', 'LOAD', '7')}"]


@pytest.mark.parametrize(
    "wrong",
    [{**OWN, "run": "8"}, {**OWN, "process": "OTHER"}, {**OWN, "run": None}],
    ids=["run", "job", "no run"],
)
def test_another_run_is_not_the_tokens(
    engine: Engine, served: Served, token: str, wrong: dict[str, str]
) -> None:
    status, message = served.post(json.dumps(wrong), **bearer(token))
    assert (status, message["forbidden"], message["rejected"]) == (400, [1], [])
    status, message = served.post(json.dumps([OWN, wrong]), **bearer(token))
    assert (status, message["accepted"], len(message["forbidden"])) == (202, 1, 1)
    assert [each["run"] for each in events(engine)] == ["7"]


@pytest.mark.parametrize("more", [{}, {"process": None, "run": None}])
def test_another_output_is_refused(engine: Engine, served: Served, token: str, more: dict[str, None]) -> None:
    status, message = served.post(json.dumps({**WRITES, "dataset": "ops/planes", **more}), **bearer(token))
    assert status == 400
    assert "the output ops/planes is not among the outputs" in message["rejected"][0]["message"]
    assert events(engine) == []


def test_what_is_no_token_or_may_not_report_is_refused(engine: Engine, served: Served, token: str) -> None:
    with transaction(engine) as cursor:
        cursor.execute("UPDATE catalog.task_token SET expires_at = now()")
    reader = issue_service_token(engine, "reader", [Permission.READ], by="test")
    for wrong, expected in ((token, 401), (token[:-1] + "!", 401), (reader, 403)):
        assert served.post(json.dumps(OWN), **bearer(wrong))[0] == expected
    assert events(engine) == []


def test_a_service_reports_for_its_organisation(engine: Engine, served: Served) -> None:
    add_organisation(engine, "acme", by="test")
    token = issue_service_token(engine, "jobs", [Permission.REPORT], organisation="acme", by="test")
    assert served.post(json.dumps(WRITES), **bearer(token))[0] == 202
    with transaction(engine) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT organisation.name FROM catalog.process_run "
            "JOIN catalog.organisation USING (organisation_id)"
        ).fetchall()
    assert [row["name"] for row in rows] == ["acme"]
    narrow = issue_service_token(engine, "narrow", [Permission.REPORT], domain="mart", by="test")
    assert served.post(json.dumps(WRITES), **bearer(narrow))[1]["rejected"][0]["line"] == 1


def test_a_service_of_one_domain_reports_no_run_of_another(engine: Engine, served: Served) -> None:
    """A success that did not happen would start downstream runs."""
    whole, ops, mart = (
        issue_service_token(engine, name, [Permission.REPORT], domain=domain, by="test")
        for name, domain in (("whole", "*"), ("ops", "ops"), ("mart", "mart"))
    )
    assert served.post(json.dumps(OWN), **bearer(mart))[0] == 202  # the owner is not known yet
    assert served.post(json.dumps(WRITES), **bearer(whole))[0] == 202
    later = {**OWN, "run": "8"}
    status, message = served.post(json.dumps(later), **bearer(mart))
    assert status == 400
    assert "writes ops/flights and nothing that this token may report" in message["rejected"][0]["message"]
    assert served.post(json.dumps(later), **bearer(ops))[0] == 202


@pytest.mark.parametrize("client", ["headrace_client.py", "headrace.sh"])
def test_the_clients_send_the_token_and_keep_what_is_of_other_runs(
    engine: Engine, served: Served, token: str, tmp_path: Path, client: str
) -> None:
    spool = tmp_path / "spool"
    write(tmp_path / "client")
    command = [*([sys.executable] if client.endswith(".py") else ["sh"]), str(tmp_path / "client" / client)]
    environment = {**os.environ, "HEADRACE_SPOOL": str(spool), "HEADRACE_TIMEOUT": "20"}
    for name in ("AUTO_JOB_NAME", "HEADRACE_TOKEN"):
        environment.pop(name, None)

    def call(*words: str, **more: str) -> str:
        done = subprocess.run(
            [*command, *words],
            env={**environment, **more},
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0
        return done.stderr

    call("process", "OTHER", "SUCCESS", "run=1")  # without a receiver: it waits
    with_token = {"HEADRACE_URL": served.url, "HEADRACE_TOKEN": token}
    assert "belongs to another run than the token" in call(
        "process", "LOAD", "SUCCESS", "run=7", **with_token
    )
    assert "is not among the outputs" in call("dataset", "ops/planes", "version=v1", **with_token)
    call("dataset", "ops/flights", "version=v1", **with_token)
    assert [each["process_key"] for each in events(engine)] == ["AUTOSYS/LOAD", None]
    [waiting] = spool.glob("*.json")
    assert json.loads(waiting.read_text())["process"] == "OTHER"
    assert len(list((spool / "refused").glob("*.json"))) == 1
    call("flush", HEADRACE_URL=served.url)
    assert len(events(engine)) == 3
    assert list(spool.glob("*.json")) == []
    left = [path for path in spool.rglob("*") if path.is_file()]
    assert [path.parent.name for path in left] == ["refused"]
    assert token.encode() not in left[0].read_bytes()


def test_a_wrapped_command_reports_and_inherits_its_token(
    engine: Engine, served: Served, tmp_path: Path
) -> None:
    run = uuid4().hex
    token = issue_task_token(engine, external_run_id("SHELL", "", "env", run), [], by="test")
    write(tmp_path)
    environment = {
        **os.environ,
        "HEADRACE_SPOOL": str(tmp_path / "spool"),
        "HEADRACE_URL": served.url,
        "HEADRACE_TOKEN": token,
        "HEADRACE_TIMEOUT": "20",
    }
    environment.pop("AUTO_JOB_NAME", None)
    # The start is reported in parallel with the command, and omitted if the command ends before: this one takes a
    # second.
    command = ["process=env", f"run={run}", "--", "sh", "-c", "sleep 1; env"]
    words = [str(tmp_path / "headrace-run"), *command]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True
    )
    assert f"HEADRACE_TOKEN={token}" in done.stdout
    assert {each["state"] for each in events(engine)} == {"RUNNING", "SUCCESS"}
