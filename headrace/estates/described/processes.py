"""Processes outside Autosys, described in YAML: DB2 procedures, Run Management processes, shell scripts.

A file is a list, each entry of which begins with `- name:` at the start of a line.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from headrace.autosys.findings import Finding
from headrace.autosys.jil.text import decode
from headrace.catalog.records import TECHNOLOGY_WORDS, Technology
from headrace.estates.described.schedules import ProcessSchedule, ProcessSla
from headrace.estates.entries import lost, read_entries


def _word(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _one_or_several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _not_a_text(value: object) -> object:
    if isinstance(value, str):
        message = "a schedule has `cron`, or `at`; write a text as `schedule_note`"
        raise ValueError(message)  # noqa: TRY004 - pydantic reports a ValueError
    return value


Texts = Annotated[list[str], BeforeValidator(_one_or_several)]


class Description(BaseModel):
    """One entry as written.

    schedule: its starts by the clock. schedule_note: what else people should know of when it starts. after:
    predecessors: a name of the same technology, or `autosys/JOB`, `autosys/INSTANCE/JOB`, `shell/NAME`, each of which
    may be in another file. reads, writes: files, or tables as SCHEMA.NAME; candidates for datasets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[^\s/]+$", max_length=200)]
    technology: Annotated[
        Literal["db2_procedure", "db2_sp", "run_management", "runmgr", "shell"], BeforeValidator(_word)
    ]
    description: str | None = None
    owners: Annotated[list[str], BeforeValidator(_one_or_several)] = []
    machine: str | None = None
    database: str | None = None
    application: str | None = None
    command: str | None = None
    schedule: Annotated[ProcessSchedule | None, BeforeValidator(_not_a_text)] = None
    schedule_note: str | None = None
    sla: ProcessSla | None = None
    after: Texts = []
    reads: Texts = []
    writes: Texts = []
    metadata: dict[str, Any] = {}

    @field_validator("sla")
    @classmethod
    def _from_a_schedule(cls, sla: ProcessSla | None, info: ValidationInfo) -> ProcessSla | None:
        is_known = "schedule" in info.data  # and valid
        if sla is not None and sla.needs_schedule and is_known and info.data["schedule"] is None:
            raise ValueError("`start_within` and `complete_within` count from the starts of a `schedule`")
        return sla


class Predecessor(NamedTuple):
    """A predecessor of a process, as named in its text.

    technology: None if the text names none. instance: None for the scheduler whose files are read with it.
    """

    text: str
    technology: Technology | None
    instance: str | None
    name: str


@dataclass(frozen=True, slots=True)
class DescribedProcess:
    """A described process and its place."""

    description: Description
    file: str
    line: int
    lines: Mapping[str, int]

    @property
    def technology(self) -> Technology:
        """The technology."""
        return TECHNOLOGY_WORDS[self.description.technology]

    def after(self) -> Iterator[Predecessor]:
        """Yield the predecessors."""
        for text in self.description.after:
            match text.split("/"):
                case [name]:
                    yield Predecessor(text, self.technology, "", name)
                case [technology, name]:
                    found = Technology.of(technology)
                    yield Predecessor(text, found, None if found is Technology.AUTOSYS else "", name)
                case [technology, instance, name] if technology.lower() == "autosys":
                    yield Predecessor(text, Technology.AUTOSYS, instance, name)
                case _:
                    yield Predecessor(text, None, "", text)


def read_processes(text: str, file: str) -> tuple[tuple[DescribedProcess, ...], tuple[Finding, ...]]:
    """Parse processes from a text; returns them and findings, by line and field."""
    entries, findings = read_entries(text, file, Description, "name")
    found, repeated = once_each(
        DescribedProcess(entry.value, file, entry.line, entry.lines) for entry in entries
    )
    return found, (*findings, *repeated)


def described_in(files: Iterable[Path]) -> Iterator[DescribedProcess]:
    """Yield the valid processes of the files. Raises OSError for one that cannot be read."""
    for file in files:
        yield from read_processes(decode(file.read_bytes(), str(file))[0], str(file))[0]


def once_each(
    described: Iterable[DescribedProcess],
) -> tuple[tuple[DescribedProcess, ...], tuple[Finding, ...]]:
    """Remove processes that are described before, with a finding for each."""
    found: dict[tuple[Technology, str], DescribedProcess] = {}
    findings: list[Finding] = []
    for one in described:
        name = one.description.name
        first = found.setdefault((one.technology, name), one)
        if first is not one:
            what = f"described before, at {first.file}:{first.line}; the first counts"
            findings.append(lost("duplicate", what, one.file, one.line, name, "name"))
    return tuple(found.values()), tuple(findings)
