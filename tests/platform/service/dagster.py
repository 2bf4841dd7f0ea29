"""A webserver of Dagster that launches nothing: it answers as dagster-webserver 1.13.27, and keeps what it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from typing_extensions import override

DAYS = ["2026-01-01", "2026-01-02", "2026-01-03"]
_REPOSITORY = {"name": "__repository__", "location": {"name": "headrace"}}
# Recorded from the real one: an asset without partitions, one with, a source asset, and an unknown key.
_PLAIN = {
    "isMaterializable": True,
    "isPartitioned": False,
    "partitionKeys": [],
    "jobNames": ["__ASSET_JOB", "nightly"],
}
_DAILY = {"isMaterializable": True, "isPartitioned": True, "partitionKeys": DAYS, "jobNames": ["__ASSET_JOB"]}
_SOURCE = {"isMaterializable": False, "isPartitioned": False, "partitionKeys": [], "jobNames": []}
_UNKNOWN: dict[str, Any] = {}
RUN = "1125f260-f5c4-4b70-9859-b5289f472c02"
BACKFILL = "obyplane"


@dataclass
class StandIn:
    """The address, what is produced together, the launches that were requested, and why the next is refused."""

    url: str = ""
    launches: list[dict[str, Any]] = field(default_factory=list)
    together: dict[str, list[str]] = field(default_factory=dict)
    refusal: str | None = None

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        if "assetNodeOrError" in query:
            key = "/".join(variables["key"]["path"])
            node = {"mart/delays": _PLAIN, "raw/flights": _DAILY, "mart/report": _SOURCE}.get(key, _UNKNOWN)
            return {"assetNodeOrError": {**node, "repository": _REPOSITORY} if node else {}}
        if "assetNodeAdditionalRequiredKeys" in query:
            others = self.together.get("/".join(variables["keys"][0]["path"]), [])
            return {"assetNodeAdditionalRequiredKeys": [{"path": key.split("/")} for key in others]}
        name, answer = (
            ("launchRun", {"__typename": "LaunchRunSuccess", "run": {"runId": RUN}})
            if "launchRun" in query
            else ("launchPartitionBackfill", {"__typename": "LaunchBackfillSuccess", "backfillId": BACKFILL})
        )
        if self.refusal:
            return {name: {"__typename": "PythonError", "message": self.refusal}}
        self.launches.append(variables["params"])
        return {name: answer}


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """Serve until the end of the block."""
    made = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps({"data": made.answer(asked["query"], asked["variables"])}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
