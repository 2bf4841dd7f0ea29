"""Parse text to statements in one pass over the lines, recovering at the next line after an error.

The ordinary line, `name: value` with nothing special in the value, takes a few operations; every other form is handled
by `headrace.autosys.jil.segments`.
"""

import re
from difflib import SequenceMatcher
from functools import cache

from headrace import garbage_collection
from headrace.autosys.findings import Finding
from headrace.autosys.jil.keywords import (
    CONDITIONS,
    ONE_WORD,
    POSSIBLE_NAME,
    SUBCOMMANDS,
    attributes_of,
    subcommand,
)
from headrace.autosys.jil.segments import MAX_VALUE_LINES, Segment, Source, segments
from headrace.autosys.jil.statements import Attribute, Jil, Statement
from headrace.autosys.jil.text import decode
from headrace.autosys.jil.values import read_value, unescape_colons
from headrace.severity import Severity

_ONE_QUOTED = re.compile(r'"(?:[^"]*[^"\\])?"').fullmatch
_HEADER = re.compile(r"insert_job\s*:\s*([\w.#@-]{1,64})(?:\s+job_type\s*:\s*(\w+))?", re.ASCII).fullmatch
_SOFT_OWNER = re.compile(r"#owner\s*:(.*)")
_PROMPT = re.compile(r"\s*jil>+\s*\d*\s*>*\s*")
NOISE = re.compile(
    r"(?:sendevent|autorep|autostatus|autocal_asc|autosyslog|job_depends|jil|exit|quit)\b(?!\s*[:(])"
    r"|[$>%#]\s|[\w.-]+@[\w.-]+.*[$#>]\s|[A-Za-z]:\\[^>]*>|_{5,}|-{5,}|={5,}|Job Name\s+Last Start"
)
_OPEN_ENDED = re.compile(r"(?:[,&|(]|\band|\bor)\Z", re.IGNORECASE)
_OPENS = re.compile(r"\s*(?:[&|),^]|(?:and|or)\b|[=!<>])", re.IGNORECASE)
_LEAVES = frozenset(("exit", "quit", "\x04", "^D"))
_TRAILING = re.compile(r"[\\\s]+\Z")
_WORDS = re.compile(r"[\w.,=-]+(?: [\w.,=-]+)*", re.ASCII)
_NAME = re.compile(r"[\w.#@:-]{1,64}", re.ASCII)
_MEANT = re.compile(
    r"\s*(?:([a-z]+[_-][a-z]+)\b\s*[:;=]?|([a-z]+ ?[a-z]+)\s*[:;=])\s*\"?([^\s\":]+)",
    re.IGNORECASE | re.ASCII,
)
_ALIKE = 0.85  # insrt_job, insert-job, insertjob and insert_jb are


def read(data: bytes, file: str) -> Jil:
    """Parse the statements of a file given as bytes, in any encoding; `file` is the name in findings."""
    text, findings = decode(data, file)
    jil = scan(text, file)
    return Jil(jil.statements, findings + jil.findings)


def scan(text: str, file: str) -> Jil:
    """Parse the statements of JIL text with LF line endings."""
    reader = _Reader(text.split("\n"), file)
    with garbage_collection.paused():
        reader.run()
    reader.report_stray_lines()
    return Jil(tuple(reader.statements), tuple(sorted(reader.findings, key=lambda each: each.line)))


