"""Filter archived runs and events to those visible to the caller, like row-level security for tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Engine

from headrace.context import current_context, without_row_security
from headrace.database.connection import transaction
from headrace.database.row_security import is_narrow
from headrace.queries.processes import visible_processes
from headrace.retention.files import Archive
from headrace.retention.registry import EVER, KeptFile, Kind, kept


def files(engine: Engine, kind: Kind, since: datetime = EVER[0], until: datetime = EVER[1]) -> list[KeptFile]:
    """Return the files of the caller's organisation with rows of the kind from [since, until), newest first.

    None for a caller with some domains only if the kind is events: these are hidden in the tables as well, since they
    name datasets of any domain.
    """
    if kind is not Kind.RUN and is_narrow():
        return []
    with without_row_security(), transaction(engine) as cursor:  # an entry belongs to no domain
        return kept(cursor, kind, since, until)


def visible_runs(engine: Engine, rows: pa.Table) -> pa.Table:
    """Return the runs of a file that the caller may see: those of visible processes."""
    if not is_narrow():
        return rows
    visible = visible_processes(engine, pc.unique(rows["process_key"]).to_pylist())
    return rows.filter(pc.is_in(rows["process_key"], pa.array(sorted(visible), pa.string())))


def archived_run(engine: Engine, run_id: UUID, started_at: datetime) -> dict[str, Any] | None:
    """Return the row of an archived run, as in the file; None if it does not exist, or is hidden from the caller."""
    archive, wanted = Archive(current_context().settings.archive_location), pc.field("run_id") == str(run_id)
    for file in files(engine, Kind.RUN, started_at, started_at + timedelta(microseconds=1)):
        for row in visible_runs(engine, archive.read(file.location, where=wanted)).to_pylist():
            return dict(row)
    return None


def archived_events_of(
    engine: Engine, run_id: UUID, process: str, since: datetime, until: datetime
) -> Iterator[dict[str, Any]]:
    """Yield the archived events of this run of this process, from [since, until), as in the files."""
    archive = Archive(current_context().settings.archive_location)
    wanted = (pc.field("run_id") == str(run_id)) & (pc.field("process_key") == process)
    columns = ("event_time", "content_hash", "payload_json")
    for file in files(engine, Kind.EVENT, since, until):
        yield from archive.read(file.location, columns=columns, where=wanted).to_pylist()
