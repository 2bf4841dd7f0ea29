"""`headrace openmetadata`, against a server on a socket."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.settings import settings
from tests.paths import REPOSITORY, WAIT_SECONDS
from tests.platform.openmetadata.conftest import SERVICE
from tests.platform.openmetadata.killing import contents, synchronise_once
from tests.platform.openmetadata.server import TOKEN, Contract, Request, serving

Invoke = Callable[..., Result]


@pytest.mark.slow
def test_a_process_that_is_killed_continues_and_makes_nothing_twice(
    shop: Engine, invoke: Invoke, server: Contract
) -> None:
    for count in (5, 15, 20, 25):
        left = [count]
        command = [sys.executable, "-c", "from headrace.cli import app; app()", "openmetadata", "sync"]
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def kill(_: Request, left: list[int] = left, process: subprocess.Popen[bytes] = process) -> None:
            left[0] -= 1
            if left[0] == 0:
                process.kill()
                process.wait()

        server.after = kill
        process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == -signal.SIGKILL
    server.after = lambda _: None
    done = invoke("sync")
    assert done.exit_code == 0, done.stderr
    undisturbed = Contract(version=server.version)
    synchronise_once(shop, undisturbed, "http://undisturbed/api")
    assert contents(server) == contents(undisturbed)


@pytest.fixture
def invoke(shop: Engine, server: Contract, monkeypatch: pytest.MonkeyPatch) -> Iterator[Invoke]:
    """Run `headrace openmetadata` with the catalog and the server."""
    monkeypatch.setenv("HEADRACE_DATABASE_URL", shop.url.set(drivername="postgresql").render_as_string(False))
    with serving(server) as url:
        monkeypatch.setenv("HEADRACE_OPENMETADATA__URL", url)
        monkeypatch.setenv("HEADRACE_OPENMETADATA__TOKEN", TOKEN)
        settings.cache_clear()
        yield lambda *words: CliRunner().invoke(app, ["openmetadata", *words])
    settings.cache_clear()


def test_a_dry_run_a_synchronisation_and_a_second_one(invoke: Invoke, server: Contract) -> None:
    planned = invoke("sync", "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert "shop/orders" in planned.stdout
    assert "To send: " in planned.stdout
    assert server.all("table") == []
    assert "table create 2" in invoke("sync").stdout
    assert len(server.all("table")) == 2
    assert invoke("sync").stdout.startswith("OpenMetadata is up to date (4 requests")
    found = json.loads(invoke("sync", "--whole", "--json").stdout)
    assert (found["whole"], found["counts"], found["problems"]) == (True, {}, [])


def proposed(*words: str) -> Result:
    return CliRunner().invoke(app, ["catalog", "proposed", *words])


def test_what_stewards_wrote_is_shown_as_yaml(invoke: Invoke, server: Contract) -> None:
    invoke("sync")
    assert proposed().stdout == "Stewards propose nothing that declarations do not say.\n"
    table = server.find("table", f"{SERVICE}.sales")
    server.steward(table, description="Sales by order")
    invoke("sync")
    shown = proposed().stdout
    assert "# shop/sales, declared at" in shown
    assert "description: Sales by order\n" in shown
    assert "by ada" in shown
    (change,) = json.loads(proposed("shop/sales", "--json").stdout)
    found = change["field"], change["value"], change["state"]
    assert found == ("description", "Sales by order", "KEPT")
    assert json.loads(proposed("shop/orders", "--json").stdout) == []


def test_the_token_can_be_in_a_file(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_OPENMETADATA__TOKEN")
    monkeypatch.setenv("HEADRACE_OPENMETADATA__TOKEN_FILE", str(tmp_path / "token"))
    settings.cache_clear()
    missing = invoke("sync")
    assert missing.exit_code == 1
    assert "cannot be read" in missing.stderr or "cannot be read" in str(missing.exception)
    (tmp_path / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    assert invoke("sync").exit_code == 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("URL", "", "set HEADRACE_OPENMETADATA__URL"),
        ("TOKEN", "", "needs the token of a bot"),
        ("TOKEN", "wrong", "refuses the token of the bot"),
        ("TOKEN", "wröng", "has characters that no token has"),
        ("URL", "http://127.0.0.1:9", "does not answer"),
        ("URL", "https://bot:wrong@example.com/api", "openmetadata.url: "),
        ("URL", "http://[::1/api", "HEADRACE_OPENMETADATA__URL is not valid"),
    ],
)
def test_a_wrong_setting_is_one_message(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setattr("headrace.openmetadata.client._FIRST_PAUSE", 0)
    monkeypatch.setenv(f"HEADRACE_OPENMETADATA__{name}", value)
    settings.cache_clear()
    result = invoke("sync")
    assert result.exit_code != 0
    assert message in result.stderr or message in str(result.exception)
    assert "wrong" not in (result.stderr + str(result.exception)).replace("wrong-", "")
