"""Dataset versions reported by other systems: stored as reported, and published unless a newer one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.records import Column
from headrace.catalog.registry import REGISTRATION_LOCK
from headrace.catalog.run_events import ReportedOutput
from headrace.catalog.schema import schema_hash
from headrace.catalog.sql import statement as catalog_statement
from headrace.database.ids import external_version_id, organisation_id
from headrace.database.jsonb import jsonb
from headrace.events.reports import StoredReport
from headrace.events.run_fold import is_completion
from headrace.events.sql import statement
from headrace.settings import settings

REPORTED = "reported_as"  # in a version's metadata: the key of the event that reported it
NOT_MEASURED = (
    "not_measured"  # in an output's and its version's metadata: why the requested measurement failed
)


@dataclass(frozen=True, slots=True)
class StoredVersions:
    """Result of storing versions.

    drafts: new datasets. computed_here: datasets that Spark computes here, which accept no external versions. reported:
    the versions, each with the key of the event that reports it.
    """

    new: int = 0
    drafts: tuple[str, ...] = ()
    computed_here: tuple[str, ...] = ()
    reported: Sequence[tuple[str, UUID]] = ()


def store_versions(
    cursor: Cursor[Any], reports: Sequence[StoredReport], *, silent: bool = False
) -> StoredVersions:
    """Store the outputs of the genuine successes among these reports.

    A version was produced when its run ended. It is published unless the published version was produced later; a late
    version is stored, and the pointer stays. Unreported attributes are as declared: location, format, columns. An
    undeclared dataset is registered as a draft. One that Spark computes here keeps its own versions. silent: no outbox
    messages.
    """
    written = [
        (report, output)
        for report in reports
        if is_completion(report.event)
        for output in report.event.outputs
    ]
    if not written:
        return StoredVersions()
    datasets, drafts = _datasets(cursor, [output for _, output in written])
    rows: dict[UUID, dict[str, Any]] = {}
    schemas: dict[str, Any] = {}
    reported: list[tuple[str, UUID]] = []
    foreign = [each for each in written if not datasets[each[1].dataset]["computed_here"]]
    for report, output in sorted(foreign, key=lambda each: (each[0].event.at, each[0].event.key)):
        row, columns = _version(report, output, datasets[output.dataset])
        rows.setdefault(row["version_id"], row)
        schemas[row["schema_hash"]] = columns
        reported.append((report.event.key, row["version_id"]))
    organisation = organisation_id()
    reserved = sorted({(row["dataset"], row["partition_key"]) for row in rows.values()})
    catalog_statement("reserve").execute(
        cursor,
        {
            "organisation": organisation,
            "datasets": [dataset for dataset, _ in reserved],
            "partitions": [partition for _, partition in reserved],
        },
    )
    stored = statement("ingest_versions").execute(
        cursor,
        {
            "organisation": organisation,
            "versions": jsonb(list(rows.values())),
            "schemas": jsonb(schemas),
            "received_at": max(report.received_at for report in reports),
            "silent": silent,
        },
    )
    computed_here = tuple(key for key, row in sorted(datasets.items()) if row["computed_here"])
    return StoredVersions(len(stored.fetchall()), drafts, computed_here, reported)


def _datasets(
    cursor: Cursor[Any], outputs: Sequence[ReportedOutput]
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return the datasets by name, and the names of the new ones."""
    formats = {output.dataset: output.format or "unknown" for output in outputs}
    wanted = [
        {
            "full_name": key,
            "namespace": key.rpartition("/")[0],
            "name": key.rpartition("/")[2],
            "format": format,
        }
        for key, format in sorted(formats.items())
    ]
    parameters = {"organisation": organisation_id(), "datasets": jsonb(wanted), "make": False}
    found = statement("ingest_datasets").execute(cursor, parameters).fetchall()
    if len(found) < len(wanted):
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s)", [REGISTRATION_LOCK]
        )  # in the form used by registration
        found = statement("ingest_datasets").execute(cursor, {**parameters, "make": True}).fetchall()
    return {row["full_name"]: row for row in found}, tuple(row["full_name"] for row in found if row["made"])


def _version(
    report: StoredReport, output: ReportedOutput, dataset: Mapping[str, Any]
) -> tuple[dict[str, Any], Sequence[Any]]:
    """Return the row of a version, and its columns."""
    event = report.event
    partition = output.partition or ((event.partition or "") if dataset["partitions"] else "")
    tag = output.tag or _tag(report, partition, output.dataset)
    columns = output.columns or tuple(_column(each) for each in dataset["columns"])
    declared = dataset["metadata_json"]
    location = output.location or _declared_location(declared.get("location"), partition)
    row = {
        "version_id": external_version_id(output.dataset, partition, tag),
        "dataset": output.dataset,
        "dataset_id": dataset["dataset_id"],
        "partition_key": partition,
        "version_tag": tag,
        "path": location,
        "format": output.format or dataset["default_format"],
        "schema_hash": schema_hash(columns),
        "row_count": output.row_count,
        "byte_size": output.byte_size,
        "file_count": 1 if location else 0,
        "checksum": output.checksum or "",
        "idempotency_key": f"reported/{event.key}/{output.dataset}/{partition}",
        "run_id": report.run_id,
        "process_id": report.process_id,
        "historical": event.historical,
        "metadata_json": {
            **declared,
            **output.metadata,
            REPORTED: event.key,
        },
        "produced_at": event.at,
    }
    return row, columns


def _tag(report: StoredReport, partition: str, dataset: str) -> str:
    event = report.event
    identity = f"{report.run_id or event.key}/{event.attempt}/{dataset}/{partition}"
    return f"{event.at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{sha256(identity.encode()).hexdigest()[:8]}"


def _column(stored: Mapping[str, Any]) -> Column:
    return Column(**{**stored, "tags": tuple(stored.get("tags", ()))})


def _declared_location(declared: str | None, partition: str) -> str:
    """Return the declared location of the partition's files; a local path as a file: URI, '' for no location."""
    if not declared:
        return ""
    place = declared.replace("{partition}", partition)
    scheme, colon, path = place.partition(":/")
    if colon and scheme != "file":
        return place.rstrip("/")
    local = f"/{path.lstrip('/')}" if colon else place
    return f"file://{settings().home.resolve() / local}"
