"""`up`, `down` and `clean` against real processes: what is served and printed, and that nothing is left."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from headrace.database.connection import connect, transaction
from headrace.local import ports as webserver
from headrace.local import processes, session
from headrace.local import services as parts
from headrace.local import supervisor as services
from headrace.local.session import AlreadyRunning, ServiceError, Session
from headrace.local.supervisor import StoppedServices
from headrace.settings import settings
from tests.paths import REPOSITORY, WAIT_SECONDS

START_SECONDS = WAIT_SECONDS

DEFINITIONS = """
import time
import dagster as dg

@dg.asset
def slow():
    time.sleep(600)

defs = dg.Definitions(assets=[slow], jobs=[dg.define_asset_job("forever", executor_def=dg.in_process_executor)])
"""
LAUNCH = """
mutation {
  launchRun(executionParams: {
    selector: { repositoryLocationName: "tiny", repositoryName: "__repository__", jobName: "forever" }
    runConfigData: {}
  }) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } }
}
"""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of the test's own, from which nothing runs when the test is over."""
    # Not in pytest's folder: each session closes that to other users, such as PostgreSQL's when root runs this.
    with tempfile.TemporaryDirectory(prefix="headrace-test-") as parent:
        folder = Path(parent).resolve() / "state"
        monkeypatch.setenv("HEADRACE_HOME", str(folder))
        monkeypatch.delenv("HEADRACE_DATABASE_URL", raising=False)
        settings.cache_clear()
        yield folder
        processes.sweep(folder)
        services.down(force=True)
        settings.cache_clear()


@dataclass
class Up:
    """A `headrace up` in a separate process."""

    process: subprocess.Popen[str]
    output: Path
    home: Path

    def log_text(self) -> str:
        return self.output.read_text()

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.log_text():
            assert self.process.poll() is None, self.log_text()
            assert time.monotonic() < deadline, self.log_text()
            time.sleep(0.2)

    def part(self, name: str) -> psutil.Process:
        return next(one for one in marked(self.home) if name in " ".join(one.cmdline()))


@pytest.fixture
def start(home: Path, tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Start `up` on a workspace with one module that has `code` in it."""
    started: list[Up] = []

    def start_up(code: str = DEFINITIONS) -> Up:
        (tmp_path / "code").mkdir(exist_ok=True)
        (tmp_path / "code" / "tiny.py").write_text(code)
        workspace = tmp_path / "code" / "workspace.yaml"
        workspace.write_text("load_from:\n  - python_module: {module_name: tiny, location_name: tiny}\n")
        script = (
            "from pathlib import Path; from headrace.local.supervisor import up; "
            f"up(workspace=Path({str(workspace)!r}))"
        )
        output = tmp_path / f"output{len(started)}"
        with output.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, "-c", script],
                cwd=REPOSITORY,
                stdout=stream,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        started.append(Up(process, output, home))
        return started[-1]

    yield start_up
    for one in started:
        one.process.kill()
        one.process.wait()


def marked(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(processes.MARK) == str(home):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def servers_of(home: Path) -> list[psutil.Process]:
    """The PostgreSQL processes whose data is in `home`."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "postgres" and str(home / "postgres") in (process.info["cmdline"] or [])
    ]


