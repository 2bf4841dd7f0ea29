"""Validate one report of a run or dataset, given as named fields, and convert it to a run event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import to_json

from headrace.autosys.clocks import ImpossibleTime, possible
from headrace.autosys.findings import Finding
from headrace.autosys.statuses import meaning
from headrace.catalog.records import Column, Technology
from headrace.catalog.run_events import ReportedOutput, RunEvent
from headrace.job_reports.completions.fields import ALIASES, is_empty
from headrace.job_reports.completions.values import (
    WRITTEN,
    Count,
    Instant,
    Key,
    Long,
    Name,
    ProcessName,
    Short,
    day,
    single,
    technology_of,
)
from headrace.severity import Severity

MAX_DEPTH = 50  # levels of lists and objects in a report
_OF_A_KEY = ("technology", "instance", "process", "run", "attempt", "state", "partition")
_OF_AN_OUTPUT = (
    "dataset",
    "version",
    "location",
    "format",
    "row_count",
    "byte_size",
    "checksum",
    "schema",
    "measure",
)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a report.

    at: the time of a report without one. zone: of times without one. element: its index in an array, from 1.
    """

    file: str
    line: int
    at: datetime
    zone: tzinfo = UTC
    element: int | None = None

    def __str__(self) -> str:
        return _printable(f"{self.file}:{self.line}")


def event_of(fields: Mapping[str, Any], place: Place) -> tuple[RunEvent | None, list[Finding]]:
    """Convert the fields of one report to an event, or return their problems, each with its field."""
    try:
        payload = _storable(fields)
    except ValueError as error:
        return None, [wrong(place, str(error))]
    given = {name: value for name, value in fields.items() if not is_empty(value)}
    try:
        report = _Report.model_validate(given, context=place)
    except ValidationError as error:
        return None, list(_findings(error, given, place))
    try:
        return _event(report, payload, place), []
    except ImpossibleTime as error:
        return None, [
            wrong(place, f"is missing, and the file's own time cannot be used: {error}", field="at")
        ]


def wrong(place: Place, message: str, *, field: str | None = None, subject: str | None = None) -> Finding:
    """Create an error about a report; the rest of its file is not affected."""
    rule = "report/field" if field else "report/form"
    message = f"element {place.element}: {message}" if place.element else message
    return Finding(rule, Severity.ERROR, _printable(message), place.file, place.line, subject, field)


def _printable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _storable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return the report's values, with a replacement for invalid characters. Raises ValueError for excessive
    nesting."""
    if depth > MAX_DEPTH:
        raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, Mapping):
        return {_printable(str(name)): _storable(each, depth + 1) for name, each in value.items()}
    return [_storable(each, depth + 1) for each in value] if isinstance(value, list) else value


def key_of(reported: Mapping[str, Any], given: str | None = None) -> str:
    """Return the key of the event with these fields: identical reports about the same run have the same key.

    given: a key supplied by the reporter. It is scoped to its process or dataset, run and status.
    """
    if given is not None:
        places = [(output.dataset, output.partition) for output in reported["outputs"]]
        reported = {**{name: reported[name] for name in _OF_A_KEY}, "outputs": places, "key": given}
    run = f"{reported['run']}/{reported['attempt']}" if reported["run"] is not None else "-"
    digest = sha256(to_json(reported)).hexdigest()[:32]
    return f"{reported['technology']}/{reported['instance']}/{reported['process']}/{run}/{reported['state']}/{digest}"


_SETTINGS = ConfigDict(extra="allow", coerce_numbers_to_str=True, frozen=True)


def _status(word: str) -> str:
    if meaning(word) is None:
        raise ValueError(f"{word} means that there is no run, so there is nothing to record")
    return word


class _Column(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    name: Short
    type: Short = "string"
    nullable: bool = True
    description: Long | None = None


class _Output(BaseModel):
    model_config = _SETTINGS

    dataset: Key
    version: Short | None = None
    location: Long | None = None
    format: Short | None = None
    row_count: Count | None = None
    byte_size: Count | None = None
    checksum: Short | None = None
    columns: tuple[_Column, ...] = Field(default=(), alias="schema")
    partition: Short | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def reported(cls, given: object) -> object:
        """Return the non-empty values, by the names of an output's fields; of several aliases the first counts."""
        if not isinstance(given, dict):
            return given
        fields: dict[str, Any] = {}
        for name, value in given.items():
            meant = ALIASES.get(name, name)
            if not is_empty(value):
                fields.setdefault(meant if meant in _OF_AN_OUTPUT else name, value)
        return fields


