"""The services of a running Headrace, in the order in which they start and stop."""

import http.client
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import yaml

from headrace.database.connection import connect
from headrace.errors import CatalogUnavailable
from headrace.local import ports as webserver
from headrace.local import processes
from headrace.local.environment import other_project_environment
from headrace.local.processes import Service
from headrace.local.servers import SERVICE
from headrace.local.session import ServiceError
from headrace.project import PROJECT_FILE, project_root
from headrace.queries.projects import outdated_loads
from headrace.settings import state_file

_FOLDER_ID = "folder-id"  # a file of the state folder
START_SECONDS = 300
RELOADS_SECONDS = 5.0  # between two questions whether a location has to be loaded again
RUNS_END_SECONDS = 30
PART_ENDS_SECONDS = 15
STOPPED_SECONDS = RUNS_END_SECONDS + 6 * PART_ENDS_SECONDS

Say = Callable[[str], None]


@contextmanager
def running(
    home: Path, workspace: Path, port: int, service_port: int, stop_wanted: Event, say: Say
) -> Iterator[Sequence[Service]]:
    """Run code server, webserver, daemon and the HTTP service, all healthy inside the `with`, all stopped after it.

    workspace: the file whose python_modules are served, each by one code server shared by webserver and daemon: half
    the work at the start, and a consistent state after a reload. Once `stop_wanted` is set, the start is aborted and
    the services started so far are yielded. Raises ServiceError if a service exits or is not healthy in time.
    """
    services: list[Service] = []
    sockets = Path(tempfile.mkdtemp(prefix=_sockets_prefix(home).name, dir=_sockets_prefix(home).parent))
    try:
        for step in _steps(services, home, workspace, sockets, port, service_port):
            _wait(step, services, home, stop_wanted)
        yield services
    finally:
        try:
            _stop(services, sockets, say)
        finally:
            processes.sweep(home)
            for service in services:
                service.process.wait()
            shutil.rmtree(sockets)


def check_alive(services: Sequence[Service]) -> None:
    """Raise ServiceError with the last lines of its log if a service has exited."""
    for service in services:
        code = service.process.poll()
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise ServiceError(
                f"{service.name} {how}, so the others were stopped. Its last output:\n{service.last_words()}"
            )


def remove_sockets(home: Path) -> None:
    """Delete sockets that a killed `up` of this state folder left in the temporary folder."""
    if not (home / _FOLDER_ID).exists():
        return
    prefix = _sockets_prefix(home)
    for folder in prefix.parent.glob(prefix.name + "*"):
        shutil.rmtree(folder)


