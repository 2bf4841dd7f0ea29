"""Scanning an estate: its files held against what the catalog knows, told as a plan, and stored."""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from catalog import estates
from catalog.errors import ScanRefused
from catalog.records import Technology
from catalog.scans import KnownProcess, Place, ScannedProcess, Shift
from jobs.scanned import described_processes, scanned_jobs, told_again
from jobs.shifts import shifts
from legacy import Change, Finding, Gravity
from legacy.collection import paused
from legacy.db2 import Listed, read_listing
from legacy.diff import changes
from legacy.jil.text import decode
from legacy.processes import Described, read_processes
from legacy.rescan import SourceFile, read_changed

MOST_STRETCHES = 500  # of a file that has changed all over, each job's place is stored anew
YAML, CSV = (".yaml", ".yml"), (".csv",)
Name = tuple[str, str]  # of a process: technology and name


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan finds, and what storing it would change; jobs by name, other processes by key.

    known: the processes that scans have found before, of what these files describe. taken_over: those of `added` that
    were heard of before. returned: retired ones that are there again. errors: what was lost, by file and line.
    """

    instance: str
    files: tuple[SourceFile, ...]
    processes: int
    known: int
    added: tuple[str, ...]
    taken_over: tuple[str, ...]
    returned: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]
    removed: tuple[str, ...]
    errors: tuple[Finding, ...]
    warnings: int

    @property
    def retires_most(self) -> bool:
        """Whether more than half of what was known is not there: the files may be incomplete."""
        return 2 * len(self.removed) > self.known

    @property
    def counts(self) -> Mapping[str, int]:
        """The figures that the catalog keeps of a scan."""
        return {
            "processes": self.processes,
            "added": len(self.added),
            "taken_over": len(self.taken_over),
            "returned": len(self.returned),
            "changed": len(self.changed),
            "removed": len(self.removed),
            "errors": len(self.errors),
            "warnings": self.warnings,
        }


class MostWouldRetire(ScanRefused):
    """A scan that lacks more than half of the known jobs, which nobody has said is meant."""


def scan(
    engine: Engine,
    files: Sequence[Path],
    instance: str = "",
    *,
    by: str | None = None,
    may_retire_most: bool = False,
    accept: Callable[[Plan], bool] = lambda plan: True,
) -> Plan:
    """Read an estate's files and bring the catalog to what they say; all of it or nothing is stored.

    Args:
        engine: the catalog.
        files: JIL and calendar exports of one instance, descriptions of processes (.yaml), DB2 listings (.csv).
        instance: the name of the Autosys instance (AUTOSERV), '' where there is one only.
        by: who scans; None means the user of this process.
        may_retire_most: the files are complete, though they lack more than half of what was known.
        accept: is shown the plan before anything is stored; nothing is when it returns False.

    Raises OSError for a file that cannot be read, MostWouldRetire, ScanRefused when another scan was stored meanwhile.
    """
    with paused():
        known = estates.known(engine, instance)
        found = _Found(instance, known.processes)
        found.read(files)
        plan = found.plan(engine)
    if not accept(plan):
        return plan
    if plan.retires_most and not may_retire_most:
        raise MostWouldRetire(
            f"{len(plan.removed):,} of {plan.known:,} known processes are not in these files and would be retired;"
            " give all files of the instance, or say that these are all (`--yes`)"
        )
    estates.store(
        engine,
        estates.Scan(
            instance=instance,
            by=by or getpass.getuser(),
            since=known.newest_scan,
            files=[each._asdict() for each in found.files],
            counts=plan.counts,
            written=found.written,
            placed=found.placed,
            shifted=found.shifted,
            retired=[(each.technology, each.name) for each in found.removed],
        ),
    )
    return plan


class _Found:
    """What the files hold, against what is known."""

    def __init__(self, instance: str, known: Sequence[KnownProcess]) -> None:
        self.instance = instance
        self.known: dict[Name, KnownProcess] = {(one.technology, one.name): one for one in known}
        self.files: list[SourceFile] = []
        self.findings: list[Finding] = []
        self.fresh: list[ScannedProcess] = []  # read this time
        self.placed: list[tuple[Technology, str, Place]] = []  # as it was, and somewhere else
        self.written: list[ScannedProcess] = []
        self.removed: list[KnownProcess] = []
        self.unchanged: set[Name] = set()  # known by their text, and not read
        self.lines: dict[str, list[tuple[int, int]]] = {}  # of these by file, before and now
        self.moved: list[tuple[KnownProcess, str, int]] = []
        self.shifted: list[Shift] = []

    def read(self, files: Sequence[Path]) -> None:
        described: list[Described] = []
        listed: list[Listed] = []
        jil: list[Path] = []
        for path in files:
            if path.suffix.lower() not in YAML + CSV:
                jil.append(path)
                continue
            data = path.read_bytes()
            self.files.append(SourceFile.of(path, data))
            text, told = decode(data, str(path))
            if path.suffix.lower() in CSV:
                rows, lost = read_listing(text, str(path))
                listed += rows
            else:
                entries, lost = read_processes(text, str(path))
                described += entries
            self.findings += [*told, *lost]
        if jil:
            self._read_jil(jil)
        self._take_described(described, listed)

    def _read_jil(self, files: Sequence[Path]) -> None:
        jobs = {
            one.text_digest: one
            for one in self.known.values()
            if one.text_digest is not None and one.standing == "ACTIVE"
        }
        reading = read_changed(files, {digest: one.name for digest, one in jobs.items()})
        self.files += reading.files
        self.findings += reading.estate.findings
        self.fresh += scanned_jobs(reading, self.instance)
        for digest, (file, line) in reading.known.items():
            self._keep(jobs[digest], file, line)
        self._move()

    def _keep(self, one: KnownProcess, file: str, text_line: int) -> None:
        """A job whose text has not changed; it may stand somewhere else."""
        self.unchanged.add((one.technology, one.name))
        if one.lost:
            self.findings += [told_again(each, file, text_line) for each in one.lost]
        if one.file == file and one.text_line is not None:
            self.lines.setdefault(file, []).append((one.text_line, text_line))
            if one.text_line != text_line:
                self.moved.append((one, file, text_line))
        else:
            self._place(one, file, text_line)

    def _place(self, one: KnownProcess, file: str, text_line: int) -> None:
        line = (one.line or 0) - (one.text_line or 0) + text_line
        place = Place(file, line, text_line, one.text_digest, one.lost or ())
        self.placed.append((Technology(one.technology), one.name, place))

    def _move(self) -> None:
        """What has moved within its file, in stretches where these are few."""
        self.shifted = shifts(self.lines)
        if len(self.shifted) > MOST_STRETCHES:
            self.shifted = []
            for each in self.moved:
                self._place(*each)

    def _take_described(self, described: Sequence[Described], listed: Sequence[Listed]) -> None:
        names = {each.description.name for each in described if each.technology is Technology.DB2_SP}
        read = {each.path for each in self.files}
        kept: list[Listed] = []
        for each in listed:
            known = self.known.get((Technology.DB2_SP.value, each.procedure))
            elsewhere = (
                known.file if known and known.standing == "ACTIVE" and each.procedure not in names else None
            )
            if elsewhere is not None and elsewhere not in read:
                what = f"{each.procedure} is described in {elsewhere}, which is not among these files"
                hint = "its rows are left out; give both files"
                self.findings.append(
                    Finding(
                        "db2/described", Gravity.ERROR, what, each.file, each.line, each.procedure, None, hint
                    )
                )
                self.unchanged.add((Technology.DB2_SP.value, each.procedure))
            else:
                kept.append(each)
        self.fresh += described_processes(described, kept)

    def plan(self, engine: Engine) -> Plan:
        """What storing would change; fills what is to be written, placed and retired."""
        added: list[str] = []
        taken_over: list[str] = []
        returned: list[str] = []
        there: list[ScannedProcess] = []
        for one in self.fresh:
            known = self.known.get((one.technology.value, one.name))
            if known is None or known.file is None:  # nobody has seen its text
                added.append(one.title)
                taken_over += [one.title] if known else []
            elif known.standing == "RETIRED":
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
            if told := changes(stored, list(one.attributes)):  # or it is only written otherwise
                changed[one.title] = told
        self.removed = self._removed()
        return Plan(
            instance=self.instance,
            files=tuple(self.files),
            processes=len(self.fresh) + len(self.unchanged),
            known=sum(map(self._is_compared, self.known.values())),
            added=tuple(added),
            taken_over=tuple(taken_over),
            returned=tuple(returned),
            changed=changed,
            removed=tuple(one.title for one in self.removed),
            errors=tuple(each for each in self.findings if each.gravity is Gravity.ERROR),
            warnings=Counter(each.gravity for each in self.findings)[Gravity.WARNING],
        )

    def _removed(self) -> list[KnownProcess]:
        there = self.unchanged.union((one.technology.value, one.name) for one in self.fresh)
        return [one for name, one in self.known.items() if name not in there and self._is_compared(one)]

    def _is_compared(self, one: KnownProcess) -> bool:
        """Whether these files would have the process if it still were there, one that a scan has found."""
        if one.file is None or one.standing != "ACTIVE":
            return False
        if one.technology == Technology.AUTOSYS:
            return self._has_jobs
        return any(each.path == one.file for each in self.files)

    @property
    def _has_jobs(self) -> bool:
        jobs = (name for name in self.unchanged if name[0] == Technology.AUTOSYS)
        return next(jobs, None) is not None or any(one.technology is Technology.AUTOSYS for one in self.fresh)
