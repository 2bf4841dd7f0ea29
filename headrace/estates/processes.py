"""Processes outside Autosys, described in YAML: DB2 procedures, Run Management processes, shell scripts.

A file is a list, each entry of which begins with `- name:` at the start of a line.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from headrace.autosys.findings import Finding
from headrace.catalog.records import TECHNOLOGY_WORDS, Technology
from headrace.estates.entries import lost, read_entries


def _word(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _one_or_several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_one_or_several)]


class Description(BaseModel):
    """One entry as written.

    after: predecessors: a name of the same technology, or `autosys/JOB`, `autosys/INSTANCE/JOB`, `shell/NAME`, each of
    which may be in another file. reads, writes: files, or tables as SCHEMA.NAME; candidates for datasets.
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
    schedule: str | None = None
    after: Texts = []
    reads: Texts = []
    writes: Texts = []
    metadata: dict[str, Any] = {}


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
