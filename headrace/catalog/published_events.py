"""Raw events in OpenLineage's format (core spec 2-0-2), built from the reports of a run and stored unchanged."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from psycopg import Cursor

from headrace.catalog import column_lineage
from headrace.catalog.records import Column, RunState, VersionDraft
from headrace.context import current_context
from headrace.database.jsonb import encoded, jsonb

PRODUCER = "https://github.com/headrace/headrace"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"
_KEY = re.compile(r"[^/:]+/[^/:]+")
_PATH = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")
_FACET = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/BaseFacet"

EVENT_TYPES = {
    RunState.RUNNING: "START",
    RunState.SUCCESS: "COMPLETE",
    RunState.FAILED: "FAIL",
    RunState.BLOCKED: "FAIL",
    RunState.SUPERSEDED: "ABORT",
    RunState.LOST: "ABORT",
    RunState.QUEUED: "OTHER",
    RunState.HELD: "OTHER",
    RunState.SKIPPED: "OTHER",
    RunState.TERMINATED: "ABORT",
}

_STORE = """
INSERT INTO catalog.run_event (
    event_time, organisation_id, run_id, process_key, event_type, payload_json, content_hash
) VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (event_time, content_hash, organisation_id) DO NOTHING
"""


def namespace() -> str:
    """Return the OpenLineage namespace of this organisation's jobs and datasets."""
    return f"headrace://{current_context().organisation}"


def run_event(
    event_type: str,
    run_id: UUID,
    process_key: str,
    *,
    facets: Mapping[str, Any] | None = None,
    outputs: Sequence[Mapping[str, Any]] = (),
    at: datetime | None = None,
) -> dict[str, Any]:
    """Create a RunEvent, with the current time unless `at` is given.

    `facets` are run facets, complete with _producer and _schemaURL (see `facet`).
    """
    return {
        "eventType": event_type,
        "eventTime": (at or datetime.now(UTC)).isoformat(),
        "run": {"runId": str(run_id), "facets": dict(facets or {})},
        "job": {"namespace": namespace(), "name": process_key},
        "inputs": [],
        "outputs": list(outputs),
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/RunEvent",
    }


def dataset_event(dataset: Mapping[str, Any], at: datetime | None = None) -> dict[str, Any]:
    """Create a DatasetEvent for a change outside any run, with the current time unless `at` is given."""
    return {
        "eventTime": (at or datetime.now(UTC)).isoformat(),
        "dataset": dict(dataset),
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/DatasetEvent",
    }


def dataset(key: str, facets: Mapping[str, Any]) -> dict[str, Any]:
    """Create an OpenLineage dataset."""
    return {"namespace": namespace(), "name": key, "facets": dict(facets)}


def facet(**content: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Create a Headrace facet with this content."""
    return {"_producer": PRODUCER, "_schemaURL": _FACET, **content}


def reports(run_id: UUID | None, drafts: Sequence[VersionDraft], sent: bytes) -> list[dict[str, Any]]:
    """Create the events of publishing these drafts, as rows for `run_event`: one RunEvent, or DatasetEvents without a
    run.

    The catalog fills in job and inputs, which the publisher knows by id only. encoded_drafts: the drafts as sent; their
    hash serves as the events' hash, since both have the same content and encoding the events only to hash them would
    double the cost.
    """
    outputs = outputs_of(drafts)
    reported = (
        [dataset_event(each) for each in outputs]
        if run_id is None
        else [run_event("RUNNING", run_id, "", outputs=outputs)]
    )
    return [
        {
            "event_time": event["eventTime"],
            "event_type": event.get("eventType", "DATASET"),
            "payload": event,
            "content_hash": hashlib.sha256(sent + str(number).encode()).hexdigest(),
        }
        for number, event in enumerate(reported)
    ]


def outputs_of(drafts: Sequence[VersionDraft]) -> list[dict[str, Any]]:
    """Return one OpenLineage dataset per output dataset, with all its written versions in a facet.

    Sufficient to rebuild versions, inputs, schema and check results; the outcome of each version is the catalog's
    answer to the event and not part of it.
    """
    grouped: dict[str, list[VersionDraft]] = {}
    for draft in drafts:
        grouped.setdefault(draft.dataset, []).append(draft)
    return [
        dataset(
            key,
            {
                "schema": facet(fields=_fields(group[0].columns)),
                "version": facet(datasetVersion=group[0].tag),
                **_column_lineage(group[0]),
                "headrace_versions": facet(
                    versions=[_version(draft, schema=draft.columns != group[0].columns) for draft in group]
                ),
            },
        )
        for key, group in grouped.items()
    ]


def store(
    cursor: Cursor[Any], event: Mapping[str, Any], run_id: UUID | None = None, process_key: str | None = None
) -> None:
    """Store the event; the same content at the same time is stored once."""
    kind = event.get("eventType", "DATASET")
    cursor.execute(
        _STORE,
        [
            event["eventTime"],
            current_context().organisation_id,
            run_id,
            process_key,
            kind,
            jsonb(event),
            _digest(event),
        ],
    )


def _digest(event: Mapping[str, Any]) -> str:
    return hashlib.sha256(encoded(event)).hexdigest()


def _column_lineage(draft: VersionDraft) -> dict[str, Any]:
    return {} if draft.lineage is None else {"columnLineage": column_lineage.facet(draft.lineage, named)}


def named(key: str) -> tuple[str, str]:
    """Return the OpenLineage name of a Headrace dataset, or of an undeclared input of a transform: a path or a
    table."""
    if "#" in key:
        of, _, name = key.partition("#")
        return of.replace("%23", "#"), name
    if _KEY.fullmatch(key):
        return namespace(), key
    return _path(key) if _PATH.match(key) else ("spark", key)


def _path(path: str) -> tuple[str, str]:
    parts = urlsplit(path)
    if parts.scheme in {"", "file"}:
        return "file", parts.path
    store = "s3" if parts.scheme in {"s3a", "s3n"} else parts.scheme
    return f"{store}://{parts.netloc}", parts.path if store == "hdfs" else parts.path.lstrip("/") or "/"


def _fields(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [
        {"name": column.name, "type": column.type, "nullable": column.nullable}
        | ({"description": column.description} if column.description else {})
        | ({"tags": list(column.tags)} if column.tags else {})
        for column in columns
    ]


def _version(draft: VersionDraft, *, schema: bool) -> dict[str, Any]:
    """Encode the draft as JSON; its schema only if it differs from the dataset's."""
    content = {
        "partition": draft.partition,
        "tag": draft.tag,
        "location": draft.location,
        "format": draft.format,
        "rowCount": draft.row_count,
        "byteSize": draft.byte_size,
        "fileCount": draft.file_count,
        "checksum": draft.checksum,
        "idempotencyKey": draft.idempotency_key,
        "expectedGeneration": draft.expected_generation,
        "inputs": [str(version_id) for version_id in draft.inputs],
        "checks": draft.checks,
        "statistics": draft.statistics,
        "codeVersion": draft.code_version,
        "fingerprint": draft.fingerprint,
        "quarantineLocation": draft.quarantine_location,
        "quarantineRows": draft.quarantine_rows,
        "metadata": draft.metadata,
    }
    return content | ({"fields": _fields(draft.columns)} if schema else {})
