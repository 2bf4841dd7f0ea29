"""Assign each line of an event demon's log to a run and attempt of its job."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from pydantic import BaseModel

from headrace.autosys.statuses import ENDED, Meaning, meaning
from headrace.catalog.records import RunState, Technology
from headrace.catalog.run_events import Ending, RunEvent
from headrace.job_reports.completions.reports import key_of
from headrace.job_reports.logs.demon_lines import Clock, IdleLine, NumberLine, StatusLine, parse

_REMEMBERED = timedelta(days=2)  # later status lines after its end belong to a separate run
_BEFORE_A_START = {"ACTIVATED", "QUE_WAIT", "PEND_MACH", "RESWAIT", "STARTING"}


class JobState(BaseModel):
    """The last run of a job that began.

    run: its number, or its start time if no line has a number. waiting: events before either was known. machine: never
    set for a box. running: the next start is another run. idle: it started on noexec.
    """

    run: str | None = None
    attempt: int = 1
    began: datetime | None = None
    machine: str | None = None
    ended: datetime | None = None
    restarts: bool = False
    waiting: list[tuple[datetime, str, str]] = []
    running: bool = False
    idle: bool = False


class DemonState(BaseModel):
    """The state needed to continue reading a log.

    on_machines: the jobs that ran on a machine, which are therefore not boxes. on_ice, on_noexec: the jobs last
    reported as such.
    """

    last: datetime | None = None
    jobs: dict[str, JobState] = {}
    on_machines: set[str] = set()
    on_ice: set[str] = set()
    on_noexec: set[str] = set()

    def lasting(self) -> DemonState:
        """Return the state of the jobs that is still valid if a part of the log is missing."""
        return DemonState(on_machines=self.on_machines, on_ice=self.on_ice, on_noexec=self.on_noexec)


@dataclass(slots=True)
class DemonRuns:
    """Reads the lines of one scheduler's log in order.

    zone: of the server that writes the log. instance: the scheduler's name. state: of an earlier reader.
    """

    zone: tzinfo
    instance: str = ""
    historical: bool = False
    state: DemonState = field(default_factory=DemonState)
    _clock: Clock = field(init=False)
    _unstarted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clock = Clock(self.zone, self.state.last)

    def read(self, line: str, origin: str) -> list[RunEvent]:
        """Return the events that are certain after this line. Raises WrongLine, UnknownStatus; the next line may be
        read."""
        reported = parse(line, self._clock)
        self.state.last = self._clock.last
        if reported is None:
            return []
        if reported.machine:
            self.state.on_machines.add(reported.job)
        if isinstance(reported, IdleLine):
            self._put(reported.job, on=reported.on, ice=reported.ice)
            return []
        if isinstance(reported, NumberLine):
            return self._numbered(reported)
        word = reported.status.upper()
        found = meaning(word)
        job = self.state.jobs.get(reported.job)
        if job is not None and job.running and self._starts(reported.job, word):
            del self.state.jobs[reported.job]
            return [
                *self._known(reported.job, job, reported.at),
                *self._changed(reported, word, found, origin),
            ]
        return self._changed(reported, word, found, origin)

    def settled(self, until: datetime) -> list[RunEvent]:
        """Return the events of jobs reported as running by then, whose number will not follow any more."""
        events = []
        for name, job in self.state.jobs.items():
            if job.running and job.waiting and job.waiting[-1][0] <= until:
                events += self._known(name, job, job.waiting[-1][0])
        return events

    def _changed(self, reported: StatusLine, word: str, found: Meaning | None, origin: str) -> list[RunEvent]:
        job = self.state.jobs.get(reported.job)
        if job is not None and self._did_not_start(job, word, found):
            del self.state.jobs[reported.job]
            job = None
        if found is None:
            self.state.on_ice.discard(reported.job)
            return []
        if found.state is RunState.SKIPPED:
            self._put(reported.job, on=True, ice=word == "ON_ICE")
        if found.state is RunState.SKIPPED or word == "ON_HOLD":
            return [self._event(reported.job, JobState(), reported, word, found, origin, run=None)]
        if word == "RESTART":
            return self._restart(reported, found, origin)
        if found.state in ENDED:
            return self._end(reported, found, origin)
        self.state.on_ice.discard(reported.job)
        if word in _BEFORE_A_START:
            if word == "STARTING" and reported.machine:
                self.state.on_noexec.discard(reported.job)
            self._begin(reported).waiting.append((reported.at, word, origin))
            return []
        current = self._begin(reported) if job is None or (job.ended and not job.running) else job
        if not current.running:
            current.running = found.state is RunState.RUNNING
            current.idle = reported.job in self.state.on_noexec
        if current.run is None and current.running and reported.job in self.state.on_machines:
            current.machine = reported.machine or current.machine
            current.waiting.append((reported.at, word, origin))  # the line with its number may follow
            return []
        return [
            *self._known(reported.job, current, reported.at),
            self._event(reported.job, current, reported, word, found, origin),
        ]

    def take_unstarted(self) -> list[str]:
        """Return the jobs with an end since the last call, and never a start."""
        jobs, self._unstarted = self._unstarted, []
        return jobs

    def forget(self) -> None:
        """Drop runs that ended long ago."""
        if self.state.last is None:
            return
        limit = self.state.last - _REMEMBERED
        self.state.jobs = {
            name: job for name, job in self.state.jobs.items() if job.ended is None or job.ended > limit
        }

    def interrupted(self) -> None:
        """Handle a gap in the log: after an end, another run may have started since."""
        self.state.jobs = {name: job for name, job in self.state.jobs.items() if job.ended is None}

    def _starts(self, name: str, word: str) -> bool:
        """Return True if a status begins a run. RUNNING may be repeated for a job, and begins one only for a box."""
        return word in _BEFORE_A_START or (word == "RUNNING" and name not in self.state.on_machines)

    def _put(self, name: str, *, on: bool, ice: bool) -> None:
        """Put the job on ice or noexec, or take it off."""
        jobs = self.state.on_ice if ice else self.state.on_noexec
        (jobs.add if on else jobs.discard)(name)

    def _did_not_start(self, job: JobState, word: str, found: Meaning | None) -> bool:
        """Return True if a job that waited in the last run of its box, or was to be repeated there, ended without a
        start."""
        if word == "ACTIVATED" and job.restarts:
            return True
        waits = job.run is None and not job.running
        idles = found is None or found.state is RunState.SKIPPED or word in ("ON_HOLD", "ACTIVATED")
        return waits and idles

    def _begin(self, reported: StatusLine | NumberLine) -> JobState:
        """Return the run that is about to start or running; a new one after an end, unless that is to be repeated."""
        job = self.state.jobs.get(reported.job)
        if job is None or (job.ended is not None and not job.restarts):
            job = self.state.jobs[reported.job] = JobState(began=reported.at)
        elif job.ended is not None:
            job.ended, job.restarts = None, False
        if reported.machine:
            job.machine = reported.machine
        return job

    def _numbered(self, reported: NumberLine) -> list[RunEvent]:
        self.state.on_ice.discard(reported.job)
        self.state.on_noexec.discard(reported.job)
        job = self._begin(reported)
        if job.run is not None and job.run != str(reported.run) and not job.run.startswith("@"):
            job = JobState(began=reported.at, machine=reported.machine, waiting=job.waiting)
            self.state.jobs[reported.job] = job
        job.attempt = max(reported.ntry, 1)
        job.run = job.run or str(reported.run)
        return self._known(reported.job, job, reported.at)

    def _known(self, name: str, job: JobState, at: datetime) -> list[RunEvent]:
        """Return the events that waited for a run number. A run without one is identified by its start time."""
        if job.run is None:
            job.began = job.began or at
            job.run = f"@{job.began.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        waiting, job.waiting = job.waiting, []
        events = []
        for moment, word, origin in waiting:
            found = meaning(word)
            assert found is not None  # noqa: S101 - it was looked up before
            line = StatusLine(moment, name, word, job.machine, None)
            events.append(self._event(name, job, line, word, found, origin))
        return events

    def _restart(self, reported: StatusLine, found: Meaning, origin: str) -> list[RunEvent]:
        """Mark the run for repetition: the next start is its next attempt."""
        job = self.state.jobs.get(reported.job)
        if job is None:
            return []
        known = self._known(reported.job, job, reported.at)
        job.running = False
        if job.ended is not None:
            job.attempt += 1
            job.restarts = True
        return [*known, self._event(reported.job, job, reported, "RESTART", found, origin)]

    def _end(self, reported: StatusLine, found: Meaning, origin: str) -> list[RunEvent]:
        job = self.state.jobs.get(reported.job)
        word = reported.status.upper()
        alone = found.state is RunState.SUCCESS and not reported.machine
        if job is not None and job.running and not job.ended:
            idle = alone and job.idle
        else:
            idle = alone and (reported.job in self.state.on_ice or reported.job in self.state.on_noexec)
        over = job is not None and job.ended is not None and not job.restarts and not idle
        if job is not None and over and not reported.machine:
            # It had ended: an operator overrides that.
            return [
                self._event(
                    reported.job, job, reported, word, Meaning(found.state, Ending.FORCED), origin, attempt=0
                )
            ]
        # `sendevent` leaves no machine, and neither does the end of a box. A success without a machine is set by hand
        # only if the job is known to run on one; a missing start line does not show who ended it.
        by_hand = alone and not idle and reported.job in self.state.on_machines
        reason = None
        if job is None and not by_hand and not idle:
            self._unstarted.append(reported.job)
            reason = "when it began is not known"
        if job is None or not over:
            job = self._begin(reported)
        events = self._known(reported.job, job, reported.at)
        if by_hand:
            found = Meaning(found.state, Ending.FORCED)
        elif idle:
            found = Meaning(RunState.SKIPPED, Ending.BYPASSED)
        attempt = 0 if by_hand else job.attempt
        events.append(
            self._event(reported.job, job, reported, word, found, origin, attempt=attempt, reason=reason)
        )
        job.ended = reported.at
        if reported.machine or reported.job not in self.state.on_machines:
            job.running = False  # otherwise its machine has yet to report its end
        return events

    def _event(
        self,
        name: str,
        job: JobState,
        reported: StatusLine,
        word: str,
        found: Meaning,
        origin: str,
        **given: Any,  # noqa: ANN401 - run, attempt, reason
    ) -> RunEvent:
        fields: dict[str, Any] = {
            "technology": Technology.AUTOSYS,
            "process": name,
            "state": found.state,
            "status": word,
            "at": reported.at,
            "instance": self.instance,
            "run": given.get("run", job.run),
            "attempt": given.get("attempt", job.attempt),
            "ending": found.ending,
            "exit_code": reported.exit_code,
            "machine": reported.machine,
        }
        payload = {"job": name, "status": word, "exit_code": reported.exit_code, "machine": reported.machine}
        return RunEvent(
            key=key_of(fields),
            payload=payload,
            origin=origin,
            historical=self.historical,
            reason=given.get("reason"),
            **fields,
        )
