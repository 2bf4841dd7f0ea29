"""Designs of jobs, reported outside runs: an input or output that the newest event omits has ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.database.jsonb import jsonb
from headrace.openlineage.documents import Document, stored_document
from headrace.openlineage.outlines import edges, ended
from headrace.openlineage.runs import documents_of, edge_rows
from headrace.openlineage.sql import statement

_DESIGNED = """
SELECT process_id, document FROM catalog.openlineage_run
WHERE organisation_id = %s AND run_id = ANY (%s) AND reported_run_id = process_id
"""
_ENDED = """
SELECT DISTINCT process_id FROM catalog.lineage_edge
WHERE origin = 'OBSERVED' AND valid_to IS NOT NULL AND (source_id = ANY (%(all)s) OR target_id = ANY (%(all)s))
"""


def settle(
    cursor: Cursor[Any], organisation: UUID, processes: Collection[UUID], merged: Collection[UUID]
) -> None:
    """End the edges that these jobs no longer have by design, unless their runs show them.

    merged: datasets that others have been merged into, whose edges may now be duplicates.
    """
    concerned = {*processes}
    if merged:
        concerned |= {row["process_id"] for row in cursor.execute(_ENDED, {"all": list(merged)})} - {None}
    if not concerned:
        return
    for row in cursor.execute(_DESIGNED, [organisation, list(concerned)]).fetchall():
        document = stored_document(row["document"])
        if len(document.times) > 1:
            _settle(cursor, organisation, row["process_id"], document)


def _settle(cursor: Cursor[Any], organisation: UUID, process: UUID, document: Document) -> None:
    over = ended(document)
    others = documents_of(cursor, [process])
    if others is None:
        return
    rows = edge_rows(dict.fromkeys(over, None))
    for row, edge in zip(rows, sorted(over), strict=True):
        row["since"], row["until"] = over[edge]
    statement("designs").execute(
        cursor,
        {
            "organisation": organisation,
            "process_id": process,
            "over": jsonb(rows),
            "still": jsonb(edge_rows({edge: None for each in others for edge in edges(each)})),
        },
    )
