"""The estate described by JIL files and calendar exports: jobs, boxes and dependencies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace import garbage_collection
from headrace.autosys.calendars import Calendars, merged, read_calendars, separated
from headrace.autosys.cycles import find_cycles
from headrace.autosys.findings import Finding
from headrace.autosys.jil.scanner import scan
from headrace.autosys.jil.statements import Attribute, Jil, Statement
from headrace.autosys.jil.text import decode
from headrace.autosys.jobs import Edge, Job, edges_of, make_job
from headrace.autosys.statement_application import AppliedStatements, Entry, Step, apply
from headrace.severity import Severity


@dataclass(frozen=True, slots=True)
class EstateObject:
    """An object other than a job (a machine, resource, global variable, other instance, ...), kept as written."""

    kind: str
    name: str
    attributes: tuple[Attribute, ...]
    file: str
    line: int

    def get(self, name: str) -> str | None:
        """Return the last value of the attribute."""
        return next((each.value for each in reversed(self.attributes) if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Estate:
    """The contents of the files, after all statements.

    jobs: by name, in order of insertion. members: the jobs directly in each box. edges: every job-to-job atom of a
    condition. waited_for: the edges from a job, by its name; waits_for: those to it. cycles: sets of jobs that wait for
    each other. things: other objects, by kind and name. steps: effects of updates, deletes and overrides, for review.
    """

    jobs: Mapping[str, Job]
    members: Mapping[str, tuple[str, ...]]
    edges: tuple[Edge, ...]
    waited_for: Mapping[str, tuple[Edge, ...]]
    waits_for: Mapping[str, tuple[Edge, ...]]
    cycles: tuple[tuple[str, ...], ...]
    things: Mapping[str, Mapping[str, EstateObject]]
    calendars: Calendars
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]

    def boxes_of(self, name: str) -> tuple[str, ...]:
        """Return the boxes around a job, from the inside out."""
        boxes: dict[str, None] = {}
        job = self.jobs.get(name)
        while job is not None and job.box is not None and job.box not in boxes:
            boxes[job.box] = None
            job = self.jobs.get(job.box)
        return tuple(boxes)


def read_estate(files: Iterable[Path]) -> Estate:
    """Read an estate from JIL files and calendar exports, recognised by content, in the order given.

    A file that contains neither is one finding. Raises OSError for a file that cannot be read.
    """
    jils: list[Jil] = []
    calendars: list[Calendars] = []
    for path in files:
        text, findings = decode(path.read_bytes(), str(path))
        written, export = separated(text)
        if export:
            calendars.append(read_calendars(export, str(path)))
        jil = scan(written, str(path))
        found = findings + jil.findings
        if not jil.statements and not export:
            found = nothing_in(str(path), jil.findings)
        jils.append(Jil(jil.statements, found))
    return resolve(jils, merged(calendars))


def nothing_in(file: str, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings for a file without statements, instead of one per doubtful line."""
    return (
        *(each for each in findings if each.severity is Severity.ERROR),
        Finding("jil/nothing", Severity.WARNING, "it contains no JIL and no calendar", file, 0),
    )


def resolve(jils: Sequence[Jil], calendars: Calendars | None = None) -> Estate:
    """Apply all statements of all files, in order."""
    calendars = calendars or Calendars()
    with garbage_collection.paused():
        return _resolve(
            [statement for jil in jils for statement in jil.statements],
            [finding for jil in jils for finding in jil.findings],
            calendars,
        )


def _resolve(statements: list[Statement], findings: list[Finding], calendars: Calendars) -> Estate:
    applied = apply(statements)
    findings = [*findings, *calendars.findings, *applied.findings]
    jobs: dict[str, Job] = {}
    members: dict[str, list[str]] = {}
    edges: list[Edge] = []
    waited_for: dict[str, list[Edge]] = {}
    waits_for: dict[str, tuple[Edge, ...]] = {}
    for name, entry in applied.of("job").items():
        job = _job(name, entry, findings)
        jobs[name] = job
        if job.box is not None:
            members.setdefault(job.box, []).append(name)
        if job.conditions or job.readable:
            found = tuple(edges_of(job))
            waits_for[name] = found
            edges += found
            for edge in found:
                waited_for.setdefault(edge.upstream, []).append(edge)
    return Estate(
        jobs=jobs,
        members={box: tuple(names) for box, names in members.items()},
        edges=tuple(edges),
        waited_for={name: tuple(found) for name, found in waited_for.items()},
        waits_for=waits_for,
        cycles=tuple(find_cycles(jobs, edges)),
        things=_objects(applied),
        calendars=calendars,
        steps=tuple(applied.steps),
        findings=tuple(findings),
    )


def _job(name: str, entry: Entry, findings: list[Finding]) -> Job:
    job = make_job(name, entry.statement.file, entry.statement.line, entry.attributes, findings)
    job.overrides = entry.overrides
    return job


def _objects(applied: AppliedStatements) -> dict[str, dict[str, EstateObject]]:
    return {
        kind: {
            name: EstateObject(kind, name, entry.attributes, entry.statement.file, entry.statement.line)
            for name, entry in entries.items()
        }
        for kind, entries in applied.objects.items()
        if kind != "job" and entries
    }
