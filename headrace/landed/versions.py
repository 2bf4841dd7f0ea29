"""Create the version of a set of landed files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256

from headrace.catalog.records import CheckResult, CheckStatus, Version, VersionDraft
from headrace.catalog.schema import schema_hash
from headrace.events.scheduler_versions import REPORTED
from headrace.files.filesystem import StoredFile
from headrace.files.sizes import size_of
from headrace.landed.contents import Reading, read
from headrace.landed.control import CHECK as CONTROL
from headrace.landed.control import control_totals, sums_of_files, unsummable
from headrace.landed.custom import read_by_reader
from headrace.landed.files import Landed, LandedFiles
from headrace.landed.text import DeclarationMismatch
from headrace.spark.readers import READER

SIGNATURE = "files_signature"
_REPORTED_TO = 2.0  # seconds: reported times have a resolution of one second


def draft(landed: LandedFiles, generation: int) -> VersionDraft | None:
    """Create the version of the files, to be published at that generation; None if they are being written.

    The same files give the same tag and idempotency key, so a repeated observation changes nothing.
    """
    record = landed.plan.record
    stored = landed.filesystem.data_files(landed.location)
    reading = read_by_reader(landed, stored) if landed.plan.reader else read(landed, stored)
    checks = [reading.check]
    if landed.plan.control is not None and reading.check.status is not CheckStatus.FAIL:
        checks.append(_controlled(landed, stored, reading))
    if landed.control is not None and not landed.control.is_unchanged:
        return None
    if tuple(landed.filesystem.listing(landed.location)) != landed.entries:
        return None
    size = size_of(stored)
    # Without a content checksum of the filesystem, sizes and times are used.
    checksum = size.checksum if all(file.digest for file in stored) else landed.signature
    identity = f"{checksum}/{schema_hash(reading.columns)}/{landed.signature}/{generation}"
    modified = datetime.fromtimestamp(landed.modified_ns / 1e9, UTC)
    return VersionDraft(
        dataset=record.key,
        partition=landed.partition,
        tag=f"{modified:%Y%m%dT%H%M%SZ}-{sha256(identity.encode()).hexdigest()[:8]}",
        location=landed.location,
        format=record.format,
        columns=reading.columns,
        row_count=reading.row_count,
        byte_size=size.byte_size,
        file_count=size.file_count,
        checksum=checksum,
        idempotency_key=f"landed/{record.key}/{landed.partition or ''}/{identity}",
        expected_generation=generation,
        checks=tuple(checks),
        metadata={
            **record.metadata,
            "options": dict(landed.plan.options),
            **({READER: landed.plan.reader} if landed.plan.reader else {}),
            SIGNATURE: landed.signature,
        },
    )


def _controlled(landed: LandedFiles, stored: Sequence[StoredFile], reading: Reading) -> CheckResult:
    """Compare with what the sender states."""
    totals = landed.plan.control.totals if landed.plan.control else ()
    if problem := unsummable(reading.columns, list(totals)):
        return CheckResult(CONTROL, CheckStatus.FAIL, detail={"totals": problem})
    try:
        counts = reading.counted or (sums_of_files(landed, reading.columns, reading.row_count),)
    except DeclarationMismatch as wrong:
        return CheckResult(CONTROL, CheckStatus.FAIL, detail={"totals": str(wrong)})
    return control_totals(landed, stored, reading.columns, counts)


def is_version(landed: Landed, version: Version | None) -> bool:
    """Return True if the files are this version, judging by sizes, times and declaration.

    A version reported by the producer counts as these files, unless they have changed since, or the declaration says
    how to read or verify them.
    """
    if version is None:
        return False
    if (
        isinstance(landed, LandedFiles)
        and (landed.plan.reader, landed.plan.control) == (None, None)
        and (REPORTED in version.metadata and version.location == landed.location)
    ):
        return landed.modified_ns <= (version.created_at.timestamp() + _REPORTED_TO) * 1e9
    same_rows = landed.row_count is None or landed.row_count == version.row_count
    return version.metadata.get(SIGNATURE) == landed.signature and same_rows


def has_same_content(found: VersionDraft, version: Version | None) -> bool:
    """Return True if a version has the same content, read in the same way: the files were only rewritten.

    A version of the same content whose check fails is another one: its sender has corrected the control totals.
    """
    is_wrong = any(check.status is CheckStatus.FAIL for check in found.checks)
    return version is not None and not is_wrong and _as_read(found) == _as_read(version)


def _as_read(version: Version | VersionDraft) -> tuple[object, ...]:
    read_by = version.metadata.get("options"), version.metadata.get(READER)
    return version.checksum, version.location, version.format, read_by, schema_hash(version.columns)