class _Report(BaseModel):
    model_config = _SETTINGS

    process: ProcessName | None = None
    technology: Annotated[Technology, BeforeValidator(technology_of)] | None = None
    instance: Name | None = None
    box: Name | None = None
    status: Annotated[str, BeforeValidator(single), AfterValidator(_status)]
    run: Short | None = None
    attempt: Annotated[int, Field(ge=0, lt=2**31)] = 1
    at: Instant | None = None
    started_at: Instant | None = None
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    machine: Short | None = None
    log: Long | None = None
    business_date: Annotated[date, BeforeValidator(day)] | None = None
    partition: Short | None = None
    reason: Long | None = None
    outputs: tuple[_Output, ...] = ()
    key: Short | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def short_form(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Convert fields about a single dataset next to those of the run to its only output."""
        if "dataset" not in given or given.get("outputs"):
            return given
        output = {name: given[name] for name in _OF_AN_OUTPUT if given.get(name) is not None}
        if given.get("partition") is not None:
            output["partition"] = given["partition"]
        rest = {name: value for name, value in given.items() if name not in _OF_AN_OUTPUT}
        if "process" not in given:
            output["metadata"] = rest.pop("metadata", {})
        return {**rest, "outputs": [output]}

    @model_validator(mode="after")
    def about_something(self) -> Self:
        """Check that a report names a process, or datasets."""
        if self.process is None and not self.outputs:
            raise ValueError("names neither a process nor a dataset")
        if Technology.SPARK in (self.technology, self.key_technology):
            raise ValueError("Spark runs are recorded by Headrace itself and cannot be reported")
        if self.process and "/" in self.process:
            if self.key_technology is None:
                raise ValueError(
                    f"process {self.process[:80]!r} is neither a name nor a key, such as RUNMGR/NAME"
                )
            if self.technology not in (None, self.key_technology):
                raise ValueError(f"technology {self.technology} is not that of the key {self.process}")
        if self.at and self.started_at and self.started_at > self.at:
            raise ValueError(f"started_at, {self.started_at}, is later than at, {self.at}")
        places = [(output.dataset, output.partition) for output in self.outputs]
        if len(set(places)) != len(places):
            raise ValueError("names the same dataset and partition twice among its outputs")
        return self

    @property
    def key_technology(self) -> Technology | None:
        """The technology at the beginning of a process key; None for a name."""
        first, slash, _ = (self.process or "").partition("/")
        return Technology.of(first) if slash else None


FIELDS = frozenset(_Report.model_fields)  # of a report, except for those of the only output in its short form


def _event(report: _Report, fields: Mapping[str, Any], place: Place) -> RunEvent:
    found = meaning(report.status, by_hand=report.attempt == 0)
    assert found is not None  # noqa: S101 - the validator has looked
    day = report.business_date.isoformat() if report.business_date else None
    started_at = report.started_at.astimezone(UTC) if report.started_at else None
    only_start = started_at if found.ending is None else None
    technology, process = _process(report)
    reported: dict[str, Any] = {
        "technology": technology or Technology.AUTOSYS,
        "process": process,
        "state": found.state,
        "status": report.status,
        "at": report.at.astimezone(UTC) if report.at else only_start or possible(place.at),
        "instance": report.instance or "",
        "box": report.box,
        "run": report.run,
        "attempt": report.attempt,
        "ending": found.ending,
        "started_at": started_at,
        "exit_code": report.exit_code,
        "machine": report.machine,
        "reason": report.reason,
        "log_location": report.log,
        "partition": report.partition or day,
        "outputs": tuple(_output(output) for output in report.outputs),
    }
    return RunEvent(
        key=key_of(reported, report.key),
        payload=dict(fields),
        origin=str(place),
        assumed=technology is None,
        **reported,
    )


def _process(report: _Report) -> tuple[Technology | None, str]:
    """Return the technology and name of the process; without a technology if only the catalog can know it: of a name
    alone, or of a key with a box or scheduler."""
    if report.process is None:
        return Technology.EXTERNAL, ""
    *_, name = parts = report.process.split("/")
    if len(parts) == 2:
        return report.key_technology, name
    return (report.technology if len(parts) == 1 else None), report.process


def _output(output: _Output) -> ReportedOutput:
    return ReportedOutput(
        dataset=output.dataset,
        partition=output.partition,
        tag=output.version,
        location=output.location,
        format=output.format,
        row_count=output.row_count,
        byte_size=output.byte_size,
        checksum=output.checksum,
        columns=tuple(Column(c.name, c.type, c.nullable, c.description) for c in output.columns),
        metadata=_storable({**output.metadata, **(output.model_extra or {})}),
    )


def _findings(error: ValidationError, given: Mapping[str, Any], place: Place) -> Iterator[Finding]:
    named = given.get("process") or given.get("dataset")
    for item in error.errors(include_url=False, include_context=False):
        field = ".".join(str(part) for part in item["loc"]) or None
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "missing":
            message = "is missing"
        elif item["type"].startswith(("date", "timezone")):
            kind = "date" if item["type"].startswith("date_") else "time"
            message = f"{str(item['input'])[:80]!r} is not a {kind}; write {WRITTEN[kind]}"
        elif field and item["type"] != "value_error":
            message = f"{str(item['input'])[:80]!r}: {message[0].lower()}{message[1:]}"
        yield wrong(place, message, field=field, subject=_printable(str(named)) if named else None)
