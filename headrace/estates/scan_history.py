"""Stored scans of estates: what each changed and found, and how much of the estates the catalog knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, Sensitive
from headrace.catalog.records import Technology
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import UnknownScan
from headrace.estates.sql import statement
from headrace.severity import Severity

_SCAN = """
SELECT scan_id, instance, scanned_by, scanned_at, counts, files, changes, findings
FROM catalog.estate_scan WHERE organisation_id = %s AND scan_id = %s
"""


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """A scan. instance: of its jobs, empty if there is only one. counts: of processes by change, and of findings."""

    scan_id: UUID
    instance: Public[str]
    scanned_by: Public[str]
    scanned_at: datetime
    counts: Public[dict[str, int]]


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file of a scan."""

    path: Public[str]
    digest: Public[str]
    byte_size: int


@dataclass(frozen=True, slots=True)
class ScanFinding:
    """A finding of a scan: its rule, place, and the job or other object that it is about."""

    rule: Public[str]
    severity: Severity
    message: Annotated[str, Sensitive.SOURCE]
    file: Public[str]
    line: int
    subject: Public[str | None]
    attribute: Public[str | None]
    hint: Annotated[str | None, Sensitive.SOURCE]


@dataclass(frozen=True, slots=True)
class ScanDetail:
    """A scan with its files, the names of the processes by change, and its findings, the most severe first.

    At most 1,000 names of each change and 1,000 findings are stored; the counts of the summary are of all.
    """

    summary: ScanSummary
    files: tuple[ScannedFile, ...]
    changes: Public[dict[str, list[str]]]
    findings: tuple[ScanFinding, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many processes of one technology and instance the catalog knows, and how well.

    unscanned: named by reports, found by no scan. with_datasets: known to read or write a dataset. with_runs: that have
    reported a run.
    """

    technology: Technology
    instance: Public[str]
    processes: int
    unscanned: int
    with_datasets: int
    with_runs: int
    with_owners: int


def scans(
    engine: Engine, *, before: tuple[datetime, UUID] | None = None, limit: int = 50
) -> list[ScanSummary]:
    """Return scans, newest first, before (time, id)."""
    parameters = {
        "organisation": current_context().organisation_id,
        "before_at": before and before[0],
        "before_id": before and before[1],
        "limit": limit,
    }
    with transaction(engine) as cursor:
        return [ScanSummary(**row) for row in statement("scans").execute(cursor, parameters)]


def scan_detail(engine: Engine, scan_id: UUID) -> ScanDetail:
    """Return a scan. Raises UnknownScan."""
    with transaction(engine) as cursor:
        row = cursor.execute(_SCAN, [current_context().organisation_id, scan_id]).fetchone()
    if row is None:
        raise UnknownScan(f"no scan {scan_id}")
    return ScanDetail(
        ScanSummary(
            **{name: row[name] for name in ("scan_id", "instance", "scanned_by", "scanned_at", "counts")}
        ),
        tuple(ScannedFile(**each) for each in row["files"]),
        row["changes"],
        tuple(ScanFinding(**{**each, "severity": Severity(each["severity"])}) for each in row["findings"]),
    )


def coverage(engine: Engine) -> list[Coverage]:
    """Return what is known of the processes of other systems, by technology and instance."""
    parameters: Mapping[str, object] = {"organisation": current_context().organisation_id}
    with transaction(engine) as cursor:
        return [
            Coverage(**{**row, "technology": Technology(row["technology"])})
            for row in statement("coverage").execute(cursor, parameters)
        ]
