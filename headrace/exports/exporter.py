"""The forms in which the lineage graph is exported."""

from __future__ import annotations

from typing import IO, Protocol
from uuid import UUID

from sqlalchemy import Engine

from headrace.plugins import Registry


class Exporter(Protocol):
    """Writes the lineage graph of an organisation in one form."""

    def write(self, engine: Engine, organisation: UUID, file: IO[bytes]) -> str:
        """Write the graph as it is now, and return what was written, in words: `12 nodes and 30 edges`."""
        ...


EXPORTERS: Registry[Exporter] = Registry(
    "headrace.exporters",
    "export format",
    {
        "graphml": "headrace.exports.graphml:GraphML",
        "openlineage": "headrace.exports.openlineage:OpenLineageLines",
    },
)
