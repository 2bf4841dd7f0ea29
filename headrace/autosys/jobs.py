"""A job of the estate: its attributes, its condition and its schedule."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from headrace.autosys.conditions import (
    AllOf,
    Atom,
    Condition,
    ConditionError,
    ExitIs,
    GlobalIs,
    JobIs,
    RequiredStatus,
    atoms,
    parse,
    readable_atoms,
    unparse,
)
from headrace.autosys.findings import Finding, Problem
from headrace.autosys.jil.keywords import CONDITIONS, REPEATED
from headrace.autosys.jil.statements import Attribute
from headrace.autosys.schedules import Schedule, read_schedule
from headrace.severity import Severity

_TYPES = {
    "": "CMD", "C": "CMD", "COMMAND": "CMD", "B": "BOX", "F": "FW", "FILEWATCHER": "FW", "FILE_WATCHER": "FW",
}  # fmt: skip
_WATCHERS = frozenset(("FW", "FT"))
_MAY_REPEAT = REPEATED.union(CONDITIONS)
_ONE_ATOM = re.compile(r"([sfdtn])\(([^\s(),^|&\"]+)\)").fullmatch


class Trigger(StrEnum):
    """A trigger of a job."""

    CLOCK = "clock"
    BOX = "box"
    CONDITION = "condition"
    FILE = "file"  # it is started otherwise, and ends when a file exists
    HAND = "hand"  # nothing in the files starts it


class Edge(NamedTuple):
    """A dependency of one job on another: a single atom of a condition.

    upstream: the job named; `name^INSTANCE` if it belongs to another scheduler. atom: the test, with its lookback.
    attribute: the field of the downstream job with the condition, with its place.
    """

    upstream: str
    downstream: str
    atom: JobIs | ExitIs
    attribute: str
    file: str
    line: int

    @property
    def orders(self) -> bool:
        """True if the downstream job runs after the upstream one, and may use its output.

        `notrunning` only keeps two jobs apart, and the conditions under which a box ends start nothing: neither orders
        them.
        """
        return self.attribute == "condition" and not (
            isinstance(self.atom, JobIs) and self.atom.wanted is RequiredStatus.NOT_RUNNING
        )

    @property
    def text(self) -> str:
        """The atom in JIL's notation."""
        return unparse(self.atom)


