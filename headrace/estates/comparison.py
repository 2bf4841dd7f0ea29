"""Compare an estate's files with the catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from sqlalchemy import Engine

from headrace.autosys import Change, Finding
from headrace.autosys.diff import changes
from headrace.autosys.jil.text import decode
from headrace.autosys.objectives import business_calendars, unsupported_must_time_findings
from headrace.autosys.rescan import SourceFile, read_changed
from headrace.catalog.records import Technology
from headrace.catalog.scans import EstateText, KnownProcess, Place, ScannedProcess
from headrace.database.connection import transaction
from headrace.estates import storage as estates
from headrace.estates.described.db2 import ListedProcedure, read_listing
from headrace.estates.described.processes import DescribedProcess, once_each, read_processes
from headrace.estates.described.records import Name as Named
from headrace.estates.described.records import described_processes, unknown_calendars, unknown_upstream
from headrace.estates.line_moves import TextPosition, moves
from headrace.estates.plan import Plan
from headrace.estates.scanned_jobs import finding_from_json, scanned_jobs, scanned_objects
from headrace.severity import Severity
from headrace.slas import calendars
from headrace.slas.calendars import Calendars

YAML, CSV = (".yaml", ".yml"), (".csv",)
Name = tuple[str, str]  # of a process: technology and name


class Comparison:
    """The processes in one scan's files: those to write, those that moved, those that are missing.

    instance: the scheduler of the jobs, '' if there is only one.
    """

    def __init__(self, instance: str, known: Sequence[KnownProcess]) -> None:
        self.instance = instance
        self.known: dict[Name, KnownProcess] = {(one.technology, one.name): one for one in known}
        self.files: list[SourceFile] = []
        self.written: list[ScannedProcess] = []
        self.placed: list[tuple[Technology, str, Place]] = []  # unchanged, at another place
        self.moved: dict[int, int] = {}  # lines by block
        self.removed: list[KnownProcess] = []
        self.objects: list[EstateText] = []  # machines, calendars and the like
        self.calendars: Mapping[str, tuple[date, ...]] = {}
        self._findings: list[Finding] = []
        self._doubts: list[Finding] = []
        self._fresh: list[ScannedProcess] = []  # parsed in this scan
        self._unchanged: set[Name] = set()  # known by their text, and not parsed
        self._described: Sequence[DescribedProcess] = ()
        self._has_jil = False
        self._lost_jobs: set[str | None] = (
            set()
        )  # names of jobs that could not be parsed; None for one without a name
        self._lost_entries = False

    def read(self, files: Sequence[Path]) -> None:
        """Read the files. Raises OSError for one that cannot be read."""
        described: list[DescribedProcess] = []
        listed: list[ListedProcedure] = []
        jil: list[Path] = []
        for path in files:
            if path.suffix.lower() not in YAML + CSV:
                jil.append(path)
                continue
            data = path.read_bytes()
            self.files.append(SourceFile.of(path, data))
            text, warnings = decode(data, str(path))
            if path.suffix.lower() in CSV:
                rows, lost = read_listing(text, str(path))
                listed += rows
            else:
                entries, lost = read_processes(text, str(path))
                described += entries
            self._check_descriptions([*warnings, *lost])
        self._described, repeated = once_each(described)
        self._check_descriptions(repeated)
        self._lost_entries = any(each.severity is Severity.ERROR for each in self._findings)
        self._has_jil = bool(jil)
        if jil:
            self._read_jil(jil)
        self._take_described(listed)

    def _check_descriptions(self, findings: Collection[Finding]) -> None:
        self._findings += findings
        self._doubts += [each for each in findings if each.severity is Severity.WARNING]

    def _read_jil(self, files: Sequence[Path]) -> None:
        jobs = {
            one.text_digest: one
            for one in self.known.values()
            if one.text_digest is not None and one.lifecycle == "ACTIVE"
        }
        reading = read_changed(files, {digest: one.name for digest, one in jobs.items()})
        self.files += reading.files
        findings = list(reading.estate.findings)
        self._fresh += scanned_jobs(reading, self.instance)
        self.objects += scanned_objects(reading)
        today = datetime.now(UTC).date()
        self.calendars = business_calendars(reading.estate.calendars, today)
        findings += unsupported_must_time_findings(
            reading.estate.jobs.values(), reading.estate.calendars, today
        )
        texts = [TextPosition(jobs[digest], file, line) for digest, (file, line) in reading.known.items()]
        self._unchanged = {(one.technology, one.name) for one, _, _ in texts}
        findings += [
            finding_from_json(each, file, line) for one, file, line in texts for each in one.lost or ()
        ]
        self.moved, apart = moves(texts)
        self.placed += [
            (Technology(each.process.technology), each.process.name, each.place) for each in apart
        ]
        self._lost_jobs = {each.subject for each in findings if each.rule == "jil/no-insert"}
        if any(each.rule == "jil/no-name" and each.attribute == "insert_job" for each in findings):
            self._lost_jobs.add(None)
        self._findings += findings

    def _take_described(self, listed: Sequence[ListedProcedure]) -> None:
        names = {each.description.name for each in self._described if each.technology is Technology.DB2_SP}
        read = {each.path for each in self.files}
        kept: list[ListedProcedure] = []
        for each in listed:
            known = self.known.get((Technology.DB2_SP.value, each.procedure))
            elsewhere = (
                known.file if known and known.lifecycle == "ACTIVE" and each.procedure not in names else None
            )
            if elsewhere is not None and elsewhere not in read:
                what = f"{each.procedure} is described in {elsewhere}, which is not one of these files"
                hint = "its rows are ignored; pass both files"
                self._findings.append(
                    Finding(
                        "db2/described",
                        Severity.ERROR,
                        what,
                        each.file,
                        each.line,
                        each.procedure,
                        None,
                        hint,
                    )
                )
                self._unchanged.add((Technology.DB2_SP.value, each.procedure))
            else:
                kept.append(each)
        self._fresh += described_processes(self._described, kept, self.instance)

    def plan(self, engine: Engine) -> Plan:
        """Plan the changes; fills what is to be written, placed and retired."""
        added: list[str] = []
        taken_over: list[str] = []
        returned: list[str] = []
        there: list[ScannedProcess] = []
        for one in self._fresh:
            known = self.known.get((one.technology.value, one.name))
            if known is None or known.file is None:  # its source is unknown
                added.append(one.title)
                taken_over += [one.title] if known else []
            elif known.lifecycle == "RETIRED":
                returned.append(one.title)
            else:
                there.append(one)
                continue
            self.written.append(one)
        before = estates.differing(engine, self.instance, there) if there else {}
        changed: dict[str, tuple[Change, ...]] = {}
        for one in there:
            stored = before.get((one.technology.value, one.name))
            if stored is None:
                self.placed.append((one.technology, one.name, one.place))
                continue
            self.written.append(one)
            if warnings := changes(stored, list(one.attributes)):  # or it is only formatted differently
                changed[one.title] = warnings
        compared = self._compared()
        there_now = self._unchanged.union((one.technology.value, one.name) for one in self._fresh)
        missing = [one for one in compared if (one.technology, one.name) not in there_now]
        self.removed = [one for one in missing if not self._may_be_lost(one)]
        if self._described:
            self._check_descriptions([*self._unknown_upstream(engine), *self._unknown_calendars(engine)])
        return Plan(
            instance=self.instance if self._has_jil else "",
            files=tuple(self.files),
            processes=len(self._fresh) + len(self._unchanged),
            known=len(compared),
            added=tuple(added),
            taken_over=tuple(taken_over),
            returned=tuple(returned),
            changed=changed,
            removed=tuple(one.title for one in self.removed),
            kept=tuple(one.title for one in missing if self._may_be_lost(one)),
            findings=tuple(sorted(self._findings, key=lambda each: each.severity is not Severity.ERROR)),
            doubts=tuple(self._doubts),
        )

    def _unknown_upstream(self, engine: Engine) -> Iterator[Finding]:
        gone = set(map(self._named, self.removed))
        there = {(one.technology.value, one.instance, one.name) for one in self._fresh}
        there |= {self._named(one) for one in self.known.values() if one.lifecycle != "RETIRED"} - gone
        return unknown_upstream(
            self._described, self.instance, there, lambda names: estates.named(engine, names) - gone
        )

    def _unknown_calendars(self, engine: Engine) -> Iterator[Finding]:
        with transaction(engine) as cursor:
            stored = calendars.load(cursor).imported
        scanned = {(self.instance, name): frozenset(days) for name, days in self.calendars.items()}
        return unknown_calendars(self._described, Calendars({**stored, **scanned}))

    def _named(self, one: KnownProcess) -> Named:
        instance = self.instance if one.technology == Technology.AUTOSYS else ""
        return one.technology, instance, one.name

    def _may_be_lost(self, one: KnownProcess) -> bool:
        """Return True if a missing process may be a statement that could not be parsed."""
        if one.technology == Technology.AUTOSYS:
            return None in self._lost_jobs or one.name in self._lost_jobs
        return self._lost_entries

    def _compared(self) -> list[KnownProcess]:
        """Return the scanned processes that these files would contain if they still existed."""
        there = {name[0] for name in self._unchanged}.union(one.technology for one in self._fresh)
        read = {each.path for each in self.files}
        has_jobs = Technology.AUTOSYS in there
        return [
            one
            for one in self.known.values()
            if one.file is not None
            and one.lifecycle == "ACTIVE"
            and (has_jobs if one.technology == "AUTOSYS" else one.file in read)
        ]
