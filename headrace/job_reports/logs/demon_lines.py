"""Lines of an event demon's log about jobs, and the instants of their local times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from headrace.autosys.clocks import possible

_TIME = re.compile(r"\[?(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)(?:\.\d+)?\]?")
_EVENT = re.compile(r"\bCAUAJM_I_40245\s+EVENT:\s*(\S+)\s*(.*)")
_CONNECTED = re.compile(r"\bCAUAJM_I_10082\s+\[(\S+) connected for (?!KILLJOB\b)(\S+) (\d+)\.(\d+)\.(\d+)\]")
_CONNECTION = re.compile(r"\bCAUAJM_I_10082\s.*\bconnected for (?!KILLJOB\b)")
_IDLE = re.compile(r"(?:JOB_)?(ON|OFF)_(ICE|NOEXEC)")
_LABEL = re.compile(r"\b(STATUS|ALARM|JOB|MACHINE|EXITCODE|GLOBAL):[ \t]*")
_OUT_OF_ORDER = timedelta(minutes=5)  # lines of two threads of the demon may be swapped


@dataclass(frozen=True, slots=True)
class StatusLine:
    """A status change of a job."""

    at: datetime
    job: str
    status: str
    machine: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class NumberLine:
    """The start of a job on a machine: the only line with the run number."""

    at: datetime
    job: str
    machine: str
    joid: int
    run: int
    ntry: int


@dataclass(frozen=True, slots=True)
class IdleLine:
    """A job was put on ice or noexec, or taken off. It may repeat an old state."""

    at: datetime
    job: str
    on: bool
    ice: bool
    machine: None = None


class WrongLine(ValueError):
    """An invalid line about a job; the message says which part."""


class Clock:
    """The instants of the local times of a log, whose lines are ordered by time.

    In the hour repeated when the clocks go back, the second pass begins with a time earlier than the one before. A log
    without lines around that point does not show it, and such times count as of the first pass.
    """

    def __init__(self, zone: tzinfo, last: datetime | None = None) -> None:
        self.zone = zone
        self.last = last

    def instant(self, local: datetime) -> datetime:
        """Convert a naive local time to UTC. Raises ImpossibleTime, and ignores such a time afterwards."""
        first, second = (local.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        is_repeated = second > first and self.last is not None and first < self.last - _OUT_OF_ORDER
        result = possible(second if is_repeated else first)
        if self.last is None or result > self.last:
            self.last = result
        return result


def parse(line: str, clock: Clock) -> StatusLine | NumberLine | IdleLine | None:
    """Parse a line about a job; None for any other line. Raises WrongLine."""
    time = _TIME.match(line)
    if time is None:
        if "CAUAJM_I_40245" in line and "CHANGE_STATUS" in line:
            raise WrongLine("the line has no time such as [11/26/2026 21:55:01]")
        return None
    try:
        month, day, year, hour, minute, second = map(int, time.groups())
        at = clock.instant(datetime(year, month, day, hour, minute, second))  # noqa: DTZ001 - the clock knows the zone
    except (ValueError, OverflowError) as error:
        raise WrongLine(f"{time[0]} is not a time of this log: {error}") from error
    if found := _CONNECTED.search(line, time.end()):
        machine, job, joid, run, ntry = found.groups()
        return NumberLine(at, job, machine, int(joid), int(run), int(ntry))
    if _CONNECTION.search(line, time.end()):
        raise WrongLine(
            "the start on a machine has no run number such as [unxhost01 connected for JOB 5.1620.1]"
        )
    event = _EVENT.search(line, time.end())
    if event is None:
        return None
    labels = _labels(event[2])
    if event[1] == "BYPASS" and labels.get("JOB"):
        return IdleLine(at, labels["JOB"], on=True, ice=False)
    if (idle := _IDLE.fullmatch(event[1])) and labels.get("JOB"):
        return IdleLine(at, labels["JOB"], on=idle[1] == "ON", ice=idle[2] == "ICE")
    if event[1] != "CHANGE_STATUS":
        return None
    if not labels.get("JOB") or not labels.get("STATUS"):
        raise WrongLine(f"{'JOB' if labels.get('STATUS') else 'STATUS'} is missing")
    code = labels.get("EXITCODE")
    if code and not re.fullmatch(r"-?\d{1,9}", code):
        raise WrongLine(f"EXITCODE {code!r} is not a number")
    return StatusLine(
        at, labels["JOB"], labels["STATUS"], labels.get("MACHINE") or None, int(code) if code else None
    )


def _labels(text: str) -> dict[str, str]:
    """Return the values by label, with any blanks between them; the first word after each is the value."""
    parts = _LABEL.split(text)
    return {
        label: value.split()[0] if value.split() else ""
        for label, value in zip(parts[1::2], parts[2::2], strict=True)
    }
