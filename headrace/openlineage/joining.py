"""Join runs of OpenLineage events with the runs that a scheduler reports, when it reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.openlineage import completions, runs, versions
from headrace.openlineage.scheduler_runs import overlapping


@dataclass(frozen=True, slots=True)
class RunSpan:
    """When a scheduler's run ran, as known now and as known before; until: None while it is running."""

    process_id: UUID
    run_id: UUID
    since: datetime
    until: datetime | None


def join_openlineage_runs(cursor: Cursor[Any], organisation: UUID, spans: Sequence[RunSpan]) -> None:
    """Decide again which of these runs the overlapping runs of OpenLineage events belong to."""
    documents = overlapping(cursor, organisation, [asdict(span) for span in spans])
    if not documents:
        return
    processes = {process for _, process in documents}
    reported = {span.run_id for span in spans}
    stored = runs.store(cursor, organisation, documents, frozenset(), processes, reported)
    new = versions.store(cursor, organisation, stored)
    completions.complete(cursor, organisation, (), {}, stored, sequences={}, new_versions=new)
