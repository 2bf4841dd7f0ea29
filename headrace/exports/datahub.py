"""The lineage graph in DataHub, by its OpenLineage endpoint.

DataHub takes runs alone: each process is sent as a completed run with its inputs and outputs. Its endpoint
removes nothing other than the inputs and outputs that a process has no more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from uuid import UUID

import httpx
from sqlalchemy import Engine

from headrace.catalog.outbox import Part, Position, stored_position
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.exports.exporter import GraphChanges, GraphPart, GraphUnavailable
from headrace.exports.openlineage import Json, run_events
from headrace.exports.sql import statement

READER = "datahub"
PATH = "/openapi/openlineage/api/v1/lineage"
_SECONDS = 60.0  # of one request
_PAUSES = (1.0, 5.0, 20.0)  # seconds before a request is repeated
_BUSY = frozenset({429, 502, 503, 504})
_REFUSES_ALL = frozenset({401, 403, 404, 405})


class DataHub:
    """DataHub, at the address of the settings."""

    @property
    def is_configured(self) -> bool:
        """True if `datahub.url` is set."""
        return current_context().settings.datahub.url is not None

    @contextmanager
    def opened(self, engine: Engine, organisation: UUID) -> Iterator[DataHubLineage]:
        """Open a session."""
        there = current_context().settings.datahub
        if there.url is None:
            raise GraphUnavailable(
                "DataHub is not configured: set HEADRACE_DATAHUB__URL, for example https://datahub.example.com:8080"
            )
        token = there.token.get_secret_value() if there.token else None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(timeout=_SECONDS, headers=headers) as client:
            yield DataHubLineage(client, there.url.rstrip("/") + PATH, engine, organisation)


class DataHubLineage:
    """The copy in DataHub. The catalog has its position: what was sent since is sent again, and is the same there."""

    def __init__(self, client: httpx.Client, url: str, engine: Engine, organisation: UUID) -> None:
        """client: sends the token. url: of the endpoint."""
        self.problems: list[str] = []
        self._client = client
        self._url = url
        self._engine = engine
        self._organisation = organisation

    def position(self) -> Position | None:
        """Return the position that the catalog has stored."""
        with transaction(self._engine) as cursor:
            return stored_position(cursor, self._organisation, READER)

    def write(self, part: GraphPart, stamp: str) -> None:
        """Send the processes of a part; datasets and edges are in their events."""
        self._send([node.id for node in part.processes])

    def finish(self, stamp: str, reached: Position) -> int:
        """Remove nothing: the endpoint has no removals."""
        return 0

    def apply(self, changes: GraphChanges, reached: Position) -> None:
        """Send every process whose event contains something that changed."""
        edges = chain(changes.current.edges, changes.ended)
        ends = {end.id for edge in edges for end in (edge.source, edge.target) if end.kind == "PROCESS"}
        with transaction(self._engine) as cursor:
            rows = statement("affected_processes").execute(
                cursor,
                {
                    "organisation": self._organisation,
                    "processes": sorted({*changes.reported[Part.PROCESS], *ends}),
                    "datasets": list(changes.reported[Part.DATASET]),
                    "names": list(changes.reported[Part.COLUMN_EDGE]),
                },
            )
            affected = [row["id"] for row in rows]
        self._send(affected)

    def _send(self, processes: Sequence[UUID]) -> None:
        if not processes:
            return
        with transaction(self._engine) as cursor:
            events = list(run_events(cursor, self._organisation, processes))
        for event in events:
            self._post(event)

    def _post(self, event: Json) -> None:
        """Send an event. One that is refused does not stop the others. Raises GraphUnavailable."""
        for pause in (*_PAUSES, None):
            try:
                answer = self._client.post(self._url, json=event)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = type(error).__name__
            else:
                if answer.is_success:
                    return
                reason = f"HTTP {answer.status_code}"
                if answer.status_code in _REFUSES_ALL:
                    break
                if answer.status_code not in _BUSY:
                    self.problems.append(f"{event['job']['name']}: DataHub refuses the event with {reason}")
                    return
            if pause is not None:
                time.sleep(pause)
        raise GraphUnavailable(
            f"DataHub at {self._url}: {reason}. Check HEADRACE_DATAHUB__URL and __TOKEN, then retry."
        )