def ask(port: int, query: str) -> dict[str, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
    connection.request("POST", "/graphql", json.dumps({"query": query}), {"Content-Type": "application/json"})
    answer: dict[str, object] = json.loads(connection.getresponse().read())["data"]
    return answer


def port_of(home: Path) -> int:
    running = session.read(home)
    assert running
    assert running.url
    return int(running.url.rpartition(":")[2])


@pytest.mark.slow
def test_serves_until_ctrl_c_or_a_kill_and_leaves_nothing(home: Path, start: Callable[..., Up]) -> None:
    up = start()
    up.wait_for("Headrace is up")
    port = port_of(home)
    assert f"http://127.0.0.1:{port}" in up.log_text()
    assert webserver.health(port) == webserver.Health((), {})
    addresses = {
        connection.laddr.ip
        for process in marked(home)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}
    (service_port,) = re.findall(r"pages +http://127\.0\.0\.1:(\d+)", up.log_text())
    report = http.client.HTTPConnection("127.0.0.1", int(service_port), timeout=WAIT_SECONDS)
    report.request("POST", "/api/v1/events", '{"process": "LOAD", "status": "SUCCESS"}')
    assert report.getresponse().status == 202

    with pytest.raises(AlreadyRunning, match=rf"http://127\.0\.0\.1:{port} \(process {up.process.pid}\)"):
        services.up()

    launched = ask(port, LAUNCH)["launchRun"]
    assert isinstance(launched, dict)
    run_id = launched["run"]["runId"]
    status = f'{{ runOrError(runId: "{run_id}") {{ ... on Run {{ status }} }} }}'
    deadline = time.monotonic() + WAIT_SECONDS
    while ask(port, status) != {"runOrError": {"status": "STARTED"}}:
        assert time.monotonic() < deadline
        time.sleep(0.5)

    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(WAIT_SECONDS) == 0, up.log_text()
    assert "Stopped 1 active run, to be started again at the next start." in up.log_text()
    assert up.log_text().rstrip().endswith("Headrace has stopped.")
    assert marked(home) == []
    assert servers_of(home) == []
    assert status_of(run_id) == "FAILURE"
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0

    up = start()
    up.wait_for("Headrace is up")
    retries = (
        f'{{ runsOrError(filter: {{tags: [{{key: "dagster/parent_run_id", value: "{run_id}"}}]}}) '
        "{ ... on Runs { results { runId } } } }"
    )
    deadline = time.monotonic() + WAIT_SECONDS
    while ask(port_of(home), retries) == {"runsOrError": {"results": []}}:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    require_nothing_left_after_a_kill(up)

    assert status_of(run_id) == "FAILURE"  # which starts PostgreSQL
    assert services.clean() == (StoppedServices(("PostgreSQL",)), home)
    assert not home.exists()
    assert servers_of(home) == []


def require_nothing_left_after_a_kill(up: Up) -> None:
    """`down` stops everything that a killed `up` has left."""
    up.process.kill()
    up.process.wait()
    assert marked(up.home)
    leftovers, database = services.down().services
    assert leftovers.endswith("processes that a killed `headrace up` had left")
    assert database == "PostgreSQL"
    assert marked(up.home) == []
    assert servers_of(up.home) == []
    sockets = parts._sockets_prefix(up.home)
    assert not list(sockets.parent.glob(sockets.name + "*"))
    assert services.down() == StoppedServices(())


def status_of(run_id: str) -> str:
    """Query the status in a separate process, since Dagster reads its home from the environment."""
    script = (
        "import os; from headrace.local.environment import environment; os.environ.update(environment()); "
        "import dagster as dg; "
        f"print(dg.DagsterInstance.get().get_run_by_id({run_id!r}).status.value)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_the_same_path_on_another_machine_is_another_state_folder(tmp_path: Path) -> None:
    """Otherwise the start of one machine would mark the live runs of the other, on the same database, as failed."""
    home = tmp_path / "state"
    here = parts._sockets_prefix(home)
    assert parts._sockets_prefix(home) == here
    home.rename(tmp_path / "elsewhere")
    assert parts._sockets_prefix(home) != here


@pytest.mark.slow
def test_broken_code_is_reported_and_the_ui_serves_until_one_part_dies(
    home: Path, start: Callable[..., Up]
) -> None:
    up = start("raise ValueError('no such river')")
    up.wait_for("Headrace is up")
    up.wait_for("The code location tiny did not load")
    assert "no such river" in up.log_text()

    up.part("dagster_internals.daemon").kill()
    assert up.process.wait(WAIT_SECONDS) == 1
    assert "daemon was killed by signal 9, so the others were stopped. Its last output:" in up.log_text()
    assert f"full log: {home / 'logs' / 'daemon.log'}" in up.log_text()
    assert marked(home) == []


@pytest.mark.slow
def test_a_signal_during_the_start_ends_it(home: Path, start: Callable[..., Up]) -> None:
    up = start()
    up.wait_for("Starting Headrace")
    deadline = time.monotonic() + START_SECONDS
    while not marked(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    services.down()
    assert up.process.wait(WAIT_SECONDS) == 0, up.log_text()
    assert "Headrace is up" not in up.log_text()
    assert marked(home) == []
    assert servers_of(home) == []


def test_a_port_asked_for_and_taken_is_refused(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            ServiceError, match=f"port {port} is used by another program. Choose a free one with --port"
        ):
            services.up(port)
    assert not (home / "postgres").exists()


def test_without_a_wish_the_first_free_port_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        first = other.getsockname()[1]
        with webserver.reserved_port(None, first) as port:
            assert port is not None
            assert port > first


def test_two_that_start_together_get_different_ports() -> None:
    with webserver.reserved_port(None, 3900) as one, webserver.reserved_port(None, 3900) as other:
        assert one is not None
        assert other is not None
        assert one != other
    with webserver.reserved_port(one, 3900) as again:
        assert again == one


@pytest.mark.usefixtures("home")
def test_down_leaves_postgresql_to_a_command_that_uses_it() -> None:
    script = "import sys; from headrace.database.connection import connect, transaction\n"
    script += "with transaction(connect()):\n    print('in use', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", script, "materialize"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "in use\n"
    stopped = services.down()
    assert stopped.services == ()
    [session] = stopped.sessions
    assert session.endswith(f" {socket.gethostname()}:{other.pid}")
    assert services.clean() == (stopped, None)
    other.communicate("")
    assert services.down() == StoppedServices(("PostgreSQL",))


@pytest.mark.usefixtures("engine")
def test_a_second_daemon_on_a_database_is_refused() -> None:
    with (
        services._only_daemon(Path("/one")),
        pytest.raises(
            AlreadyRunning, match=rf"serves this database \(headrace up {socket.gethostname()}:.*/one\)"
        ),
        services._only_daemon(Path("/two")),
    ):
        pytest.fail("two at once")
    with services._only_daemon(Path("/two")):
        pass


@pytest.mark.usefixtures("engine")
def test_a_daemon_that_lost_its_lock_takes_it_again_or_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "LOCK_SECONDS", 0.0)
    with services._only_daemon(Path("/one")) as one:
        _end_session_of("/one")
        one.keep()
        with pytest.raises(AlreadyRunning), services._only_daemon(Path("/two")):
            pytest.fail("two at once")
        _end_session_of("/one")
        with services._only_daemon(Path("/two")), pytest.raises(AlreadyRunning, match=":/two"):
            one.keep()


def _end_session_of(home: str) -> None:
    with transaction(connect()) as cursor:
        ended = cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE %s",
            [f"headrace up %:{home}"],
        ).fetchall()
    assert len(ended) == 1


def test_a_long_log_is_rotated_while_its_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MAX_LOG_BYTES", 10)
    command = ["sh", "-c", "while :; do echo 0123456789; sleep 0.05; done"]
    service = processes.start("loop", command, home=tmp_path, folder=tmp_path, environment=dict(os.environ))
    rotated = service.log.with_suffix(".log.1")
    deadline = time.monotonic() + WAIT_SECONDS
    while not rotated.exists() and time.monotonic() < deadline:
        processes.rotate(service)
    while not service.log.stat().st_size and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes.stop(service, 5)
    assert rotated.read_text().startswith("0123456789\n")
    assert set(service.log.read_text().splitlines()) == {"0123456789"}


def test_a_stale_session_note_is_ignored(home: Path) -> None:
    home.mkdir()
    session.write_note(
        home, Session(os.getpid(), "http://127.0.0.1:1")
    )  # a process that lives, and is not an `up`
    assert session.is_free(home)
    session.write_note(home, Session(os.getpid(), "http://127.0.0.1:1"))
    assert services.down() == StoppedServices(())


def test_only_one_holds_a_state_folder(home: Path) -> None:
    with session.alone(home):
        session.write_note(home, Session(os.getpid(), "http://127.0.0.1:3000"))
        with pytest.raises(AlreadyRunning, match="already running at http"), session.alone(home):
            pytest.fail("two at once")
    assert session.read(home) is None
    with session.alone(home):
        assert session.read(home) == Session(os.getpid())


def test_an_uncreatable_state_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(ServiceError, match="cannot write the state folder"),
        session.alone(tmp_path / "file" / "home"),
    ):
        pytest.fail("locked nothing")


