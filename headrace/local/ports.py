"""The servers of this machine: ports and health of Dagster's webserver, its daemon and code, and Headrace's own."""

import fcntl
import http.client
import json
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

HOST = "127.0.0.1"
PROTOCOL = "headrace.http.protocol:BoundedProtocol"  # Headrace's own servers parse HTTP with it
FIRST_PORT = 3000
_QUERY = """
{
  instance { daemonHealth { allDaemonStatuses { daemonType required healthy } } }
  workspaceOrError {
    ... on Workspace {
      locationEntries { name loadStatus locationOrLoadError { ... on PythonError { message causes { message } } } }
    }
  }
}
"""
_RELOAD = """
mutation Reload($name: String!) { reloadRepositoryLocation(repositoryLocationName: $name) { __typename } }
"""
_RELOAD_SECONDS = 60


class PortUnavailable(Exception):
    """A port cannot be listened on; the message gives a solution."""


@dataclass(frozen=True, slots=True)
class Health:
    """waiting_for: the services that are not up yet; load_errors: why a code location failed to load, by name."""

    waiting_for: tuple[str, ...]
    load_errors: dict[str, str]


def health(port: int) -> Health:
    """Query the webserver on `port`; if it does not respond, it is itself waited for."""
    try:
        answer = _ask(port, _QUERY)
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return Health(("dagster-webserver",), {})
    daemons = answer["instance"]["daemonHealth"]["allDaemonStatuses"]
    locations = answer["workspaceOrError"].get("locationEntries", [])
    waiting = [
        f"dagster-daemon ({one['daemonType'].lower()})"
        for one in daemons
        if one["required"] and not one["healthy"]
    ]
    waiting += [f"code location {one['name']}" for one in locations if one["loadStatus"] != "LOADED"]
    errors = {one["name"]: _root_cause(one["locationOrLoadError"]) for one in locations if _failed(one)}
    return Health(tuple(waiting), errors)


def reload(port: int, location: str) -> None:
    """Load the code of a location again. Raises OSError or HTTPException if the webserver does not answer in time."""
    _ask(port, _RELOAD, {"name": location}, seconds=_RELOAD_SECONDS)


def _failed(location: dict[str, Any]) -> bool:
    return "message" in (location["locationOrLoadError"] or {})


def _root_cause(error: dict[str, Any]) -> str:
    """Return the root cause: Dagster wraps exceptions of the code in its own."""
    messages = [one["message"].strip() for one in (error, *error["causes"])]
    return str(messages[-1])


@contextmanager
def reserved_port(wanted: int | None, first: int) -> Iterator[int | None]:
    """Yield `wanted`, or the first free port of a hundred from `first` on; None if there is none.

    Until the block ends no other Headrace of this user takes it, although nothing listens there yet.
    """
    for port in range(first, first + 100) if wanted is None else (wanted,):
        with _claimed(port) as mine:
            if mine and _is_free(port, HOST):
                yield port
                return
    yield None


@contextmanager
def _claimed(port: int) -> Iterator[bool]:
    """Try to lock the port's file, which the system releases if this process dies."""
    with (Path(tempfile.gettempdir()) / f"headrace-{os.getuid()}-port-{port}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def answers(port: int, path: str) -> bool:
    """Return True if a local server answers a GET of the path with 200."""
    # http.client, because urllib would use a proxy from the environment.
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def run(application: str, host: str, port: int, listening: str, **options: Any) -> None:  # noqa: ANN401 - uvicorn's
    """Serve an ASGI application by its factory (`module:function`) until Ctrl-C, and print `listening` once it listens.

    options: further options of uvicorn. Raises PortUnavailable if the port cannot be listened on.
    """
    import uvicorn

    if not _is_free(port, host):
        raise PortUnavailable(f"port {port} of {host} is not available. Choose a free one with --port.")

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                typer.echo(listening, err=True)

    served = Server(
        uvicorn.Config(
            application,
            factory=True,
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            http=PROTOCOL,
            **options,
        )
    )
    with suppress(KeyboardInterrupt):  # raised again by uvicorn after its shutdown
        served.run()
    if not served.started:
        raise PortUnavailable(f"port {port} of {host} was not available; see the error above.")


def _is_free(port: int, host: str) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like the webserver
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def _ask(
    port: int, query: str, variables: Mapping[str, str] | None = None, *, seconds: int = 10
) -> dict[str, Any]:
    # http.client, because urllib would use a proxy from the environment.
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    body = json.dumps({"query": query, "variables": variables or {}})
    try:
        connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
        answer: dict[str, Any] = json.loads(connection.getresponse().read())["data"]
        return answer
    finally:
        connection.close()
