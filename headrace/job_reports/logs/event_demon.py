"""Read the event demon's log while it grows or from archived files, across rotation, in time order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel

from headrace.autosys.findings import Finding
from headrace.autosys.statuses import UnknownStatus
from headrace.catalog.run_events import RunEvent
from headrace.job_reports.logs.demon_files import (
    IDENTIFYING_BYTES,
    begins_at,
    first_bytes,
    in_order,
    instance_of,
    is_copy,
)
from headrace.job_reports.logs.demon_lines import WrongLine
from headrace.job_reports.logs.demon_runs import DemonRuns, DemonState, JobState
from headrace.severity import Severity

_BLOCK = 1 << 20
_COMPRESSED = {".gz", ".Z", ".bz2", ".xz", ".zst", ".zip"}
_OUT_OF_ORDER = timedelta(minutes=5)  # the demon's threads write concurrently, also at midnight
_NUMBERED = timedelta(
    seconds=30
)  # after which the number of a run reported as running does not follow any more
_ROTATION = timedelta(days=1)  # a log that begins later than this after another is not the next one


# Returns the running attempts of a scheduler's jobs at an instant, by job.
Begun = Callable[[str, datetime], Mapping[str, JobState]]


def nothing_begun(_: str, __: datetime) -> Mapping[str, JobState]:
    """Return the state when running jobs are unknown."""
    return {}


class LogPosition(BaseModel):
    """A reader's position in a log, with its state: stored as JSON.

    fingerprint: of the first `identifying` bytes. line: the number of lines before `offset`.
    """

    identifying: int = 0
    fingerprint: str = ""
    offset: int = 0
    line: int = 0
    runs: DemonState = DemonState()


@dataclass(slots=True)
class LogRead:
    """The contents of a piece of a log."""

    events: list[RunEvent] = field(default_factory=list)
    errors: list[Finding] = field(default_factory=list)


class DemonLog:
    """A log of an event demon, read from a position on.

    zone: of the server that writes it. instance: the scheduler's name; from a name such as `event_demon.ACE`.
    """

    def __init__(
        self,
        path: Path,
        zone: tzinfo,
        position: LogPosition | None = None,
        *,
        instance: str | None = None,
        historical: bool = False,
    ) -> None:
        self.path = path
        self._zone = zone
        self.position = position or LogPosition()
        here = instance_of(path.name) if instance is None else instance
        self._runs = DemonRuns(zone, here, historical, self.position.runs)

    def read(self) -> Iterator[LogRead]:
        """Yield the new content, a piece at a time; `position` is then after the piece.

        An incomplete line is left for the next call. If the log was rotated, however often, the rest of the old file
        comes first and then the logs after it, as far as they still exist next to the new one; a warning is raised if
        the old file does not. Raises FileNotFoundError for a missing log.
        """
        if self.position.identifying and not self._is_same(self.path):
            beside = [path for path in self._rotated() if not is_copy(path, self.path)]
            rotated = in_order(beside)
            old = next((path for path in rotated if self._is_same(path)), None)
            begun = b"\n" in first_bytes(self.path)
            if old is not None:
                yield from self.rest(old, finished=begun)
            if not begun and (old is not None or self.path.exists()):
                return  # the new log is still empty, and until then the position can only be in the old one
            lost = [self._compressed(path) for path in self._unreadable(beside)]
            if old is not None:
                rotated = rotated[rotated.index(old) + 1 :]
            else:
                rotated = [path for path in rotated if self._begins_later(path)]
                lost.insert(0, self._gone(rotated))
            if lost:
                yield LogRead(errors=lost)
                self._runs.interrupted()
            for path in rotated:
                self._restart()
                yield from self.rest(path, finished=True)
            self._restart()
        yield from self.rest(self.path)

    def rest(self, path: Path, *, finished: bool = False) -> Iterator[LogRead]:
        """Yield the content after the position. finished: the file is complete, even without a final line feed."""
        with path.open("rb") as file:
            file.seek(self.position.offset)
            left = b""
            while block := file.read(_BLOCK):
                whole, newline, left = (left + block).rpartition(b"\n")
                if newline:
                    yield self._lines(whole + newline, path, file.fileno())
            if finished and left:
                yield self._lines(left, path, file.fileno())
        if settled := self._runs.settled(datetime.now(UTC) - _NUMBERED):
            yield LogRead(settled)

    def _rotated(self) -> Iterator[Path]:
        """Yield the files next to the log whose names extend its name, except for those of other schedulers."""
        for path in self.path.parent.iterdir():
            name, more = path.name[: len(self.path.name)], path.name[len(self.path.name) :]
            if name == self.path.name and more and not more[0].isalnum() and path.is_file():
                yield path

    def _begins_later(self, path: Path) -> bool:
        """Return True if a log begins after the last line that was read."""
        begins, last = begins_at(path, self._zone), self.position.runs.last
        return last is None or (begins is not None and begins >= last - _OUT_OF_ORDER)

    def _unreadable(self, beside: Sequence[Path]) -> list[Path]:
        """Return the compressed files written after the last read line, whose content is not in another file."""
        last = self.position.runs.last
        return [
            path
            for path in sorted(beside)
            if path.suffix in _COMPRESSED
            and path.with_suffix("") not in beside
            and (last is None or path.stat().st_mtime >= last.timestamp())
        ]

    def _compressed(self, path: Path) -> Finding:
        return Finding(
            "log/rotation",
            Severity.WARNING,
            "the log was rotated and compressed before it was read completely: its events may be missing",
            str(path),
            0,
            hint="decompress it elsewhere and load it with `headrace legacy ingest`",
        )

    def _gone(self, rotated: Sequence[Path]) -> Finding:
        last = self.position.runs.last
        return Finding(
            "log/rotation",
            Severity.WARNING,
            f"the file that was read up to {f'{last:%Y-%m-%d %H:%M:%S} UTC' if last else 'its first lines'} no longer "
            "exists next to the log: later lines of it may be missing. Continuing with "
            + ", ".join(path.name for path in [*rotated, self.path]),
            str(self.path),
            0,
            hint="if that file is elsewhere, load it with `headrace legacy ingest`",
        )

    def _is_same(self, path: Path) -> bool:
        """Return True if a file is the one that was read: it begins with the same bytes, and is not shorter."""
        try:
            with path.open("rb") as file:
                beginning = file.read(self.position.identifying)
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return False
        return size >= self.position.offset and sha256(beginning).hexdigest() == self.position.fingerprint

    def _restart(self) -> None:
        self.position.offset = self.position.line = 0
        self.position.identifying = 0

    def _lines(self, data: bytes, path: Path, descriptor: int) -> LogRead:
        found = LogRead()
        for line in data.split(b"\n"):
            self.position.line += 1
            if not line.strip():
                continue
            place = f"{path}:{self.position.line}"
            try:
                text = line.decode("utf-8", errors="replace").replace("\x00", "\ufffd")
                found.events += self._runs.read(text, place)
            except (WrongLine, UnknownStatus) as error:
                found.errors.append(
                    Finding("log/line", Severity.ERROR, str(error), str(path), self.position.line)
                )
        if unbegun := self._runs.take_unstarted():
            found.errors.append(_unstarted(path, unbegun))
        if data.endswith(b"\n"):
            self.position.line -= 1  # there is no line after the last line feed
        self.position.offset += len(data)
        if self.position.offset > self.position.identifying < IDENTIFYING_BYTES:
            beginning = os.pread(descriptor, min(IDENTIFYING_BYTES, self.position.offset), 0)
            self.position.identifying = len(beginning)
            self.position.fingerprint = sha256(beginning).hexdigest()
        self._runs.forget()
        self.position.runs = self._runs.state
        return found


def _unstarted(path: Path, jobs: Sequence[str]) -> Finding:
    return Finding(
        "log/beginning",
        Severity.WARNING,
        f"{len(jobs)} ended here without a known start, so each end is a separate run: "
        + ", ".join(jobs[:10])
        + (" ..." if len(jobs) > 10 else ""),
        str(path),
        0,
        hint="load the log before it first, or together with it",
    )


def read_kept(
    paths: Sequence[Path],
    zone: tzinfo,
    *,
    instance: str | None = None,
    historical: bool = False,
    begun: Begun = nothing_begun,
) -> Iterator[tuple[Path, LogRead]]:
    """Yield the contents of log files in time order, a piece at a time with its file.

    Files of one scheduler are one log: a run that is active at the end of one continues in the next, unless the next
    begins before the end of the one before it or more than a day after it, since then they are not consecutive; `begun`
    then returns the running attempts. Of copies only the longest is read. Raises OSError.
    """
    logs: dict[str, list[Path]] = {}
    for path in paths:
        logs.setdefault(instance_of(path.name) if instance is None else instance, []).append(path)
    for name, files in logs.items():
        state = DemonState()
        ordered = in_order(files)
        for path in ordered:
            begins = begins_at(path, zone)
            if begins is None or state.last is None or not _are_neighbours(state.last, begins):
                state = first_state(path, zone, name, begun, state)
            log = DemonLog(path, zone, LogPosition(runs=state), instance=name, historical=historical)
            for piece in log.rest(path, finished=path != ordered[-1]):
                yield path, piece
            state = log.position.runs


def first_state(
    path: Path, zone: tzinfo, instance: str, begun: Begun, before: DemonState | None = None
) -> DemonState:
    """Return the state at the first line of a log without a predecessor: the attempts that `begun` reports as
    running."""
    begins = begins_at(path, zone)
    jobs = dict(begun(instance, begins)) if begins is not None else {}
    known = {name for name, job in jobs.items() if job.machine}
    state = before.lasting() if before is not None else DemonState()
    return state.model_copy(update={"jobs": jobs, "on_machines": known | state.on_machines})


def _are_neighbours(last: datetime, begins: datetime) -> bool:
    return last - _OUT_OF_ORDER <= begins <= last + _ROTATION
