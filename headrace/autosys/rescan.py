"""Rescan an estate incrementally: stanzas are recognised by digest, and only changed ones are parsed."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from headrace import garbage_collection
from headrace.autosys.calendars import Calendars, merged, read_calendars, records, separated
from headrace.autosys.estate import Estate, nothing_in, resolve
from headrace.autosys.findings import Finding
from headrace.autosys.jil.scanner import scan
from headrace.autosys.jil.statements import Jil, Statement
from headrace.autosys.jil.text import decode
from headrace.autosys.stanzas import Stanza, stanzas


class SourceFile(NamedTuple):
    """A file as read."""

    path: str
    digest: str
    byte_size: int

    @classmethod
    def of(cls, path: Path, data: bytes) -> "SourceFile":
        """Create the file at `path` with these bytes."""
        return cls(str(path), sha256(data).hexdigest(), len(data))


class Piece(NamedTuple):
    """The text that alone defines a job: its file, first line, digest, and the text itself.

    digest: None if other statements may change the job even if this text is unchanged.
    """

    file: str
    line: int
    digest: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading.

    estate: of the new and changed jobs. pieces: by job, for those defined by one stanza alone. known: the current
    places of the known stanzas, file and line by digest. calendars: the texts of calendars and cycles, by file and
    line.
    """

    estate: Estate
    pieces: Mapping[str, Piece]
    known: Mapping[str, tuple[str, int]]
    files: tuple[SourceFile, ...]
    calendars: Mapping[tuple[str, int], str]


def read_changed(files: Sequence[Path], known: Mapping[str, str]) -> Reading:
    """Read the estate in files of JIL and of calendar exports, without unchanged jobs.

    known: the jobs of an earlier reading, by the digest of the stanza that alone defines each. Everything is parsed if
    the result could differ otherwise: if a statement changes what another one defines, or inserts a known job. Raises
    OSError for a file that cannot be read.
    """
    with garbage_collection.paused():
        texts = _Texts()
        for path in files:
            texts.take(path)
        if known:
            reading = texts.read(known)
            kept = {known[digest] for digest in reading.known}
            alone = not reading.estate.steps and kept.isdisjoint(reading.estate.jobs)
            if alone and len(kept) == len(reading.known):
                return reading
        return texts.read({})


@dataclass(slots=True)
class _Text:
    """The JIL of a file in stanzas. has_calendars: the file has an export as well."""

    path: str
    text: str
    stanzas: list[Stanza]
    findings: tuple[Finding, ...]
    has_calendars: bool


@dataclass(slots=True)
class _Texts:
    """The files by kind of content."""

    jils: list[_Text] = field(default_factory=list)
    calendars: list[Calendars] = field(default_factory=list)
    records: dict[tuple[str, int], str] = field(default_factory=dict)
    files: list[SourceFile] = field(default_factory=list)

    def take(self, path: Path) -> None:
        """Read a file."""
        data, name = path.read_bytes(), str(path)
        self.files.append(SourceFile.of(path, data))
        text, findings = decode(data, name)
        written, exported = separated(text)
        if exported:
            export = read_calendars(exported, name)
            self.calendars.append(export)
            self.records |= records(exported, export, name)
        self.jils.append(_Text(name, written, stanzas(written), findings, bool(exported)))

    def read(self, known: Mapping[str, str]) -> Reading:
        """Parse the estate, without the stanzas with these digests."""
        jils: list[Jil] = []
        found: dict[str, tuple[str, int]] = {}
        pieces: dict[str, tuple[int, Piece]] = {}
        for one in self.jils:
            fresh: list[Stanza] = []
            for stanza in one.stanzas:
                if stanza.digest in known and stanza.digest not in found:
                    found[stanza.digest] = (one.path, stanza.line)
                else:
                    fresh.append(stanza)
            statements: list[Statement] = []
            findings = list(one.findings)
            for run in _runs(fresh):
                jil = shifted(scan(one.text[run[0].start : run[-1].end], one.path), run[0].line - 1)
                statements += jil.statements
                findings += jil.findings
                for statement, stanza in _alone(jil.statements, run):
                    text = one.text[stanza.start : stanza.end]
                    piece = Piece(one.path, stanza.line, stanza.digest, text)
                    pieces.setdefault(statement.name, (statement.line, piece))
            is_empty = not statements and len(fresh) == len(one.stanzas) and not one.has_calendars
            jils.append(
                Jil(tuple(statements), nothing_in(one.path, findings) if is_empty else tuple(findings))
            )
        estate = resolve(jils, merged(self.calendars))
        defining = dict(_defining(estate, pieces))
        return Reading(estate, defining, found, tuple(self.files), self.records)


def _defining(estate: Estate, pieces: Mapping[str, tuple[int, Piece]]) -> Iterator[tuple[str, Piece]]:
    """Yield the pieces of text that alone define a job, considering statements that change others."""
    affected = {name for step in estate.steps for name in step.affected}
    for name, (line, piece) in pieces.items():
        job = estate.jobs.get(name)
        if job is not None and name not in affected and (job.file, job.line) == (piece.file, line):
            yield name, piece._replace(digest=None) if estate.steps else piece


def _runs(found: Sequence[Stanza]) -> Iterator[Sequence[Stanza]]:
    """Yield the stanzas in contiguous runs."""
    first = 0
    for number in range(1, len(found) + 1):
        if number == len(found) or found[number].start != found[number - 1].end:
            yield found[first:number]
            first = number


def _alone(statements: Sequence[Statement], run: Sequence[Stanza]) -> Iterator[tuple[Statement, Stanza]]:
    """Yield the jobs inserted by the only statement of a stanza."""
    lines = [stanza.line for stanza in run]
    numbers = [bisect_right(lines, statement.line) - 1 for statement in statements]
    several = Counter(numbers)
    for statement, number in zip(statements, numbers, strict=True):
        if several[number] == 1 and statement.kind == "job" and statement.action == "insert":
            yield statement, run[number]


def shifted(jil: Jil, by: int) -> Jil:
    """Return statements and findings of a part of a file, with lines relative to the whole file."""
    if not by:
        return jil
    for statement in jil.statements:
        statement.line += by
        statement.attributes[:] = [each._replace(line=each.line + by) for each in statement.attributes]
    return Jil(jil.statements, tuple(replace(each, line=each.line + by) for each in jil.findings))