@dataclass(slots=True)
class Job:
    """One job after all statements about it.

    type: canonical and in upper case (CMD, BOX, FW, ...); unknown types are kept as they are. file, line: of the
    statement that inserted it. attributes: in the order written, changed by updates. values: the last value of each.
    conditions: by attribute, those that could be parsed. overrides: attributes of its next run only. readable: by
    attribute, the atoms that could be parsed of the other conditions.
    """

    name: str
    type: str
    file: str
    line: int
    attributes: tuple[Attribute, ...]
    values: dict[str, str]
    conditions: dict[str, Condition]
    schedule: Schedule
    overrides: tuple[Attribute, ...] = ()
    readable: dict[str, tuple[Atom, ...]] = field(default_factory=dict)

    @property
    def box(self) -> str | None:
        """The box that contains it."""
        return self.values.get("box_name") or None

    @property
    def owner(self) -> str | None:
        """The user it runs as."""
        return self.values.get("owner") or None

    @property
    def machine(self) -> str | None:
        """The machine it runs on; a virtual machine, or several separated by commas, as written."""
        return self.values.get("machine") or None

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines that it names, one by one."""
        return tuple(name for each in (self.machine or "").split(",") if (name := each.strip()))

    @property
    def command(self) -> str | None:
        """The command."""
        return self.values.get("command") or None

    @property
    def condition(self) -> Condition | None:
        """The condition; None without one, or if it is invalid (with a finding)."""
        return self.conditions.get("condition")

    @property
    def triggers(self) -> tuple[Trigger, ...]:
        """Its triggers, all of which must hold; HAND alone if nothing starts it."""
        found = [
            trigger
            for trigger, there in (
                (Trigger.CLOCK, self.schedule.starts_itself),
                (Trigger.BOX, self.box is not None),
                (Trigger.CONDITION, bool(self.values.get("condition"))),
                (Trigger.FILE, self.type in _WATCHERS),
            )
            if there
        ]
        return tuple(found) or (Trigger.HAND,)

    def all(self, name: str) -> tuple[Attribute, ...]:
        """Return every attribute with that name, in order."""
        return tuple(each for each in self.attributes if each.name == name)

    def place(self, name: str) -> tuple[str, int]:
        """Return file and line of the last attribute with that name, or of the job if it has none."""
        found = self.all(name)
        return (found[-1].file or self.file, found[-1].line) if found else (self.file, self.line)


def make_job(
    name: str, file: str, line: int, attributes: tuple[Attribute, ...], findings: list[Finding]
) -> Job:
    """Create the job with these attributes; invalid ones are added to `findings`, and the job is kept."""
    values = {attribute[0]: attribute[1] for attribute in attributes}
    if len(values) < len(attributes):
        _report_repeated(name, file, attributes, findings)
    conditions: dict[str, Condition] = {}
    readable: dict[str, tuple[Atom, ...]] = {}
    for each in CONDITIONS:
        if values.get(each):
            condition = _condition(name, file, each, attributes, findings)
            if condition is not None:
                conditions[each] = condition
            else:
                texts = (attribute.value for attribute in attributes if attribute.name == each)
                readable[each] = tuple(atom for text in texts for atom in readable_atoms(text))
    schedule, schedule_problems = read_schedule(values)
    for problem in schedule_problems:
        findings.append(_about(f"schedule/{problem.attribute}", problem, name, file, attributes))
    return Job(
        name,
        job_type(values.get("job_type", "")),
        file,
        line,
        attributes,
        values,
        conditions,
        schedule,
        readable=readable,
    )


def job_type(written: str) -> str:
    """Return the canonical name of a job type, from its letter or word in any case; CMD without one."""
    word = written.strip().upper()
    return _TYPES.get(word, word)


def edges_of(job: Job) -> Iterable[Edge]:
    """Yield the dependencies of the job, an edge for each atom that names a job."""
    for atom, name in _atoms_of(job):
        if not isinstance(atom, GlobalIs):
            written = next(each for each in job.attributes if each.name == name and each.value)
            upstream = f"{atom.job}^{atom.instance}" if atom.instance else atom.job
            yield Edge(upstream, job.name, atom, name, written.file or job.file, written.line)


def globals_of(job: Job) -> Iterable[tuple[GlobalIs, str]]:
    """Yield the atoms of its conditions about global variables, each with its attribute."""
    for atom, name in _atoms_of(job):
        if isinstance(atom, GlobalIs):
            yield atom, name


def _atoms_of(job: Job) -> Iterator[tuple[Atom, str]]:
    for name, condition in job.conditions.items():
        yield from ((atom, name) for atom in atoms(condition))
    for name, found in job.readable.items():
        yield from ((atom, name) for atom in found)


def _condition(
    job: str, file: str, name: str, attributes: Iterable[Attribute], findings: list[Finding]
) -> Condition | None:
    """Parse all attributes of that name as one condition; None if one of them is invalid."""
    parts: list[Condition] = []
    for attribute in attributes:
        if attribute[0] != name or not attribute[1]:
            continue
        simple = _ONE_ATOM(attribute.value)
        if simple is not None:
            parts.append(JobIs(RequiredStatus(simple[1]), simple[2]))
            continue
        try:
            parts.append(parse(attribute.value))
        except ConditionError as error:
            problem = Problem(
                name,
                f"{error}; what the job waits for is unknown",
                Severity.ERROR,
                "the jobs in its readable parts are linked all the same",
            )
            findings.append(_about("job/condition", problem, job, file, [attribute]))
            return None
    if len(parts) < 2:
        return parts[0] if parts else None
    problem = Problem(
        name,
        f"given {len(parts)} times; all of them are required",
        Severity.WARNING,
        "join them with AND if that is intended",
    )
    findings.append(_about("job/repeated-condition", problem, job, file, attributes))
    return AllOf(
        tuple(part for each in parts for part in (each.parts if isinstance(each, AllOf) else (each,)))
    )


def _report_repeated(job: str, file: str, attributes: Iterable[Attribute], findings: list[Finding]) -> None:
    seen: dict[str, str] = {}
    for attribute in attributes:
        before = seen.get(attribute.name, attribute.value)
        if before != attribute.value and attribute.name not in _MAY_REPEAT:
            problem = Problem(
                attribute.name,
                f"given before with another value, {before[:60]!r}; this one counts",
                Severity.WARNING,
                "keep one of them",
            )
            findings.append(_about("job/repeated", problem, job, file, [attribute]))
        seen[attribute.name] = attribute.value


def _about(rule: str, problem: Problem, job: str, file: str, attributes: Iterable[Attribute]) -> Finding:
    """Create the finding for a problem, at the last of the attributes concerned."""
    at = [each for each in attributes if each.name == problem.attribute][-1]
    return Finding(
        rule,
        problem.severity,
        problem.message,
        at.file or file,
        at.line,
        job,
        problem.attribute,
        problem.hint,
    )
