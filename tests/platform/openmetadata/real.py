"""The tests of this package against a real OpenMetadata server: `python -m tests.platform.openmetadata.real URL`.

It needs a server for tests, a bot's token in OPENMETADATA_TOKEN and a steward's in OPENMETADATA_STEWARD_TOKEN. The
users `ops`, `ada` (the steward) and `grace`, and the team `flight_data`, are made where they are missing; the services
named `headrace` are deleted for good before each test. Tests that look into the contract server itself are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from tests.paths import REPOSITORY
from tests.platform.openmetadata.server import COLLECTIONS, Contract, Entity, Refused, Request

URL = os.environ.get("OPENMETADATA_URL")
_FIELDS = {
    "tables": "owners,tags,domains,dataProducts,extension,columns,tableConstraints",
    "pipelines": "owners,tags,tasks",
}
_OURS = {"tables", "pipelines", "dataQuality/testCases", "databases", "databaseSchemas"}
_INSIDE = frozenset(
    {
        "entities",
        "profiles",
        "statuses",
        "results",
        "samples",
        "incidents",
        "events",
        "history",
        "names",
        "write_edge",
        "seed",
        "resolve",
        "_update",
    }
)
_PATHS = {collection.type: path for path, collection in COLLECTIONS.items()}


@dataclass
class RealServer(Contract):
    """A real server with the face of the contract server: it forwards requests, and is read by its API."""

    url: str = ""
    token: str = ""
    steward_token: str = ""
    _http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=120))
    _is_ready: bool = False

    def __post_init__(self) -> None:
        self.version = str(self._read("system/version")["version"])
        for service in ("databaseServices", "pipelineServices"):
            found = self._send("GET", f"services/{service}/name/headrace?include=all", self.token)
            if found.status_code == httpx.codes.OK:
                path = f"services/{service}/{found.json()['id']}?hardDelete=true&recursive=true"
                self._send("DELETE", path, self.token).raise_for_status()
        for name in ("ops", "ada", "grace"):
            self._send("PUT", "users", self.token, {"name": name, "email": f"{name}@example.com"})
        self._send("PUT", "teams", self.token, {"name": "flight_data", "teamType": "Group"})
        self._is_ready = True

    def __getattribute__(self, name: str) -> Any:
        if name in _INSIDE and object.__getattribute__(self, "_is_ready"):
            pytest.skip("looks into the contract server")
        if name == "edges" and object.__getattribute__(self, "_is_ready"):
            return self._edges()
        return object.__getattribute__(self, name)

    def answer(self, request: Request) -> tuple[int, dict[str, str], Any]:
        """Forward a request; `before` and `after` fail it as they do in the contract server."""
        self.requests.append(str(request))
        try:
            self.before(request)
            if request.path == "system/version":
                return 200, {}, {"version": self.version}
            query = f"?{urlencode(request.query)}" if request.query else ""
            kind = request.headers.get("content-type", "application/json")
            more = {"If-Match": request.headers["if-match"]} if "if-match" in request.headers else {}
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            sent = self._send(
                request.method, f"{quote(request.path)}{query}", token, request.body, kind=kind, **more
            )
            self.after(request)
        except Refused as refused:
            return refused.status, refused.headers, {"message": str(refused)}
        headers = {name: sent.headers[name] for name in ("ETag", "Retry-After") if name in sent.headers}
        return sent.status_code, headers, sent.json() if sent.content else {}

    def find(self, kind: str, fqn: str) -> Entity:
        path = _PATHS[kind]
        fields = f"&fields={_FIELDS[path]}" if path in _FIELDS else ""
        return self._read(f"{path}/name/{quote(fqn, safe='')}?include=all{fields}")

    def all(self, kind: str, *, deleted: bool = False) -> list[Entity]:
        path = _PATHS[kind]
        include = "deleted" if deleted else "non-deleted"
        found: list[Entity] = self._read(f"{path}?limit=1000&include={include}")["data"]
        return [
            each for each in found if path not in _OURS or each["fullyQualifiedName"].startswith("headrace.")
        ]

    def _edges(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the edges into our tables and pipelines."""
        found = {}
        for kind in ("table", "pipeline"):
            for each in self.all(kind):
                answer = self._read(f"lineage/{kind}/{each['id']}?upstreamDepth=1&downstreamDepth=0")
                for edge in answer.get("upstreamEdges") or ():
                    if edge["toEntity"] == each["id"]:
                        found[edge["fromEntity"], each["id"]] = edge.get("lineageDetails") or {}
        return found

    def steward(self, entity: Entity, **changes: Any) -> None:
        """Patch an entity with the steward's token."""
        patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in changes.items()]
        path = f"{_PATHS[self._kind(entity)]}/{entity['id']}"
        self._send(
            "PATCH", path, self.steward_token, patch, kind="application/json-patch+json"
        ).raise_for_status()

    def _kind(self, entity: Entity) -> str:
        return "table" if "databaseSchema" in entity else "pipeline"

    def _read(self, path: str) -> Any:
        answer = self._send("GET", path, self.token)
        answer.raise_for_status()
        return answer.json()

    def _send(
        self,
        method: str,
        path: str,
        token: str,
        body: object = None,
        *,
        kind: str = "application/json",
        **headers: str,
    ) -> httpx.Response:
        content = None if body is None else httpx.Request("POST", "http://x", json=body).content
        given = {"Authorization": f"Bearer {token}", "Content-Type": kind, **headers}
        return self._http.request(method, f"{self.url.rstrip('/')}/v1/{path}", content=content, headers=given)


def real_server() -> RealServer:
    """The server that the environment names."""
    return RealServer(
        url=str(URL),
        token=os.environ["OPENMETADATA_TOKEN"],
        steward_token=os.environ["OPENMETADATA_STEWARD_TOKEN"],
    )


def main() -> int:
    """Run the tests of this package against the server in the first argument."""
    if len(sys.argv) != 2 or not {"OPENMETADATA_TOKEN", "OPENMETADATA_STEWARD_TOKEN"} <= os.environ.keys():
        sys.exit(str(__doc__))
    tests = ["test_outgoing.py", "test_incoming.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-rs"]
    command += [f"tests/platform/openmetadata/{name}" for name in tests]
    environment = {**os.environ, "OPENMETADATA_URL": sys.argv[1]}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