def _steps(
    services: list[Service],
    home: Path,
    workspace: Path,
    sockets: Path,
    port: int,
    service_port: int,
) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Start one service after another; yields, before the next, the condition to wait for and how to check it."""

    def start(
        name: str,
        *command: str,
        folder: Path = workspace.parent,
        python: str = sys.executable,
        **variables: str,
    ) -> None:
        environment = {**os.environ, **variables}
        arguments = [python, "-m", *command]
        services.append(processes.start(name, arguments, home=home, folder=folder, environment=environment))

    load_from: list[dict[str, Any]] = []
    listening: list[Path] = []
    for entry in _entries(workspace):
        location = _code_location(workspace, entry)
        if location is None:
            load_from.append(entry)
            continue
        listening.append(sockets / f"{len(listening)}.sock")
        start(
            f"code-server-{location.name}",
            *("dagster", "code-server", "start", "--socket", str(listening[-1])),
            *("--module-name", location.module, "--location-name", location.name),
            # The default of 30 s would end a server that Spark has starved of CPU.
            *("--heartbeat-ttl", "600"),
            *("--working-directory", str(location.folder)),
            folder=location.folder,
            python=location.python,
            **_project_variables(location.folder),
        )
        load_from.append(
            {
                "grpc_server": {
                    "host": "localhost",
                    "socket": str(listening[-1]),
                    "location_name": location.name,
                }
            }
        )
    served = sockets / "workspace.yaml"
    served.write_text(yaml.safe_dump({"load_from": load_from}), encoding="utf-8")
    _launched_runs("prepare", str(_sockets_prefix(home)), str(sockets))
    yield "the code to load", lambda: all(map(_accepts, listening))

    start("webserver", "dagster_webserver", *_webserver_options(port), "--workspace", str(served))
    start("daemon", "headrace.dagster_internals.daemon", "run", "--workspace", str(served))
    start("service", *SERVICE.command(service_port), folder=project_root())
    yield "webserver, daemon and code location", lambda: not webserver.health(port).waiting_for
    yield "the service", lambda: SERVICE.is_up(service_port)


class Reloads:
    """Loads a code location again once another project has declared an input that it lacked.

    On a new catalog, all locations load before the first one registers its datasets.
    """

    def __init__(self, workspace: Path, port: int) -> None:
        self._workspace = workspace
        self._port = port
        self._done: set[tuple[str, datetime]] = set()
        self._asked = time.monotonic()

    def keep(self, say: Say) -> None:
        """Reload the outdated locations, each load once. Called often, it asks the catalog now and then."""
        if time.monotonic() - self._asked < RELOADS_SECONDS:
            return
        # A lost database or a busy webserver is asked again.
        with suppress(CatalogUnavailable, OSError, http.client.HTTPException):
            outdated = outdated_loads(connect()) - self._done
            projects = {project for project, _ in outdated}
            for location, project in _projects(self._workspace) if projects else ():
                if project in projects:
                    say(f"Loading {location} again: another project has declared its inputs.")
                    webserver.reload(self._port, location)
            self._done |= outdated
        self._asked = time.monotonic()


@dataclass(frozen=True, slots=True)
class _CodeLocation:
    """A module of a workspace file: a separate project, with the platform of its own environment if it names one."""

    name: str
    module: str
    folder: Path
    python: str


def _entries(workspace: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load(workspace.read_text(encoding="utf-8"))["load_from"]
    return entries


def _code_location(workspace: Path, entry: Mapping[str, Any]) -> _CodeLocation | None:
    """Return the code location of an entry; None for an entry of another kind."""
    if "python_module" not in entry:
        return None
    module = entry["python_module"]
    return _CodeLocation(
        name=module.get("location_name", module["module_name"]),
        module=module["module_name"],
        folder=(workspace.parent / module.get("working_directory", ".")).resolve(),
        python=module.get("executable_path", sys.executable),
    )


def _projects(workspace: Path) -> Iterator[tuple[str, str]]:
    """Yield the code locations of a workspace file with the names of their projects."""
    for entry in _entries(workspace):
        location = _code_location(workspace, entry)
        if location is not None and (file := location.folder / PROJECT_FILE).is_file():
            settings = tomllib.loads(file.read_text(encoding="utf-8"))
            yield location.name, settings.get("name", location.folder.name)


def _project_variables(folder: Path) -> dict[str, str]:
    """Return the variables of the code location in `folder`, which may be another project than the one of `up`."""
    if not (folder / PROJECT_FILE).is_file() or folder == project_root():
        return {"HEADRACE_PROJECT": str(project_root())}
    return {"HEADRACE_PROJECT": str(folder), **other_project_environment()}


def _webserver_options(port: int) -> list[str]:
    return ["--host", webserver.HOST, "--port", str(port), "--uvicorn-log-level", "warning"]


def _wait(
    step: tuple[str, Callable[[], bool]], services: Sequence[Service], home: Path, stop_wanted: Event
) -> None:
    what, is_ready = step
    deadline = time.monotonic() + START_SECONDS
    while not stop_wanted.is_set() and not is_ready():
        check_alive(services)
        if time.monotonic() > deadline:
            raise ServiceError(f"waited {START_SECONDS} s for {what}. See the logs in {home / 'logs'}.")
        stop_wanted.wait(0.2)


def _accepts(path: Path) -> bool:
    """Return True once a code server listens, which it does after loading its code."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _stop(services: Sequence[Service], sockets: Path, say: Say) -> None:
    """Stop the daemon first, so that nothing new starts, then the webserver, then the runs, then their servers."""
    for service in reversed(services):
        if service.name.startswith("code-server") and service.process.poll() is None:
            _end_runs(sockets, say)
        if not processes.stop(service, PART_ENDS_SECONDS):
            say(f"{service.name} did not end within {PART_ENDS_SECONDS} s and was killed.")


def _end_runs(sockets: Path, say: Say) -> None:
    try:
        count = int(_launched_runs("stop", str(sockets), str(RUNS_END_SECONDS)))
    except ServiceError as error:
        say(f"Active runs could not be stopped; they will be marked as failed at the next start: {error}")
    else:
        if count:
            say(
                f"Stopped {count} active {'run' if count == 1 else 'runs'}, to be started again at the next start."
            )


def _launched_runs(*arguments: str) -> str:
    """Run `headrace.local.launched_runs` and return its output. Raises ServiceError with its last words."""
    done = subprocess.run(
        [sys.executable, "-m", "headrace.local.launched_runs", *arguments],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,  # a Ctrl-C in the terminal must not end it half-way
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise ServiceError(f"Dagster's runs cannot be read or changed: {''.join(last)}")
    return done.stdout


def _sockets_prefix(home: Path) -> Path:
    """Return the prefix of this state folder's socket folders: short, since socket paths are limited.

    It has an id of the folder itself: on another machine the same path is another folder, with other runs.
    """
    identity = state_file(home / _FOLDER_ID, lambda: secrets.token_hex(6))
    return Path(tempfile.gettempdir()) / f"headrace-{identity}-"
