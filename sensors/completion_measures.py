"""What a report leaves out of an output, read from its files where the report asks for that and they can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from catalog.errors import UnknownDataset
from catalog.queries import dataset
from catalog.records import CheckStatus, DatasetRecord
from catalog.run_events import ReportedOutput, RunEvent
from components.plan import ExternalPlan
from resources.errors import ResourceError
from resources.files import LocalFiles, is_local, local_path
from resources.formats import FORMATS
from resources.sizes import size_of
from sensors.landed_contents import read
from sensors.landed_files import Landed

MEASURE = "measure"  # beside the fields of an output: true
NOT_MEASURED = "not_measured"  # in the metadata: why not


def measured(engine: Engine, events: Sequence[RunEvent]) -> list[RunEvent]:
    """The events with the row counts, sizes, checksums and columns of those outputs that ask for them.

    What the report says stays as it says. Outputs whose files are not on this machine, or do not read as their dataset
    declares, stay as they are.
    """
    return [_measured(engine, event) for event in events]


def _measured(engine: Engine, event: RunEvent) -> RunEvent:
    if not any(MEASURE in output.metadata for output in event.outputs):
        return event
    return replace(event, outputs=tuple(_with_measures(engine, output) for output in event.outputs))


def _with_measures(engine: Engine, output: ReportedOutput) -> ReportedOutput:
    if (
        str(output.metadata.get(MEASURE)).lower() != "true"
        or not output.location
        or not is_local(output.location)
    ):
        return output
    try:
        return _read(engine, output)
    except (ResourceError, OSError) as error:  # what cannot be measured is as good as not given
        return replace(output, metadata={**output.metadata, NOT_MEASURED: str(error)})


def _read(engine: Engine, output: ReportedOutput) -> ReportedOutput:
    location = f"file://{local_path(str(output.location))}"
    plan = _plan(engine, output)
    files = LocalFiles()
    entries = files.listing(location)
    if not entries or plan.record.format not in FORMATS:
        return output
    stored = files.data_files(location)
    size = size_of(stored)
    reading = read(Landed(plan, output.partition, files, location, tuple(entries)), stored)
    said = reading.check.status is not CheckStatus.FAIL
    return replace(
        output,
        row_count=reading.row_count if output.row_count is None and said else output.row_count,
        byte_size=size.byte_size if output.byte_size is None else output.byte_size,
        checksum=output.checksum or size.checksum,
        columns=output.columns or (reading.columns if said else ()),
    )


def _plan(engine: Engine, output: ReportedOutput) -> ExternalPlan:
    """How the files are to be read: as declared, and else as the report says."""
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