@pytest.mark.parametrize("folder", [Path.home(), REPOSITORY, REPOSITORY.parent, Path("/")])
def test_clean_spares_folders_that_hold_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(folder))
    settings.cache_clear()
    try:
        with pytest.raises(ServiceError, match="holds more than Headrace's state"):
            services.clean()
    finally:
        settings.cache_clear()


def test_a_location_is_loaded_again_once_for_each_outdated_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("shop", "finance"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "headrace.toml").write_text(f'name = "{name}s"')
    workspace = tmp_path / "shop" / "workspace.yaml"
    workspace.write_text(
        "load_from:\n  - python_module: {module_name: definitions, location_name: here}\n"
        "  - python_module: {module_name: definitions, location_name: there, working_directory: ../finance}\n"
    )
    outdated = {("finances", datetime(2026, 1, 1, tzinfo=UTC))}
    reloaded: list[str] = []
    monkeypatch.setattr(parts, "RELOADS_SECONDS", 0.0)
    monkeypatch.setattr(parts, "connect", lambda: None)
    monkeypatch.setattr(parts, "outdated_loads", lambda _: set(outdated))
    monkeypatch.setattr(webserver, "reload", lambda _, location: reloaded.append(location))
    reloads = parts.Reloads(workspace, 3000)
    for _ in range(2):
        reloads.keep(print)
    assert reloaded == ["there"]
    outdated.add(("shops", datetime(2026, 1, 2, tzinfo=UTC)))
    reloads.keep(print)
    assert reloaded == ["there", "here"]


