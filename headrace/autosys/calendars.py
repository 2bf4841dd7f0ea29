"""Calendars as `autocal_asc` exports them: standard (dates), cycles (periods) and extended (rules)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import TypeVar

from headrace.autosys.findings import Finding
from headrace.autosys.jil.scanner import NOISE
from headrace.autosys.stanzas import uninterpreted
from headrace.severity import Severity


@dataclass(frozen=True, slots=True)
class Standard:
    """A list of dates, each with the times of day in the calendar (midnight if it has none)."""

    name: str
    days: Mapping[date, tuple[time, ...]]
    description: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Cycle:
    """Periods, with first and last day of each, inclusive."""

    name: str
    periods: tuple[tuple[date, date], ...]
    description: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class ExtendedCalendar:
    """Rules that generate dates; `headrace.autosys.extended_calendars` evaluates those with a certain meaning.

    fields: the record as exported, by name; a field given more than once has all its values, in order.
    """

    name: str
    fields: Mapping[str, tuple[str, ...]]
    file: str = ""
    line: int = 0

    def get(self, name: str) -> str:
        """Return the field's last value; empty if it has none."""
        return (self.fields.get(name) or ("",))[-1].strip()


Calendar = Standard | ExtendedCalendar
Named = TypeVar("Named", Standard | ExtendedCalendar, Cycle)


@dataclass(frozen=True, slots=True)
class Calendars:
    """The contents of exports, by name. Findings: parts that could not be parsed."""

    calendars: Mapping[str, Calendar] = field(default_factory=dict)
    cycles: Mapping[str, Cycle] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


_RECORD = re.compile(r"(calendar|cycle|extended_calendar|ext_calendar)\s*:\s*(.*)", re.IGNORECASE)
_FIELD = re.compile(
    r"(description|start_date|end_date|workday|non_workday|holiday|holcal|cyccal|adjust|condition|timezone)\s*:\s*(.*)",
    re.IGNORECASE,
)
_DAY = re.compile(r"(\d{1,4})[/-](\d{1,2})[/-](\d{1,4})(?:\s+(\d{1,2}):(\d\d)(?::(\d\d))?)?")
_COMMENTS = ("#", "/*")
_COMMENT = re.compile(r"(?<!\S)/\*.*?\*/(?!\S)", re.DOTALL)
_STATEMENT = re.compile(r"(?:insert|update|delete|override|rename|modify)_[a-z]\w*[ \t]*:")
# They begin with a newline, by which the text of a large estate is searched fast.
_BEGINS_RECORD = re.compile(
    r"\n[ \t]*(?:calendar|cycle|extended_calendar|ext_calendar)[ \t]*:[ \t]*\S*[ \t]*(?=\n|\Z)", re.IGNORECASE
)
_BEGINS_STATEMENT = re.compile(rf"\n[ \t]*{_STATEMENT.pattern}")
_LOOKAHEAD = 2000  # characters
_ORDERS = {"mdy": (2, 0, 1), "dmy": (2, 1, 0), "ymd": (0, 1, 2)}


def separated(text: str) -> tuple[str, str]:
    """Split a text into its JIL and its calendar export, each with blank lines in place of the other.

    The export is the records of calendars and cycles, each up to the next statement of JIL.
    """
    hidden = uninterpreted(text) if _BEGINS_RECORD.search(f"\n{text}") else []
    jil: list[str] = []
    export: list[str] = []
    end = 0
    for found in _BEGINS_RECORD.finditer(f"\n{text}"):
        start = found.start()  # of the line, as the text is one character longer here
        if (
            start < end
            or any(first <= start < last for first, last in hidden)
            or not _is_record(text, found.end())
        ):
            continue
        statement = _BEGINS_STATEMENT.search(text, start)
        jil.append(text[end:start])
        export.append("\n" * jil[-1].count("\n"))
        end = statement.start() + 1 if statement else len(text)
        export.append(text[start:end])
        jil.append("\n" * export[-1].count("\n"))
    return "".join([*jil, text[end:]]), "".join(export)


