"""Facets and datasets that events reported for a run, live or archived."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, PublicField, SubjectKey
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import jsonb
from headrace.openlineage.facet_schemas import RUN, facet_schemas
from headrace.queries.facets import FacetRow
from headrace.queries.rows import RunReport
from headrace.retention.sql import statement

_ORIGIN = """
SELECT reported_run_id, process_key, first_at, last_at
FROM catalog.process_run run
LEFT JOIN catalog.openlineage_run run_facets USING (organisation_id, run_id)
LEFT JOIN catalog.process ON process.process_id = run_facets.process_id
WHERE run.run_id = %s
"""


@dataclass(frozen=True, slots=True)
class RunDataset:
    """A dataset that a run read (INPUT) or wrote (OUTPUT). version: as known to the run. facets: of this use."""

    role: Public[str]
    dataset_id: UUID
    key: SubjectKey
    version: Public[str | None]
    partition: Public[str | None]
    facets: Annotated[Mapping[str, Any], PublicField.MODELLED_FACETS]


@dataclass(frozen=True, slots=True)
class RunFacets:
    """facets: the newest of each name of the run. datasets: its inputs and outputs, as reported."""

    facets: dict[str, FacetRow]
    datasets: list[RunDataset]


@dataclass(frozen=True, slots=True)
class _Origin:
    """The events of the run: ids and time range; used: its datasets, if it is archived."""

    reported: UUID
    process: str
    first: datetime
    last: datetime
    used: Sequence[Mapping[str, Any]] = ()


def run_facets(engine: Engine, run: RunReport) -> RunFacets:
    """Return the facets and datasets reported for a run, available as long as its events are, live or archived.

    A caller with some domains only sees no facets of runs, which name datasets of any domain. Raises ArchiveUnavailable
    on storage errors.
    """
    origin = _origin(engine, run)
    wanted = {
        "organisation": current_context().organisation_id,
        "run_id": run.run_id,
        "reported": origin and origin.reported,
        "process": origin and origin.process,
        "archived": jsonb(_archived_events(engine, origin) if origin else ()),
        "used": jsonb(origin.used if origin else ()),
    }
    with transaction(engine) as cursor:
        facets = statement("openlineage_run_facets").execute(cursor, wanted).fetchall()
        datasets = statement("openlineage_run_datasets").execute(cursor, wanted).fetchall()
    return RunFacets(
        {row["name"]: FacetRow(**row, modelled=_is_modelled(row["name"], row["content"])) for row in facets},
        [RunDataset(**row) for row in datasets],
    )


def _origin(engine: Engine, run: RunReport) -> _Origin | None:
    with transaction(engine) as cursor:
        row = cursor.execute(_ORIGIN, [run.run_id]).fetchone()
    if row is None:
        return _archived_origin(engine, run)
    if row["reported_run_id"] is None:  # not reported, or not visible to this caller
        return None
    return _Origin(row["reported_run_id"], row["process_key"], row["first_at"], row["last_at"])


def _archived_origin(engine: Engine, run: RunReport) -> _Origin | None:
    from headrace.retention.visibility import (
        archived_run,  # imported here, because Parquet's reader is slow to import
    )

    row = archived_run(engine, run.run_id, run.started_at)
    document = row and json.loads(row.get("openlineage") or "null")
    if not row or not document:
        return None
    stated = document["run"]
    return _Origin(
        UUID(stated["reported_run_id"]),
        row["process_key"],
        datetime.fromisoformat(stated["first_at"]),
        datetime.fromisoformat(stated["last_at"]),
        document["datasets"] or (),
    )


def _archived_events(engine: Engine, origin: _Origin) -> list[dict[str, Any]]:
    from headrace.retention.visibility import archived_events_of

    return [
        {
            "event_time": row["event_time"].isoformat(),
            "content_hash": row["content_hash"],
            "payload_json": json.loads(row["payload_json"]),
        }
        for row in archived_events_of(
            engine, origin.reported, origin.process, origin.first, origin.last + timedelta(microseconds=1)
        )
    ]


def _is_modelled(name: str, content: Mapping[str, Any]) -> bool:
    known = facet_schemas()[RUN].get(name)
    return known is not None and known.describes(content["_schemaURL"])
