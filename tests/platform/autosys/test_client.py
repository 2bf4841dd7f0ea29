"""The files that jobs report with, as on an old host: alone, in any Python from 3.6 on, in any shell."""

from __future__ import annotations

import ast
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headrace.autosys.client import write
from tests.paths import WAIT_SECONDS

SHELLS = [shell for shell in ("dash", "bash", "busybox", "ksh", "mksh") if shutil.which(shell)]
PYTHONS = [
    found
    for found in (sys.executable, *map(str, sorted(Path.home().glob(".pyenv/versions/3.6*/bin/python"))))
    if Path(found).exists()
]
ODD = 'say "hi" \\ to\n\tall: é € 😀 \x01\x1f\x7f'


@dataclass
class Server:
    """A server on loopback that answers like the service, or as instructed."""

    status: int = 202
    rejected: list[dict[str, Any]] = field(default_factory=list)
    largest: int = 10**9
    delay: float = 0
    hang_up: bool = False
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    url: str = ""

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(line) for body in self.bodies for line in body.splitlines()]

    @property
    def end(self) -> dict[str, Any]:
        """Of a run; its start may follow it."""
        return next(each for each in self.documents if each["status"] != "RUNNING")

    def statuses(self) -> list[tuple[str, str]]:
        """Process and status of what has arrived, each document once, the starts of runs first."""
        found = {each["key"]: (each.get("process", ""), each["status"]) for each in self.documents}
        return sorted(found.values(), key=lambda each: each[1] != "RUNNING")


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Clients that do not wait for the response are tested."""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(state.delay)
            status = 413 if len(body) > state.largest else state.status
            if status in (202, 400):
                state.bodies.append(body)
                state.headers.append(dict(self.headers))
            if state.hang_up:
                return
            rejected = state.rejected if status in (202, 400) else []
            answer = json.dumps({"accepted": 1, "repeated": 0, "rejected": rejected}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None: ...

    with Quiet(("127.0.0.1", 0), Handler) as http:
        state.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield state
        http.shutdown()


@dataclass
class Client:
    """One of the clients, with its own spool."""

    command: Sequence[str]
    spool: Path
    environment: dict[str, str]

    def __call__(self, *words: str | bytes, **changes: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self.command, *words], env=self.environment | changes, capture_output=True, timeout=WAIT_SECONDS
        )

    @property
    def waiting(self) -> list[Path]:
        return sorted(self.spool.glob("*.json"))


@pytest.fixture(params=[*PYTHONS, *SHELLS])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    write(tmp_path / "client")
    program: str = request.param
    shell = ["busybox", "sh"] if program == "busybox" else [program]
    command = (
        [*shell, str(tmp_path / "client" / "headrace.sh")]
        if program in SHELLS
        else [program, str(tmp_path / "client" / "headrace_client.py")]
    )
    return Client(
        command,
        tmp_path / "spool",
        clean_environment(HEADRACE_SPOOL=str(tmp_path / "spool"), HEADRACE_TIMEOUT="60"),
    )


def clean_environment(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HEADRACE_", "AUTO")) and not name.lower().endswith("_proxy")
    }
    return kept | more


def refusing_url() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_the_python_form_is_python_3_6() -> None:
    source = (
        Path(__file__).parents[3] / "headrace" / "autosys" / "client" / "headrace_client.py"
    ).read_text()
    ast.parse(source, feature_version=(3, 6))
    assert "__future__" not in source


@pytest.mark.parametrize("python", PYTHONS[1:] or [pytest.param("", marks=pytest.mark.skip("no Python 3.6"))])
def test_the_python_form_runs_in_an_old_python(python: str, tmp_path: Path) -> None:
    write(tmp_path)
    code = "import headrace_client as c; print(c.register_process('X', 'SUCCESS', exit_code=0))"
    found = subprocess.run(
        [python, "-c", code],
        cwd=tmp_path,
        env=clean_environment(HEADRACE_COMPLETIONS=str(tmp_path), HEADRACE_SPOOL=str(tmp_path / "spool")),
        capture_output=True,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, b"True\n", b"")


def test_a_process_and_a_dataset_are_reported(client: Client, server: Server) -> None:
    here = {"HEADRACE_URL": server.url, "HEADRACE_TOKEN": 'a"b\\c'}
    first = client("process", "LOAD", "SUCCESS", "exit_code=0", "business_date=2013-01-01", **here)
    second = client("dataset", "ops/raw", "version=v1", "row_count=842", 'schema:=[{"name": "é"}]', **here)
    for done in (first, second):
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    process, dataset = server.documents
    assert (process["process"], process["status"], process["exit_code"]) == ("LOAD", "SUCCESS", 0)
    assert process["business_date"] == "2013-01-01"
    assert dataset["row_count"] == 842
    assert dataset["schema"] == [{"name": "é"}]
    assert (dataset["dataset"], dataset["version"], dataset["status"]) == ("ops/raw", "v1", "SUCCESS")
    assert process["key"] != dataset["key"]
    assert {each["Authorization"] for each in server.headers} == {'Bearer a"b\\c'}
    assert client.waiting == []


def test_text_arrives_as_it_is(client: Client, server: Server) -> None:
    odd = [ODD, "$(touch /tmp/no) `x` $HOME 'q'", "*", "-n", "a=b=c", "null", "{", "e\u0301", "\u2028"]
    for text in odd:
        client("process", "LOAD", "FAILURE", f"reason={text}", HEADRACE_URL=server.url)
    assert [each["reason"] for each in server.documents] == odd


def test_bytes_that_are_no_utf_8_are_read_as_latin_1(client: Client, server: Server) -> None:
    for locale in ("C", "C.UTF-8"):
        client(
            "process",
            "LOAD",
            "SU",
            b"reason=caf\xe9 \xf0\x9f \xc3\xa9",
            HEADRACE_URL=server.url,
            LC_ALL=locale,
        )
    assert {each["reason"] for each in server.documents} == {"café ð\x9f é"}


def test_an_autosys_job_says_who_it_is(client: Client, server: Server) -> None:
    autosys = {"AUTO_JOB_NAME": "LOAD", "AUTOSERV": "PRD", "AUTORUN": "1620", "HEADRACE_URL": server.url}
    client("process", "LOAD", "SUCCESS", **autosys)
    client("dataset", "ops/raw", **autosys)
    client("run", "--", "true", **autosys)
    client("process", "OTHER", "SUCCESS", **autosys)
    client("dataset", "ops/raw", "process=OTHER", **autosys)
    process, dataset, *of_run, other, of_other = {each["key"]: each for each in server.documents}.values()
    for document in (process, *of_run):
        message = (document["process"], document["technology"], document["instance"], document["run"])
        assert message == ("LOAD", "AUTOSYS", "PRD", "1620")
    # That a job has written something does not say that it has ended.
    assert "process" not in dataset
    assert dataset["metadata"] == {"job": "LOAD", "instance": "PRD", "run": "1620"}
    assert "run" not in other
    assert (of_other["process"], "metadata" in of_other) == ("OTHER", False)


def test_what_cannot_be_delivered_is_delivered_later_oldest_first(client: Client, server: Server) -> None:
    for number in range(3):
        failed = client("process", f"P{number}", "SUCCESS", HEADRACE_URL=refusing_url())
        assert failed.returncode == 0
        assert failed.stderr.count(b"\n") == 1
        assert failed.stderr.startswith(b"headrace: ")
        time.sleep(1.05)  # a shell's clock knows seconds only
    assert len(client.waiting) == 3
    client("process", "P3", "SUCCESS", HEADRACE_URL=server.url)
    assert [each["process"] for each in server.documents] == ["P0", "P1", "P2", "P3"]
    assert client.waiting == []


def test_flush_delivers_all_that_waits(client: Client, server: Server) -> None:
    client("process", "P", "SUCCESS", HEADRACE_URL=refusing_url())
    sample = client.waiting[0].read_text()
    for number in range(450):
        (client.spool / f"20000101T000000Z-{number:09}-0-0.json").write_text(sample)
    assert client("flush", HEADRACE_URL=server.url).stderr == b""
    assert len(server.documents) == 451
    assert client.waiting == []


def test_an_answer_that_is_lost_does_no_harm(client: Client, server: Server) -> None:
    server.hang_up = True
    assert client("process", "P", "SUCCESS", HEADRACE_URL=server.url).returncode == 0
    assert len(client.waiting) == 1
    server.hang_up = False
    client("flush", HEADRACE_URL=server.url)
    first, second = server.documents
    assert first["key"] == second["key"]
    assert client.waiting == []


@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_a_server_that_will_not_now_is_asked_again(client: Client, server: Server, status: int) -> None:
    server.status = status
    assert b"it waits in" in client("process", "P", "SUCCESS", HEADRACE_URL=server.url).stderr
    assert len(client.waiting) == 1


def test_a_refused_event_does_not_affect_others(client: Client, server: Server) -> None:
    client("process", "P", "SUCESS", HEADRACE_URL=refusing_url())
    server.rejected = [{"line": 1, "field": "status", "message": 'there is no status "SUCESS", {"line": 2}'}]
    refused = client("process", "Q", "SUCCESS", HEADRACE_URL=server.url)
    assert b"there is no status" in refused.stderr
    assert client.waiting == []
    [aside] = (client.spool / "refused").iterdir()
    assert json.loads(aside.read_text())["process"] == "P"


def test_too_much_at_once_goes_one_by_one(client: Client, server: Server) -> None:
    client("process", "P", "SUCCESS", HEADRACE_URL=refusing_url())
    client("process", "HUGE", "SUCCESS", f"reason={'x' * 2000}", HEADRACE_URL=refusing_url())
    server.largest = 400
    client("flush", HEADRACE_URL=server.url)
    assert {each["process"] for each in server.documents} == {"P"}
    assert client.waiting == []
    assert len(list((client.spool / "refused").iterdir())) == 1


def test_an_unresponsive_server_does_not_block(client: Client, server: Server) -> None:
    server.delay = 20
    started = time.monotonic()
    done = client("process", "P", "SUCCESS", HEADRACE_URL=server.url, HEADRACE_TIMEOUT="1")
    assert done.returncode == 0
    assert time.monotonic() - started < server.delay
    assert len(client.waiting) == 1


def test_a_folder_gets_whole_files(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "completions"
    there = {"HEADRACE_COMPLETIONS": str(folder)}
    assert client("process", "P", "SUCCESS", **there).stderr.startswith(b"headrace: ")
    folder.mkdir()
    assert client("process", "Q", "SUCCESS", **there).stderr == b""
    assert {json.loads(file.read_text())["process"] for file in folder.glob("*.json")} == {"P", "Q"}
    assert len(list(folder.iterdir())) == 2
    assert client.waiting == []


def test_without_a_place_to_keep_it_is_delivered_all_the_same(
    client: Client, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = client(
        "process", "P", "SUCCESS", HEADRACE_URL=server.url, HEADRACE_SPOOL=str(tmp_path / "file" / "spool")
    )
    assert done.returncode == 0
    assert server.statuses() == [("P", "SUCCESS")]


@pytest.mark.parametrize(
    "words", [(), ("process",), ("process", "P"), ("dataset",), ("bogus", "x"), ("flush", "x", "y")]
)
def test_a_wrong_call_fails_no_job(client: Client, words: Sequence[str]) -> None:
    done = client(*words)
    assert done.returncode == 0
    assert done.stdout == b""


def test_run_reports_start_and_end(client: Client, server: Server, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    with log.open("wb") as output:
        job = subprocess.Popen(
            [*client.command, "run", "business_date=2013-01-01", "--", "sh", "-c", "cat; echo done; exit 3"],
            env=client.environment | {"HEADRACE_URL": server.url},
            stdin=subprocess.PIPE,
            stdout=output,
        )
        job.communicate(b"from stdin\n")
    assert job.returncode == 3
    assert log.read_text() == "from stdin\ndone\n"
    assert server.statuses() == [("sh", "RUNNING"), ("sh", "FAILURE")]
    end = server.end
    assert (end["exit_code"], end["log"], end["business_date"]) == (3, str(log), "2013-01-01")
    assert end["duration_seconds"] >= 0
    assert len({each["started_at"] for each in server.documents}) == 1
    assert len({each["run"] for each in server.documents}) == 1


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 255])
def test_run_exits_as_its_command(client: Client, server: Server, code: int) -> None:
    done = client("run", "max_exit_success=1", "--", "sh", "-c", f"exit {code}", HEADRACE_URL=server.url)
    assert done.returncode == code
    assert server.statuses()[-1][1] == ("SUCCESS" if code <= 1 else "FAILURE")


def test_run_of_what_is_not_there(client: Client, server: Server) -> None:
    done = client("run", "--", "no-such-program", HEADRACE_URL=server.url)
    assert done.returncode == 127
    assert server.statuses()[-1] == ("no-such-program", "FAILURE")


def test_run_without_a_command(client: Client) -> None:
    assert client("run", "--").returncode == 2
    assert client("run", "echo").returncode == 2


def test_run_holds_its_job_up_neither_at_the_start_nor_for_long_at_the_end(
    client: Client, server: Server
) -> None:
    server.delay = 20
    marks = subprocess.run(
        [*client.command, "run", "--", "date", "+%s.%N"],
        env=client.environment | {"HEADRACE_URL": server.url, "HEADRACE_TIMEOUT": "1"},
        capture_output=True,
        timeout=30,
    )
    ended = time.time()
    assert marks.returncode == 0
    assert ended - float(marks.stdout) < 2.5
    assert len(client.waiting) == 2


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGQUIT"])
def test_a_signal_reaches_the_command(client: Client, server: Server, tmp_path: Path, name: str) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'echo caught; exit 9' {name[3:]}; : > {ready}; while :; do sleep 0.05; done"
    job = subprocess.Popen(
        [*client.command, "run", "--", "bash", "-c", script],
        env=client.environment | {"HEADRACE_URL": server.url},
        stdout=subprocess.PIPE,
        start_new_session=True,
        # In background jobs these signals are ignored, and a shell cannot trap an ignored signal.
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),
    )
    wait_for(ready.exists)
    os.kill(job.pid, getattr(signal, name))
    output, _ = job.communicate(timeout=WAIT_SECONDS)
    assert (output, job.returncode) == (b"caught\n", 9)
    assert server.statuses()[-1] == ("bash", "FAILURE")


def test_a_signal_reaches_the_command_whatever_the_wrapper_is_at(client: Client, server: Server) -> None:
    script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done"
    for attempt in range(8):
        job = subprocess.Popen(
            [*client.command, "run", "--", "bash", "-c", script],
            env=client.environment | {"HEADRACE_URL": server.url},
            stdout=subprocess.PIPE,
        )
        assert job.stdout
        assert job.stdout.readline() == b"ready\n"
        time.sleep(attempt * 0.01)
        job.send_signal(signal.SIGTERM)
        assert job.wait(WAIT_SECONDS) == 9
        job.stdout.close()
    assert [status for _, status in server.statuses()] == ["RUNNING"] * 8 + ["FAILURE"] * 8


def test_a_command_that_a_signal_ends(client: Client, server: Server, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    job = subprocess.Popen(
        [*client.command, "run", "--", "sh", "-c", f": > {ready}; exec sleep 30"],
        env=client.environment | {"HEADRACE_URL": server.url},
        stderr=subprocess.PIPE,
    )
    wait_for(ready.exists)
    time.sleep(0.2)  # from the file to the exec
    job.send_signal(signal.SIGTERM)
    _, errors = job.communicate(timeout=WAIT_SECONDS)
    assert job.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert errors == b""
    assert server.statuses()[-1] == ("sh", "TERMINATED")
    assert server.end["exit_code"] == 143


def test_a_command_may_read_the_terminal(client: Client, server: Server) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(  # noqa: S606
            client.command[0],
            [*client.command, "run", "--", "sh", "-c", "read line; echo got $line; exit 4"],
            client.environment | {"HEADRACE_URL": server.url},
        )
    time.sleep(0.5)
    os.write(terminal, b"hello\n")
    message = b""
    while b"got hello" not in message:
        message += os.read(terminal, 1000)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 4


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "busybox"])
def test_the_functions_leave_their_wrapper_alone(server: Server, tmp_path: Path, shell: str) -> None:
    write(tmp_path)
    wrapper = tmp_path / "wrapper.sh"
    wrapper.write_text(
        "set -eu\n"
        f". {tmp_path}/headrace.sh\n"
        "trap 'echo trapped' TERM\n"
        "headrace_process LOAD RUNNING\n"
        "headrace_dataset ops/raw row_count=3\n"
        "headrace_process\n"
        "headrace_run -- sh -c 'exit 5' || code=$?\n"
        "headrace_flush\n"
        'echo "code $code"\n'
        "kill -TERM $$\n"
        "set | grep -c '^_headrace_[a-z_]*=' || :\n"
    )
    done = subprocess.run(
        [shell, str(wrapper)],
        env=clean_environment(HEADRACE_URL=server.url, HEADRACE_SPOOL=str(tmp_path / "spool")),
        capture_output=True,
    )
    assert done.stdout.splitlines() == [b"code 5", b"trapped", b"0"], done.stderr
    assert done.returncode == 0
    assert server.statuses() == [("LOAD", "RUNNING"), ("sh", "RUNNING"), ("", "SUCCESS"), ("sh", "FAILURE")]


def test_headrace_run_takes_whichever_there_is(server: Server, tmp_path: Path) -> None:
    write(tmp_path / "client")
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in (
        "sh",
        "dirname",
        "env",
        "date",
        "od",
        "tr",
        "uname",
        "ls",
        "awk",
        "mkdir",
        "mv",
        "rm",
        "curl",
        "sed",
        "id",
    ):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    for path in (os.environ["PATH"], str(tools)):
        done = subprocess.run(
            [str(tmp_path / "client" / "headrace-run"), "--", "sh", "-c", "exit 6"],
            env=clean_environment(HEADRACE_URL=server.url, HEADRACE_SPOOL=str(tmp_path / "spool"), PATH=path),
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (6, b"")
    assert [status for _, status in server.statuses()] == ["RUNNING", "RUNNING", "FAILURE", "FAILURE"]