def sleeper(home: Path, code: str) -> processes.Service:
    service = processes.start(
        "part", [sys.executable, "-c", code], home=home, folder=home, environment=os.environ
    )
    deadline = time.monotonic() + 30
    while not service.log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return service


def test_sweep_ends_grandchildren_and_the_deaf(home: Path) -> None:
    home.mkdir()
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    service = sleeper(
        home,
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {deaf!r}], start_new_session=True)",
    )
    service.process.wait(WAIT_SECONDS)
    assert len(marked(home)) == 1
    assert processes.sweep(home, seconds=0.2) == 1
    assert [one for one in marked(home) if one.status() != psutil.STATUS_ZOMBIE] == []


def test_stop_gives_up_on_the_deaf(home: Path) -> None:
    home.mkdir()
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    service = sleeper(home, deaf)
    assert not processes.stop(service, 0.2)
    assert processes.sweep(home, seconds=0.2) == 1
    assert processes.stop(service, 5)


def test_the_end_of_a_log_is_readable_and_the_one_before_is_kept(home: Path) -> None:
    home.mkdir()
    first = sleeper(home, "print('before', flush=True)")
    first.process.wait(WAIT_SECONDS)
    service = sleeper(
        home, "for i in range(40): print(f'\\x1b[31mline {i}\\x1b[0m', flush=True)\nraise SystemExit(3)"
    )
    service.process.wait(WAIT_SECONDS)
    with pytest.raises(ServiceError, match="part ended with exit code 3") as error:
        parts.check_alive([service])
    assert "    line 39\n" in str(error.value)
    assert "line 24" not in str(error.value)
    assert "\x1b" not in str(error.value)
    assert str(service.log) in str(error.value)
    assert service.log.with_suffix(".log.1").read_text() == "before\n"
