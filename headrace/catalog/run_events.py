"""The run event: one report about a run of an external process, whatever file, log or call it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from headrace.catalog.records import Column, RunState, Technology


class Ending(StrEnum):
    """What stands behind the end of a run. Only a genuine one says that the work was done."""

    GENUINE = "GENUINE"
    FORCED = "FORCED"  # an operator set the status by hand
    BYPASSED = "BYPASSED"  # on ice, on noexec: reported as success, and nothing ran


@dataclass(frozen=True, slots=True)
class ReportedOutput:
    """A dataset that a run says it has written; what it does not say is None.

    tag: the version's name, when the reporter gives it one. checksum: as given, with its algorithm (`sha256:...`).
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

    process: what the other system calls it. instance: its scheduler, '' where there is one only. run: the run's number
    or id there, None where it has none, and the event's key then stands for the run. attempt: from 1; 0 is a status
    that was set by hand. status: the word that was used (`SU`, `ON_NOEXEC`); state is what it means. at: when it
    happened. key: equal exactly for events that report the same thing, whoever delivers them.
    origin: where it was read, as file:line, for messages. historical: loaded later; triggers no runs and no alerts.
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
