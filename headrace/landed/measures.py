"""Measure outputs that a report leaves unmeasured, by reading their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Engine

from headrace.catalog.records import CheckStatus, DatasetRecord
from headrace.catalog.run_events import ReportedOutput, RunEvent
from headrace.errors import UnknownDataset
from headrace.events.scheduler_versions import NOT_MEASURED
from headrace.execution.plan import ExternalPlan
from headrace.files.filesystem import LocalFiles, is_local, local_path
from headrace.files.formats import FORMATS
from headrace.files.sizes import size_of
from headrace.landed.contents import read
from headrace.landed.files import LandedFiles
from headrace.queries import dataset
from headrace.spark.errors import ResourceError

MEASURE = "measure"  # field of an output: true


def measured(engine: Engine, events: Sequence[RunEvent]) -> list[RunEvent]:
    """Measure row counts, sizes, checksums and columns of those outputs that request it, and return the events.

    Reported values take precedence. If measuring fails, the values stay unset, and the reason is in the output's
    metadata.
    """
    return _asking(events, lambda output: _measured(engine, output))


def unmeasured(events: Sequence[RunEvent], why: str) -> list[RunEvent]:
    """Return the events with this reason for not measuring."""
    return _asking(events, lambda output: _not_measured(output, why))


def _asking(
    events: Sequence[RunEvent], measure: Callable[[ReportedOutput], ReportedOutput]
) -> list[RunEvent]:
    """Return the events, with their outputs that request measuring replaced."""
    return [
        replace(event, outputs=tuple(measure(each) if _asks(each) else each for each in event.outputs))
        if any(map(_asks, event.outputs))
        else event
        for event in events
    ]


def _asks(output: ReportedOutput) -> bool:
    return str(output.metadata.get(MEASURE)).lower() not in ("none", "false", "no", "0", "")


def _not_measured(output: ReportedOutput, why: str) -> ReportedOutput:
    return replace(output, metadata={**output.metadata, NOT_MEASURED: why})


def _measured(engine: Engine, output: ReportedOutput) -> ReportedOutput:
    if not output.location:
        return _not_measured(output, "the report names no location")
    if not is_local(output.location):
        return _not_measured(output, f"{output.location} is not on this machine")
    try:
        return _read(engine, output)
    except (ResourceError, OSError) as error:
        return _not_measured(output, str(error))


def _read(engine: Engine, output: ReportedOutput) -> ReportedOutput:
    location = f"file://{local_path(str(output.location))}"
    plan = _plan(engine, output)
    if plan.record.format not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        return _not_measured(
            output, f"files of format {plan.record.format!r} are not read, but those of {known}"
        )
    files = LocalFiles()
    entries = files.listing(location)
    if not entries:
        return _not_measured(output, f"no file at {output.location}")
    stored = files.data_files(location)
    size = size_of(stored)
    reading = read(LandedFiles(plan, output.partition, files, location, tuple(entries)), stored)
    is_readable = reading.check.status is not CheckStatus.FAIL
    if not is_readable:
        output = _not_measured(output, ": ".join(map(str, reading.check.detail.values())))
    return replace(
        output,
        row_count=reading.row_count if output.row_count is None and is_readable else output.row_count,
        byte_size=size.byte_size if output.byte_size is None else output.byte_size,
        checksum=output.checksum or size.checksum,
        columns=output.columns or (reading.columns if is_readable else ()),
    )


def _plan(engine: Engine, output: ReportedOutput) -> ExternalPlan:
    """Plan how to read the files: as declared, otherwise as reported."""
    try:
        known = dataset(engine, output.dataset)
    except UnknownDataset:
        return ExternalPlan(
            DatasetRecord(output.dataset, output.format or "", columns=output.columns),
            options={"header": "true"},
        )
    options = known.metadata.get("options") or {}
    record = DatasetRecord(
        output.dataset, output.format or known.format, columns=output.columns or known.columns
    )
    return ExternalPlan(record, options={str(name): str(value) for name, value in options.items()})
