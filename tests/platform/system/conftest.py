"""A separate deployment for end-to-end tests: a state folder with a few days of landed real flights."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, sync_playwright

from jobs.landing import land
from tests.paths import REPOSITORY, WAIT_SECONDS

TOOLS = Path(sys.executable).parent
DAYS = ("2013-01-01", "2013-01-02", "2013-01-03")
COMMAND_SECONDS = WAIT_SECONDS


@dataclass
class Deployment:
    """A state folder, and the environment in which commands work on it."""

    home: Path
    environment: dict[str, str]

    def run(self, *command: str, folder: Path = REPOSITORY, **variables: str) -> str:
        """Return the standard output of a command of this installation. Fails the test if it fails."""
        done = subprocess.run(
            [TOOLS / command[0], *command[1:]],
            cwd=folder,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def published(self, dataset: str, *options: str) -> dict[str, Any]:
        """The published version of a dataset, or of one of its partitions, as `headrace versions` prints it."""
        answer = json.loads(self.run("headrace", "versions", dataset, *options, "--json"))
        (version,) = [each["version"] for each in answer["versions"] if each["published"]]
        assert isinstance(version, dict)
        return version

    def processes(self) -> list[psutil.Process]:
        """Everything that works on this state folder: what commands have started, and its PostgreSQL."""
        return [each for each in psutil.process_iter() if self._is_mine(each)]

    def _is_mine(self, process: psutil.Process) -> bool:
        try:
            return process.pid != os.getpid() and (
                process.environ().get("HEADRACE_HOME") == str(self.home)
                or any(str(self.home) in word for word in process.cmdline())
            )
        except (psutil.Error, OSError):
            return False


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium: `make browser` installs it, or `apt-get install chromium` as root")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    """A deployment with landed files only; no process of it is left when the tests are over.

    Not in pytest's folder, which is closed to the other user that PostgreSQL runs as when root runs this.
    """
    with TemporaryDirectory(prefix="headrace-tests-") as parent:
        home = Path(parent).resolve() / "state"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
        made = Deployment(
            home,
            {
                **inherited,
                "HEADRACE_HOME": str(home),
                "HEADRACE_SPARK__MASTER": "local[2]",
                "HEADRACE_SPARK__CONF": json.dumps({"spark.sql.shuffle.partitions": "2"}),
            },
        )
        land(home / "landing" / "flights", days=[date.fromisoformat(day) for day in DAYS])
        try:
            yield made
        finally:
            made.run("headrace", "down")
            left = made.processes()
            for process in left:
                process.kill()
            psutil.wait_procs(left, timeout=10)
        assert not left


@dataclass
class Served:
    """A running `headrace up`."""

    deployment: Deployment
    url: str
    output: Path

    def ask(self, query: str, **variables: Any) -> Any:
        """The data that the UI's own interface answers. Fails the test on errors."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=WAIT_SECONDS)
        try:
            body = json.dumps({"query": query, "variables": variables})
            connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        assert "errors" not in answer, answer
        return answer["data"]

    def until(self, what: str, is_so: Callable[[], Any], seconds: float = WAIT_SECONDS) -> Any:
        """Poll until the answer is true, and return it; after `seconds` fail with the output of `headrace up`."""
        deadline = time.monotonic() + seconds
        while not (answer := is_so()):
            assert time.monotonic() < deadline, f"waited {seconds} s for {what}\n{self.output.read_text()}"
            time.sleep(0.5)
        return answer


@pytest.fixture(scope="module")
def served(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`headrace up` on the deployment; it ends cleanly, with all of its processes, on request."""
    output = tmp_path_factory.mktemp("up") / "output"
    with output.open("w") as stream:
        process = subprocess.Popen(
            [TOOLS / "headrace", "up"],
            cwd=REPOSITORY,
            env=deployment.environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + COMMAND_SECONDS
        while "Headrace is up" not in output.read_text():
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.2)
        yield Served(
            deployment, json.loads((deployment.home / "up.json").read_text(encoding="utf-8"))["url"], output
        )
        process.terminate()
        assert process.wait(COMMAND_SECONDS) == 0, output.read_text()
        assert not deployment.processes()
    finally:
        process.kill()
        process.wait()
