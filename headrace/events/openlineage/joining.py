"""What OpenLineage events are of becomes part of the runs that a scheduler reports, when it reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.events.openlineage import completions, runs, versions
from headrace.events.openlineage.scheduler_runs import overlapping


@dataclass(frozen=True, slots=True)
class RunSpan:
    """When a run of a scheduler ran, as it is known now and as it was before; until: None while it goes on."""

    process_id: UUID
    run_id: UUID
    since: datetime
    until: datetime | None


def join_openlineage_runs(cursor: Cursor[Any], organisation: UUID, spans: Sequence[RunSpan]) -> None:
    """Decide anew of the runs that OpenLineage events are of, and that overlap with these, which of these they are."""
    documents = overlapping(cursor, organisation, [asdict(span) for span in spans])
    if not documents:
        return
    stored = runs.store(cursor, organisation, documents, frozenset(), {process for _, process in documents})
    versions.store(cursor, organisation, stored)
    completions.store_completions(cursor, organisation, (), {}, stored)
