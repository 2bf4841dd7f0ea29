"""The run event: one report about a run of an external process, from any file, log or call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from headrace.catalog.records import Column, RunState, Technology


class Ending(StrEnum):
    """How a run ended. Only a genuine end means that the work was done."""

    GENUINE = "GENUINE"
    FORCED = "FORCED"  # an operator set the status
    BYPASSED = "BYPASSED"  # on ice, on noexec: reported as success without running


@dataclass(frozen=True, slots=True)
class ReportedOutput:
    """A dataset that a run reports as output; unreported fields are None.

    tag: the version's name, if reported. checksum: as reported, with its algorithm (`sha256:...`).
    """

    dataset: str
    partition: str | None = None
    tag: str | None = None
    location: str | None = None
    format: str | None = None
    row_count: int | None = None
    byte_size: int | None = None
    checksum: str | None = None
    columns: tuple[Column, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One report about one attempt of one run.

    process: its external name. instance: its scheduler, '' if there is only one. run: the external run number or id, or
    None; then the event's key identifies the run. attempt: from 1; 0 is a status set by an operator. status: as
    reported (`SU`, `ON_NOEXEC`); state is its meaning. at: when it happened. key: equal if and only if two events
    report the same, from any source. origin: file:line of the source, for messages. historical: loaded as history;
    triggers no runs and no alerts. assumed: the report names no technology, or a key as process; ingestion looks for
    the scanned process that it means.
    """

    technology: Technology
    process: str
    state: RunState
    status: str
    at: datetime
    key: str
    instance: str = ""
    box: str | None = None
    run: str | None = None
    attempt: int = 1
    ending: Ending | None = None
    started_at: datetime | None = None
    exit_code: int | None = None
    machine: str | None = None
    reason: str | None = None
    log_location: str | None = None
    partition: str | None = None
    outputs: tuple[ReportedOutput, ...] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)
    origin: str | None = None
    historical: bool = False
    assumed: bool = False
