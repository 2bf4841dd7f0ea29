"""`headrace serve` serves the configured catalog, and stops on request."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys

from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.access.callers import Permission
from headrace.access.tokens import issue_service_token
from headrace.cli import app
from headrace.local import ports as webserver
from headrace.local.servers import SERVICE
from tests.paths import REPOSITORY, WAIT_SECONDS


def test_serves_until_stopped(engine: Engine) -> None:
    token = issue_service_token(engine, "test", [Permission.READ], by="test")
    with webserver.reserved_port(None, SERVICE.first_port) as port:
        assert port is not None
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "serve", "--port", str(port)]
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            assert first == f"Serving the catalog at http://127.0.0.1:{port}/api/v1/docs; Ctrl-C stops it.\n"
            assert SERVICE.is_up(port)  # printed once it is up
            refused = CliRunner().invoke(app, ["serve", "--port", str(port)])
            assert refused.exit_code == 1
            assert f"port {port} of 127.0.0.1 is not available" in refused.output
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
            connection.request("GET", "/api/v1/dataset", headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["items"]) == (200, [])
            assert answer.headers["server"] is None
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0, message
    lines = message.strip().splitlines()
    reported = [json.loads(line) for line in lines if line.startswith("{")]
    assert [each["status"] for each in reported if each["path"] == "/api/v1/dataset"] == [200]


def test_is_not_up_where_nothing_listens() -> None:
    with webserver.reserved_port(None, SERVICE.first_port + 50) as port:
        assert port is not None
        assert not SERVICE.is_up(port)