class _Reader:
    """State of the pass: the current statement, and the results so far."""

    def __init__(self, lines: list[str], file: str) -> None:
        self.lines = lines
        self.source = Source(lines, lambda *doubt: self.doubts.append(doubt))
        self.doubts: list[tuple[str, str, int, str | None, str]] = []  # lines not assigned to a statement yet
        self.file = file
        self.statements: list[Statement] = []
        self.findings: list[Finding] = []
        self.current: Statement | None = None
        self.attributes: list[Attribute] = []
        self.known: dict[str, str] = {}
        self.strays: list[int] = []
        self.unknown: set[str] = set()

    def run(self) -> None:
        lines, count, new = self.lines, len(self.lines), tuple.__new__
        index, jobs = 0, attributes_of("job")
        known, append = self.known, self.attributes.append
        while index < count:
            line = lines[index].strip()
            index += 1
            if not line:
                continue
            head, colon, value = line.partition(":")
            name = known.get(head)
            if name is not None and colon and name != "blob_input":
                value = value.strip()
                if not ('"' in value or ":" in value or "\\" in value or "/*" in value):
                    append(new(Attribute, (name, value, index, False, "")))
                    continue
                if _ONE_QUOTED(value):
                    append(new(Attribute, (name, value[1:-1], index, False, "")))
                    continue
            header = _HEADER(line)
            if header is not None:
                self.attributes = (
                    [new(Attribute, ("job_type", header[2], index, False, ""))] if header[2] else []
                )
                self.known = jobs
                self.current = Statement("insert", "job", header[1], self.attributes, self.file, index)
                self.statements.append(self.current)
            elif not (line.startswith("/*") and line.endswith("*/") and line.find("*/") == len(line) - 2):
                index = self._careful(index - 1, line)
            known, append = self.known, self.attributes.append

    def report_stray_lines(self) -> None:
        """Report one finding for each run of lines that belong to nothing."""
        runs: list[list[int]] = []
        for line in self.strays:
            if runs and runs[-1][1] == line - 1:
                runs[-1][1] = line
            else:
                runs.append([line, line])
        self.current = None
        for first, last in runs:
            span = f"lines {first} to {last} are" if last > first else "this line is"
            excerpt = self.lines[first - 1].strip()[:60]
            self._warn(
                "stray-line",
                f"{span} not part of any statement and was skipped: {excerpt!r}",
                first,
                None,
                "make it a comment, or join it to the attribute it belongs to",
            )

    def _careful(self, index: int, line: str) -> int:
        """Read the logical line that starts at `index`, in any form; returns the index of the line after it."""
        if line.startswith("#"):
            soft = _SOFT_OWNER.match(line)
            if soft is not None and self.current is not None and self.current.kind == "job":
                self.attributes.append(Attribute("owner", read_value(soft[1]), index + 1, True))
            return index + 1
        text, index = self.source.after_comments(index)
        self._report_doubts()
        if text.lstrip().startswith("jil>"):
            text = _PROMPT.sub("", text, count=1)
        if not text.strip() or text.strip() in _LEAVES:
            return index + 1
        found, end = segments(self.source, index, text, self.known, self._continued(index, text))
        for segment in found:
            statement = subcommand(segment.name) if segment.name is not None else None
            if segment.name is None:
                self._continue(segment, index, text)
            elif statement is not None:
                self._begin(segment.name, *statement, segment.raw, segment.line)
            else:
                self._add(segment)
        self._report_doubts()
        return end

    def _report_doubts(self) -> None:
        for doubt in self.doubts:
            self._warn(*doubt)
        self.doubts.clear()

    def _continued(self, index: int, text: str) -> str | None:
        """Return the attribute whose value a line without a name would continue."""
        if self.current is None or not self.attributes or NOISE.match(text.strip()):
            return None
        last = self.attributes[-1]
        if last.name in ONE_WORD or last.soft or index - last.line > MAX_VALUE_LINES:
            return None
        gap = index > 0 and not self.lines[index - 1].strip()
        if gap or (last.name in CONDITIONS and not _OPENS.match(text)):
            return last.name if _OPEN_ENDED.search(last.value) or not (gap or last.value) else None
        return last.name

    def _continue(self, segment: Segment, index: int, text: str) -> None:
        if not segment.raw.strip():
            return
        self._report_mistyped_insert(segment.raw, segment.line)
        if self._continued(index, text) is None:
            if self.current is None or self.current.name or NOISE.match(text.strip()):
                self.strays.append(index + 1)
            return
        last = self.attributes.pop()
        value = f"{last.value} {unescape_colons(segment.raw.strip())}".strip()
        self.attributes.append(last._replace(value=value))

    def _add(self, segment: Segment) -> None:
        name = segment.name
        if name is not None and name not in self.known:
            self._report_mistyped_insert(f"{name}: {segment.raw}", segment.line)
        if name is None or self.current is None:
            self.strays.append(segment.line)
            return
        if name not in self.known and name not in self.unknown:
            self.unknown.add(name)
            self._report(
                "unknown-attribute",
                f"{name} is not a known attribute; it is kept as written, here and below",
                segment.line,
                name,
                None,
                Severity.INFO,
            )
        value = segment.raw.strip() if name == "blob_input" else read_value(segment.raw)
        self.attributes.append(Attribute(name, value, segment.line))

    def _begin(self, word: str, action: str, kind: str, raw: str, line: int) -> None:
        value = _TRAILING.sub("", read_value(raw))
        is_quoted = raw.lstrip().startswith('"') and not value.startswith('"')
        name, rest = (value, "") if is_quoted else (*value.split(maxsplit=1), "", "")[:2]
        is_name = POSSIBLE_NAME.fullmatch(name) is not None
        self.attributes = []
        self.known = attributes_of(kind)
        kept = rest if _WORDS.fullmatch(rest) else ""
        self.current = Statement(
            action, kind, name if is_name else "", self.attributes, self.file, line, kept
        )
        if not is_name:
            self._report(
                "no-name",
                f"{word} names {f'{name[:80]!r}, which cannot be a name' if name else 'nothing'}; "
                "its attributes are lost",
                line,
                word,
                f"write `{word}: NAME`",
                Severity.ERROR,
            )
            return
        self.statements.append(self.current)
        if word not in SUBCOMMANDS:
            self._report(
                "unknown-statement",
                f"{word} is not a known statement; it is kept as written",
                line,
                word,
                None,
                Severity.INFO,
            )
        if not _NAME.fullmatch(name):
            self._warn(
                "name",
                f"{name[:80]!r} is not a valid Autosys name",
                line,
                word,
                "letters, digits and . _ # - @, at most 64",
            )
        if rest and not (action == "override" and rest == "delete"):
            self._warn(
                "after-name",
                f"what follows the name is not an attribute and {'is kept' if kept else 'was dropped'}: {rest[:60]!r}",
                line,
                word,
                "put an attribute name before it, or remove it",
            )

    def _report_mistyped_insert(self, text: str, line: int) -> None:
        """Report a line that was probably meant to insert a job: the job is lost, and its attributes as well."""
        meant = _MEANT.match(text)
        if meant is None or not _inserts(meant[1] or meant[2]):
            return
        message = f"{meant[0].strip()!r} does not insert a job; the attributes of {meant[3]} are lost or misassigned"
        hint = f"write `insert_job: {meant[3]}`"
        self.findings.append(
            Finding("jil/no-insert", Severity.ERROR, message, self.file, line, meant[3], None, hint)
        )

    def _warn(self, rule: str, message: str, line: int, attribute: str | None, hint: str) -> None:
        self._report(rule, message, line, attribute, hint, Severity.WARNING)

    def _report(self, rule: str, message: str, line: int, attribute: str | None, hint: str | None,
              severity: Severity) -> None:  # fmt: skip
        subject = self.current.name if self.current is not None and self.current.name else None
        self.findings.append(
            Finding(f"jil/{rule}", severity, message, self.file, line, subject, attribute, hint)
        )


@cache
def _inserts(word: str) -> bool:
    """Return True if a word is `insert_job` except for a typing error."""
    spelt = word.lower().replace("-", "_").replace(" ", "_")
    return SequenceMatcher(None, spelt, "insert_job").ratio() >= _ALIKE
