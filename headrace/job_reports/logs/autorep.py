"""Reports of `autorep -J` and `autorep -d`: the last run of each job, as run events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from headrace.autosys.clocks import possible
from headrace.autosys.findings import Finding
from headrace.autosys.jil.text import decode
from headrace.autosys.statuses import ENDED, UnknownStatus, meaning
from headrace.catalog.records import RunState, Technology
from headrace.catalog.run_events import RunEvent
from headrace.job_reports.completions.reports import key_of
from headrace.severity import Severity

_DATE = r"\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}"
_TIME = rf"{_DATE} \d{{1,2}}:\d\d(?::\d\d)?"
_HEADER = re.compile(r"\s*Job Name\s+Last Start\s+Last End\s+ST", re.IGNORECASE)
_ROW = re.compile(
    rf"(?P<indent>\s*)(?P<name>\S.*?)?\s+(?:-{{2,}}|(?P<start>{_TIME}))\s+(?:-{{2,}}|(?P<end>{_TIME}))\s+"
    r"(?P<status>[A-Z_]+(?:/[A-Z_]+)?)(?:\s+(?P<run>\d+)(?:/(?P<ntry>\d+))?)?(?:\s+(?P<exit>-?\d+))?"
    r"(?:\s+\(?[A-Za-z][\w/+-]*\)?)?\s*"  # a time zone in the last column
)
_DETAIL = re.compile(
    rf"\s*(?P<status>[A-Z_]+)\s+(?P<time>{_TIME})\s+(?P<ntry>\d+)\s+[A-Z]{{2}}(?:\s+{_TIME})?(?:\s+(?P<machine>\S+))?\s*"
)
_NOISE = re.compile(r"\s*(?:[_\s-]+|\([\w/+-]+\)|Status/\[Event\].*|\[[\w *]+\].*|)\s*")
_ALARM_FOLLOWS = re.compile(r"\s*\[\*+ *ALARM *\*+\]\s*")
_ALARM = re.compile(rf"\s*\w+\s+{_TIME}\b.*")
_REMARK = re.compile(r"\s*<(.*)>\s*")
_NO_JOB = re.compile(r"[\w.#@:-]+")


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report; errors: invalid lines."""

    events: tuple[RunEvent, ...]
    errors: tuple[Finding, ...]


@dataclass(slots=True)
class _Job:
    """A row, with the lines of its details."""

    line: int
    name: str
    box: str | None
    row: re.Match[str]
    details: list[tuple[int, re.Match[str], str | None]] = field(default_factory=list)


def is_report(text: str) -> bool:
    """Return True if a text looks like a report."""
    return any(_HEADER.match(line) for line in text.split("\n", 200)[:200])


def read_report(
    data: bytes, file: str, *, zone: tzinfo, instance: str = "", historical: bool = True
) -> Report:
    """Parse the runs in a report: the last one of each job, or those that `-d` lists.

    Jobs that never ran, and those with a status that is not about a run (ON_HOLD, INACTIVE), have no events.

    Args:
        data: the report, in any encoding.
        file: its path, for messages.
        zone: of its times: that of the machine on which `autorep` was called.
        instance: the scheduler's name.
        historical: the runs trigger no runs and no alerts.
    """
    text, _ = decode(data, file)
    errors: list[Finding] = []
    order = _order(text)
    events: list[RunEvent] = []
    for job in _jobs(text, file, errors):
        try:
            warning = _leave_out_earlier(job, file, order, zone)
            reported = list(_events(job, file, order, zone, instance))
        except (ValueError, UnknownStatus) as error:
            errors.append(Finding("report/row", Severity.ERROR, str(error), file, job.line, job.name))
            continue
        events += [replace(event, historical=historical) for event in reported]
        errors += warning
    return Report(tuple(events), tuple(errors))


def _jobs(text: str, file: str, errors: list[Finding]) -> Iterator[_Job]:
    """Yield the rows, from the header on; a name too long for its column is on a separate line before its row.

    Every other line is a known one, or an error: a row must not vanish.
    """
    boxes: list[tuple[int, str]] = []
    job: _Job | None = None
    wrapped: tuple[int, int, str] | None = None  # line, indent, name
    begun = is_alarm = False

    def lost(number: int, line: str) -> None:
        message = f"the line is not a row of a report: {line.strip()[:80]!r}"
        errors.append(Finding("report/row", Severity.ERROR, message, file, number))

    for number, line in enumerate(text.split("\n"), 1):
        begins = bool(_HEADER.match(line))
        row = _ROW.fullmatch(line)
        begun = begun or begins or (row is not None and row["name"] is not None)
        if begins or not begun:
            continue
        follows_alarm, is_alarm = is_alarm, bool(_ALARM_FOLLOWS.fullmatch(line))
        before, wrapped = wrapped, None
        if before is not None and (row is None or row["name"]):
            lost(before[0], before[2])
        if row is not None and (row["name"] or before):
            if job is not None:
                yield job
            indent, name = (len(row["indent"]), row["name"]) if row["name"] else (before or (0, 0, ""))[1:]
            boxes = [each for each in boxes if each[0] < indent]
            job = _Job(number, name, boxes[-1][1] if boxes else None, row)
            boxes.append((indent, name))
        elif follows_alarm and _ALARM.fullmatch(line):
            continue
        elif job is not None and (detail := _DETAIL.fullmatch(line)) and _is_known(detail["status"]):
            job.details.append((number, detail, None))
        elif job is not None and job.details and (remark := _REMARK.fullmatch(line)):
            at, detail, _ = job.details[-1]
            job.details[-1] = (at, detail, remark[1])
        elif _NO_JOB.fullmatch(line.strip()) and not _NOISE.fullmatch(line):
            wrapped = (number, len(line) - len(line.lstrip()), line.strip())
        elif not _NOISE.fullmatch(line):
            lost(number, line)
    if wrapped is not None:
        lost(wrapped[0], wrapped[2])
    if job is not None:
        yield job


