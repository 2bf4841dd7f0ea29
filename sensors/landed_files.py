"""What lies where external datasets' files land, and the version that such a file would be."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from catalog.records import CheckResult, CheckStatus, VersionDraft
from catalog.schema import schema_hash
from components.plan import ExternalPlan
from settings import settings

PARTITION = "{partition}"
CHECK = "reads_as_declared"


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file where a dataset's files land, with what tells that it has changed without reading it."""

    plan: ExternalPlan
    partition: str | None
    path: Path
    size: int
    modified_ns: int

    @property
    def place(self) -> tuple[str, str | None]:
        """The dataset and partition that it is."""
        return self.plan.record.key, self.partition


def landed_files(external: Sequence[ExternalPlan]) -> tuple[list[LandedFile], list[str]]:
    """The CSV files of the datasets, and a line for each file whose name holds no partition of its dataset.

    A relative location is below the state folder; `{partition}` in its file name stands for the key.
    """
    files: list[LandedFile] = []
    problems: list[str] = []
    for plan in external:
        location = plan.record.metadata.get("location")
        if plan.record.format != "csv" or location is None:
            continue
        for path, partition in _matching(settings().home.resolve() / location.removeprefix("file://")):
            if partition is None or (plan.partitions and plan.partitions.has_partition_key(partition)):
                status = path.stat()
                files.append(LandedFile(plan, partition, path, status.st_size, status.st_mtime_ns))
            else:
                problems.append(f"{path} is left alone: {plan.record.key} has no partition {partition}")
    return files, problems


def draft(file: LandedFile, generation: int) -> VersionDraft | None:
    """The version that the file is, to be published at that generation; None when it is being written to.

    The same file gives the same tag and idempotency key, so that a look that is repeated changes nothing.
    """
    record = file.plan.record
    with file.path.open("rb") as content:
        checksum = file_digest(content, "sha256").hexdigest()
    row_count, check = _read(file)
    status = file.path.stat()
    if (status.st_size, status.st_mtime_ns) != (file.size, file.modified_ns):
        return None
    identity = f"{checksum}/{schema_hash(record.columns)}/{file.modified_ns}/{generation}"
    modified = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    return VersionDraft(
        dataset=record.key,
        partition=file.partition,
        tag=f"{modified:%Y%m%dT%H%M%SZ}-{sha256(identity.encode()).hexdigest()[:8]}",
        location=f"file://{file.path}",
        format=record.format,
        columns=record.columns,
        row_count=row_count,
        byte_size=file.size,
        file_count=1,
        checksum=checksum,
        idempotency_key=f"landed/{record.key}/{file.partition or ''}/{identity}",
        expected_generation=generation,
        checks=(check,),
        metadata={**record.metadata, "modified_ns": file.modified_ns},
    )


def _matching(location: Path) -> list[tuple[Path, str | None]]:
    """The files that a location means, by name, with the partition key that the name holds."""
    before, partitioned, after = location.name.partition(PARTITION)
    if not partitioned:
        return [(location, None)] if location.is_file() else []
    name = re.compile(f"{re.escape(before)}(.+){re.escape(after)}")
    present = sorted(location.parent.iterdir()) if location.parent.is_dir() else []
    return [
        (path, match[1])
        for path in present
        if (match := name.fullmatch(path.name)) and not path.name.startswith(".") and path.is_file()
    ]


def _read(file: LandedFile) -> tuple[int, CheckResult]:
    """The number of rows, and whether the file is text with the declared columns in its header."""
    options: Mapping[str, Any] = file.plan.record.metadata.get("options", {})
    declared = [column.name for column in file.plan.record.columns]
    header = declared
    try:
        with file.path.open(newline="", encoding=options.get("encoding", "utf-8")) as text:
            rows = csv.reader(text, delimiter=options.get("sep", ","))
            if options.get("header") == "true":
                header = next(rows, [])
            row_count = sum(1 for row in rows if row)
    except (UnicodeDecodeError, csv.Error) as error:
        return 0, CheckResult(CHECK, CheckStatus.FAIL, detail={"error": str(error)})
    if header != declared:
        return row_count, CheckResult(CHECK, CheckStatus.FAIL, detail={"declared": declared, "found": header})
    return row_count, CheckResult(CHECK, CheckStatus.PASS)
