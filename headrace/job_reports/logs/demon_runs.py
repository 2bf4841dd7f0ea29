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

_REMEMBERED = timedelta(days=2)  # what is said of a run later than this after its end is a run of its own
_BEFORE_A_START = {"ACTIVATED", "QUE_WAIT", "PEND_MACH", "RESWAIT", "STARTING"}


class JobState(BaseModel):
    """The run of a job that was the last to begin.

    run: its number, or the time at which it began where no line tells a number. waiting: what was said before either
    was known. machine: none is ever told of a box. running: so that what starts next is another run. idle: it began on
    noexec.
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
    """What has to be kept to go on reading a log where one stopped.

    on_machines: the jobs that a machine was ever told of, which are therefore no boxes. on_ice, on_noexec: the jobs of
    which that was said last.
    """

    last: datetime | None = None
    jobs: dict[str, JobState] = {}
    on_machines: set[str] = set()
    on_ice: set[str] = set()
    on_noexec: set[str] = set()

    def lasting(self) -> DemonState:
        """What is still known of the jobs where a part of the log is missing."""
        return DemonState(on_machines=self.on_machines, on_ice=self.on_ice, on_noexec=self.on_noexec)


@dataclass(slots=True)
class DemonRuns:
    """Reads the lines of one scheduler's log in their order.

    zone: of the server that writes the log. instance: the scheduler's name. state: where an earlier reader stopped.
    """

    zone: tzinfo
    instance: str = ""
    historical: bool = False
    state: DemonState = field(default_factory=DemonState)
    _clock: Clock = field(init=False)
    _unbegun: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clock = Clock(self.zone, self.state.last)

    def read(self, line: str, origin: str) -> list[RunEvent]:
        """The events that are certain once this line is read. Raises WrongLine, UnknownStatus; the next may be read."""
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
        """The jobs that were said to run by then, and whose number has not come: it will not come any more."""
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
            current.waiting.append((reported.at, word, origin))  # the line with its number may come after it
            return []
        return [
            *self._known(reported.job, current, reported.at),
            self._event(reported.job, current, reported, word, found, origin),
        ]

    def taken_unbegun(self) -> list[str]:
        """The jobs of which an end was read since the last call, and never a beginning."""
        jobs, self._unbegun = self._unbegun, []
        return jobs

    def forget(self) -> None:
        """Drop what ended long ago."""
        if self.state.last is None:
            return
        limit = self.state.last - _REMEMBERED
        self.state.jobs = {
            name: job for name, job in self.state.jobs.items() if job.ended is None or job.ended > limit
        }

    def interrupted(self) -> None:
        """A part of the log is missing: of what had ended, another run may have begun since."""
        self.state.jobs = {name: job for name, job in self.state.jobs.items() if job.ended is None}

    def _starts(self, name: str, word: str) -> bool:
        """Whether a status says that a run begins. RUNNING may be said of a job again, and of a box only then."""
        return word in _BEFORE_A_START or (word == "RUNNING" and name not in self.state.on_machines)

    def _put(self, name: str, *, on: bool, ice: bool) -> None:
        """On ice, on noexec, or off again."""
        jobs = self.state.on_ice if ice else self.state.on_noexec
        (jobs.add if on else jobs.discard)(name)

    def _did_not_start(self, job: JobState, word: str, found: Meaning | None) -> bool:
        """Whether what waited in the last run of a box, or was to be repeated there, is over without a start."""
        if word == "ACTIVATED" and job.restarts:
            return True
        waits = job.run is None and not job.running
        idles = found is None or found.state is RunState.SKIPPED or word in ("ON_HOLD", "ACTIVATED")
        return waits and idles

    def _begin(self, reported: StatusLine | NumberLine) -> JobState:
        """The run that is about to start or under way; a new one after an end, unless that is to be repeated."""
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
        """What waited for the run to have a number. A run without one is known by the time at which it began."""
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
        """The run is to be repeated: what comes next is its next attempt."""
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
            # It had ended: an operator says otherwise.
            return [
                self._event(
                    reported.job, job, reported, word, Meaning(found.state, Ending.FORCED), origin, attempt=0
                )
            ]
        # `sendevent` leaves no machine, and neither does the end of a box. Without a machine it is by hand only where
        # the job is known to run on one; that its beginning was not read says nothing of who ended it.
        by_hand = alone and not idle and reported.job in self.state.on_machines
        reason = None
        if job is None and not by_hand and not idle:
            self._unbegun.append(reported.job)
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
            job.running = False  # else its machine has yet to say how it ended
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