def _is_known(status: str) -> bool:
    """Return True for a status or event of a detail line."""
    try:
        return status in _EVENTS or meaning(status) is not None or status == "INACTIVE"
    except UnknownStatus:
        return False


def _leave_out_earlier(job: _Job, file: str, order: str, zone: tzinfo) -> list[Finding]:
    """Remove the details of runs before that of the row, with a warning.

    Details from the row's start on are its own, and those before it belong to earlier attempts, each of which ended
    once.
    """
    if job.row["start"] is None:
        return []
    start = _instant(job.row["start"], order, zone)
    times = [_instant(detail["time"], order, zone) for _, detail, _ in job.details]
    first = next((number for number, time in enumerate(times) if time >= start), len(times))
    attempt = int(job.row["ntry"] or 1) or 1
    while first:
        detail = job.details[first - 1][1]
        ntry = int(detail["ntry"])
        found = meaning(detail["status"]) if detail["status"] not in _EVENTS else None
        if found is not None and found.ending is not None:
            if not 0 < ntry < attempt:
                break
            attempt = ntry
        elif ntry > attempt:
            break
        first -= 1
    earlier, job.details = job.details[:first], job.details[first:]
    if not earlier:
        return []
    message = (
        f"{len(earlier)} details are of runs before the one that began at {job.row['start']}, and are ignored"
    )
    return [Finding("report/details", Severity.WARNING, message, file, earlier[0][0], job.name)]


def _events(job: _Job, file: str, order: str, zone: tzinfo, instance: str) -> Iterator[RunEvent]:
    row = job.row
    found = meaning(row["status"], by_hand=row["ntry"] == "0")
    if not row["run"] or row["run"] == "0":
        return
    about = {"process": job.name, "box": job.box, "run": row["run"], "instance": instance}
    exit_code = int(row["exit"]) if row["exit"] else None
    attempt = int(row["ntry"] or 1)
    if job.details:
        for number, detail, remark in job.details:
            ntry = int(detail["ntry"])
            reported = (
                meaning(detail["status"], by_hand=ntry == 0) if detail["status"] not in _EVENTS else None
            )
            if reported is None:
                continue
            is_last = ntry == attempt and reported.ending is not None
            yield _event(
                about,
                f"{file}:{number}",
                state=reported.state,
                ending=reported.ending,
                status=detail["status"],
                at=_instant(detail["time"], order, zone),
                attempt=ntry,
                machine=detail["machine"],
                reason=remark,
                exit_code=exit_code if is_last else None,
            )
        return
    start = _instant(row["start"], order, zone) if row["start"] else None
    end = _instant(row["end"], order, zone) if row["end"] else None
    if start and end and end < start:  # the night with a repeated hour
        end = _instant(row["end"], order, zone, fold=1)
    origin = f"{file}:{job.line}"
    if (
        found is not None
        and (found.state in ENDED or "/" in row["status"])
        and found.ending
        and (end or start)
    ):
        yield _event(
            about,
            origin,
            state=found.state,
            ending=found.ending,
            status=row["status"],
            at=end or start,
            attempt=attempt,
            started_at=start,
            exit_code=exit_code,
        )
    elif found is not None and found.state is RunState.RUNNING and start:
        yield _event(about, origin, state=found.state, status=row["status"], at=start, attempt=attempt)


_EVENTS = {"ALARM", "STARTJOB", "FORCE_STARTJOB", "KILLJOB", "CHANGE_STATUS", "JOBFAILURE", "COMMENT"}


def _event(about: dict[str, Any], origin: str, **reported: Any) -> RunEvent:  # noqa: ANN401 - fields of the event
    fields = {"technology": Technology.AUTOSYS, **about, **reported}
    payload = {name: value for name, value in {**about, "status": reported["status"]}.items() if value}
    return RunEvent(key=key_of(fields), payload=payload, origin=origin, **fields)


def _instant(text: str, order: str, zone: tzinfo, fold: int = 0) -> datetime:
    """Convert a local time to UTC. order: of day, month and year in dates, as `mdy`."""
    date, _, time = text.partition(" ")
    parts = dict(zip(order, map(int, re.split(r"[/.-]", date)), strict=True))
    hour, minute, second = [*map(int, time.split(":")), 0][:3]
    year = parts["y"] + 2000 if parts["y"] < 100 else parts["y"]
    try:
        local = datetime(year, parts["m"], parts["d"], hour, minute, second, tzinfo=zone, fold=fold)
        return possible(local.astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is not a time: {error}") from error


def _order(text: str) -> str:
    """Return the date order: month, day, year as in Autosys, unless the report has dates that only fit another one."""
    dates = [re.split(r"[/.-]", date) for date in re.findall(_DATE, text)]
    if any(len(date[0]) == 4 for date in dates):
        return "ymd"
    return "dmy" if any(int(date[0]) > 12 for date in dates) else "mdy"