def _is_record(text: str, position: int) -> bool:
    """Return True if what follows the first line of a record, apart from comments, may belong to one."""
    following = _COMMENT.sub("", text[position : position + _LOOKAHEAD])
    line = next(
        (line.strip() for line in following.split("\n") if line.strip() and line.strip()[0] != "#"), ""
    )
    return not line or any(pattern.match(line) for pattern in (_DAY, _FIELD, _RECORD, _STATEMENT, NOISE))


def read_calendars(text: str, file: str) -> Calendars:
    """Parse the calendars and cycles of an export with LF line endings.

    An instance can be configured to write dates in another order than month/day/year: the order that fits most dates of
    the file is used, with a finding if it is not the vendor's, or if another fits as well. A date that fits no order is
    a finding and is ignored. Prompts and commands of a terminal are ignored.
    """
    findings: list[Finding] = []
    text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    lines = ["" if NOISE.match(line.strip()) else line for line in text.split("\n")]
    order = _order(lines, file, findings)
    calendars: dict[str, Calendar] = {}
    cycles: dict[str, Cycle] = {}
    for start, end in _records(lines, file, findings):
        head = _RECORD.match(lines[start].strip())
        if head is None:  # _records only yields known record types
            continue
        record = _Record(file, order, findings, start + 1)
        for number in range(start + 1, end):
            record.take(lines[number].strip(), number + 1)
        kind, name = head[1].lower(), head[2].strip().strip('"')
        if not name:
            findings.append(
                Finding(
                    "calendar/no-name",
                    Severity.ERROR,
                    f"{kind} has no name and is ignored",
                    file,
                    start + 1,
                    hint=f"write `{kind}: NAME`",
                )
            )
        elif kind == "calendar":
            days = {day: tuple(sorted(times)) for day, times in sorted(record.days.items())}
            _put(calendars, Standard(name, days, record.get("description"), file, start + 1), findings)
        elif kind == "cycle":
            _put(cycles, Cycle(name, record.periods(), record.get("description"), file, start + 1), findings)
        else:
            fields = {each: tuple(values) for each, values in record.fields.items()}
            _put(calendars, ExtendedCalendar(name, fields, file, start + 1), findings)
    return Calendars(calendars, cycles, tuple(findings))


def records(text: str, export: Calendars, file: str) -> dict[tuple[str, int], str]:
    """Return the original text of each calendar and cycle of an export, by file and line."""
    lines = text.split("\n")
    starts = sorted(each.line for each in (*export.calendars.values(), *export.cycles.values()))
    ends = [*(start - 1 for start in starts), len(lines)][1:]
    return {
        (file, start): "\n".join(lines[start - 1 : end]).rstrip() + "\n"
        for start, end in zip(starts, ends, strict=True)
    }


def merged(parts: Iterable[Calendars]) -> Calendars:
    """Merge several exports; of two calendars with the same name the later one counts, with a finding."""
    calendars: dict[str, Calendar] = {}
    cycles: dict[str, Cycle] = {}
    findings: list[Finding] = []
    for part in parts:
        findings += part.findings
        for calendar in part.calendars.values():
            _put(calendars, calendar, findings)
        for cycle in part.cycles.values():
            _put(cycles, cycle, findings)
    return Calendars(calendars, cycles, tuple(findings))


def _put(there: dict[str, Named], new: Named, findings: list[Finding]) -> None:
    before = there.get(new.name)
    if before is not None:
        message = f"also defined at {before.file}:{before.line}; this one counts"
        findings.append(
            Finding("calendar/duplicate", Severity.WARNING, message, new.file, new.line, new.name)
        )
    there[new.name] = new


