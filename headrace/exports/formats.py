"""The formats in which the lineage graph is exported."""

from __future__ import annotations

from typing import IO, Protocol
from uuid import UUID

from sqlalchemy import Engine

from headrace.plugins import Registry


class ExportFormat(Protocol):
    """Writes the lineage graph of an organisation in one format."""

    def write(self, engine: Engine, organisation: UUID, file: IO[bytes]) -> str:
        """Write the current graph, and return a description of what was written: `12 nodes and 30 edges`."""
        ...


FORMATS: Registry[ExportFormat] = Registry(
    "headrace.export_formats",
    "export format",
    {
        "graphml": "headrace.exports.graphml:GraphML",
        "openlineage": "headrace.exports.openlineage:OpenLineageLines",
    },
)
