"""Versions that schedulers report: the outputs of a run's success as rows, which are final."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from psycopg import Cursor

from headrace.catalog.locks import lock_registrations
from headrace.catalog.records import Column
from headrace.catalog.run_events import ReportedOutput
from headrace.catalog.schema import schema_hash
from headrace.context import current_context
from headrace.database.ids import external_version_id
from headrace.database.jsonb import jsonb
from headrace.events.reports import StoredReport
from headrace.events.run_fold import is_completion
from headrace.events.sql import statement
from headrace.events.versions import VersionRow, write_versions

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


def store_outputs(
    cursor: Cursor[Any], reports: Sequence[StoredReport], *, silent: bool = False
) -> StoredVersions:
    """Store the outputs of the genuine successes among these reports as versions.

    A version was produced when its run ended. Unreported attributes are as declared: location, format, columns. An
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
    rows: dict[UUID, VersionRow] = {}
    reported: list[tuple[str, UUID]] = []
    for report, output in sorted(written, key=_claim):
        dataset = datasets[output.dataset]
        if not dataset["computed_here"]:
            row = version_row(report, output, dataset)
            rows.setdefault(row["dataset_version_id"], row)
            reported.append((report.event.key, row["dataset_version_id"]))
    new = write_versions(
        cursor,
        current_context().organisation_id,
        list(rows.values()),
        received_at=max(report.received_at for report in reports),
        silent=silent,
    )
    computed_here = tuple(key for key, row in sorted(datasets.items()) if row["computed_here"])
    return StoredVersions(len(new), drafts, computed_here, reported)


def _claim(written: tuple[StoredReport, ReportedOutput]) -> tuple[datetime, str, str]:
    """Order reports of one tag: the first run has written the version, as in `store_versions.sql`."""
    report = written[0]
    return report.event.at, str(report.run_id or ""), report.event.key


def version_row(report: StoredReport, output: ReportedOutput, dataset: Mapping[str, Any]) -> VersionRow:
    """Return the row of this output. dataset: a row of `ingest_datasets.sql`."""
    event = report.event
    partition = output.partition or ((event.partition or "") if dataset["partitions"] else "")
    tag = output.tag or _tag(report, partition, output.dataset)
    columns = output.columns or tuple(_column(each) for each in dataset["columns"])
    declared = dataset["metadata_json"]
    location = output.location or _declared_location(declared.get("location"), partition)
    return {
        "dataset_version_id": external_version_id(output.dataset, partition, tag),
        "dataset_id": dataset["dataset_id"],
        "dataset": output.dataset,
        "partition_key": partition,
        "version_tag": tag,
        "path": location,
        "format": output.format or dataset["default_format"],
        "schema_hash": schema_hash(columns),
        "columns": columns,
        "row_count": output.row_count,
        "byte_size": output.byte_size,
        "file_count": 1 if location else 0,
        "checksum": output.checksum or "",
        "idempotency_key": f"reported/{event.key}/{output.dataset}/{partition}",
        "produced_by_run_id": report.run_id,
        "process_id": report.process_id,
        "produced_at": event.at,
        "historical": event.historical,
        "metadata_json": {**declared, **output.metadata, REPORTED: event.key},
        "is_final": True,
    }


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
    parameters = {"organisation": current_context().organisation_id, "datasets": jsonb(wanted), "make": False}
    found = statement("ingest_datasets").execute(cursor, parameters).fetchall()
    if len(found) < len(wanted):
        lock_registrations(cursor)
        found = statement("ingest_datasets").execute(cursor, {**parameters, "make": True}).fetchall()
    return {row["full_name"]: row for row in found}, tuple(row["full_name"] for row in found if row["made"])


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
    return f"file://{current_context().settings.home.resolve() / local}"