def _records(lines: list[str], file: str, findings: list[Finding]) -> Iterable[tuple[int, int]]:
    starts = [number for number, line in enumerate(lines) if _RECORD.match(line.strip())]
    for number in range(starts[0] if starts else len(lines)):
        if lines[number].strip():
            findings.append(
                Finding(
                    "calendar/stray-line",
                    Severity.WARNING,
                    f"this line comes before any calendar and was skipped: {lines[number].strip()[:60]!r}",
                    file,
                    number + 1,
                )
            )
            break
    return zip(starts, [*starts[1:], len(lines)], strict=True)


def _order(lines: list[str], file: str, findings: list[Finding]) -> str:
    dates = [found.group(1, 2, 3) for line in lines if (found := _DAY.search(line))]
    fitting = {order: sum(_date(each, order) is not None for each in dates) for order in _ORDERS}
    best = max(_ORDERS, key=lambda order: fitting[order])  # the first of equal ones, which is the vendor's
    message = None
    if best == "dmy":
        message = (
            "dates were read as day/month/year, which fits more of them than the vendor's month/day/year"
        )
    elif fitting["mdy"] == fitting["dmy"] and any(_date(each, "mdy") != _date(each, "dmy") for each in dates):
        message = (
            "dates were read as month/day/year, as the vendor writes them; day/month/year would fit as well"
        )
    if message is not None:
        findings.append(Finding("calendar/date-order", Severity.INFO, message, file, 0))
    return best


def _date(parts: tuple[str, ...], order: str) -> date | None:
    year, month, day = (parts[position] for position in _ORDERS[order])
    if len(year) != 4:
        return None
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


class _Record:
    """The lines of one record, as they are read."""

    def __init__(self, file: str, order: str, findings: list[Finding], line: int) -> None:
        self.file, self.order, self.findings, self.line = file, order, findings, line
        self.days: dict[date, set[time]] = {}
        self.fields: dict[str, list[str]] = {}
        self._starts: list[tuple[date | None, int]] = []
        self._ends: list[date | None] = []

    def get(self, name: str) -> str:
        return " ".join(self.fields.get(name, [])).strip().strip('"')

    def take(self, line: str, number: int) -> None:
        if not line or line.startswith(_COMMENTS):
            return
        found = _FIELD.match(line)
        if found is None:
            self._take_days(line, number)
            return
        name, value = found[1].lower(), found[2].strip()
        if name == "start_date":
            self._starts.append((self._day(value, number), number))
        elif name == "end_date":
            self._ends.append(self._day(value, number))
        else:
            self.fields.setdefault(name, []).append(value)

    def periods(self) -> tuple[tuple[date, date], ...]:
        periods: list[tuple[date, date]] = []
        for position, (start, number) in enumerate(self._starts):
            end = self._ends[position] if position < len(self._ends) else None
            if start is None or end is None or end < start:
                self._lost(number, "a period needs a start_date and an end_date that is not before it")
            else:
                periods.append((start, end))
        return tuple(sorted(periods))

    def _take_days(self, line: str, number: int) -> None:
        for part in filter(None, map(str.strip, line.split(","))):
            found = _DAY.fullmatch(part)
            day = self._day(part, number) if found else None
            if found is None:
                self._lost(number, f"{part[:40]!r} is neither a date nor a field of a calendar")
            elif day is not None:
                hour, minute = int(found[4] or 0), int(found[5] or 0)
                if hour < 24 and minute < 60:
                    self.days.setdefault(day, set()).add(time(hour, minute))
                else:
                    self._lost(number, f"{part!r} has no such time of day")

    def _day(self, text: str, number: int) -> date | None:
        found = _DAY.match(text)
        day = _date(found.group(1, 2, 3), self.order) if found else None
        if day is None:
            self._lost(number, f"{text[:40]!r} is not a date written {'/'.join(self.order)}")
        return day

    def _lost(self, number: int, message: str) -> None:
        self.findings.append(
            Finding(
                "calendar/date",
                Severity.ERROR,
                message,
                self.file,
                number,
                hint="this entry is ignored; the rest of the calendar is read",
            )
        )
