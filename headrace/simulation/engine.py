"""The simulation: a queue of events, each of which changes the status of a job and lets others start.

Only the jobs whose conditions name a job are evaluated when that one ends. Events of the same instant are processed in
a fixed order: what comes from outside, ends of runs, times of schedules (boxes before what is in them), each by name;
so the order in which jobs are defined has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple, Protocol

from headrace import garbage_collection
from headrace.autosys import Clock, NoStartError, Start
from headrace.autosys.conditions import Atom, Condition, GlobalIs, atoms
from headrace.simulation.conditions import holds, key_of
from headrace.simulation.definitions import DATASET, Definition, SentEvent
from headrace.simulation.machines import Machines
from headrace.simulation.outcome import Outcome, Run
from headrace.simulation.statuses import BUSY, ENDED, Status
from headrace.simulation.ticks import Timing, opens_at, starts_itself, ticks

MAX_RUNS_A_DAY = (
    1_500  # start_mins can start a job 1,440 times; more are jobs that start each other without end
)
_DAY = 86_400
_STATUS_EVENTS = {
    "JOB_ON_HOLD": Status.ON_HOLD, "JOB_OFF_HOLD": Status.INACTIVE,
    "JOB_ON_ICE": Status.ON_ICE, "JOB_OFF_ICE": Status.INACTIVE,
}  # fmt: skip
_OUTSIDE, _END, _TICK, _WINDOW = range(4)  # the order of events of the same instant


class Effort(NamedTuple):
    """How a run goes. seconds: None if unknown. status: of its end; None if the exit code decides."""

    seconds: float | None
    exit_code: int = 0
    status: Status | None = None


class Efforts(Protocol):
    """Tells how the runs of jobs go."""

    def of(self, definition: Definition, started_at: float, attempt: int) -> Effort:
        """Return how the run that starts then goes. attempt: 1, or more for a retry."""


@dataclass(slots=True, eq=False)
class _Job:
    """The state of a job. tick: the time of its schedule that has come and has not started it yet. run: the one under
    way. first_open: the place of a member of the box that may not have ended."""

    name: str
    original: Definition
    definition: Definition
    status: Status
    depth: int = 0
    place: int = 0
    box: _Job | None = None
    members: tuple[_Job, ...] = ()
    first_open: int = 0
    exit_code: int | None = 0
    ended_at: float = -inf
    tick: Start | None = None
    run: Run | None = None
    last_run: int | None = None
    runs: int = 0
    queued: tuple[float, int | None, str | None] | None = None  # since when, cause and event of the start
    began_at: float = -inf
    taken: int = 0  # of its machine's room by the run: an override may change its load meanwhile

    @property
    def counts_from(self) -> float:
        """The time after which the ends of others are new to it."""
        return self.began_at if self.original.kind == DATASET else self.ended_at


class Simulation:
    """A simulation that can be continued: `advance` plays up to a time, whatever is planned before.

    All jobs are taken to have succeeded long before `begin`, except those on ice or on hold. clock: the zone of the
    server, and calendars. variables: the values of global variables; a condition on any other is assumed to hold.
    """

    def __init__(
        self,
        definitions: Mapping[str, Definition],
        clock: Clock,
        begin: datetime,
        efforts: Efforts,
        machines: Machines | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.outcome = Outcome(definitions, begin.timestamp(), begin.timestamp())
        self._clock = clock
        self._begin = begin
        self._efforts = efforts
        self._machines = machines or Machines()
        self._variables = dict(variables or {})
        self._events: list[tuple[float, int, int, str, int, Callable[[float], None]]] = []
        self._pushed = 0
        self._queues: dict[tuple[str, ...], list[tuple[int, float, str]]] = {}  # by their machines
        self._max_runs = inf
        self._jobs = _jobs(definitions)
        self._dependents: dict[str, list[_Job]] = {}
        self._ruled_boxes: dict[str, list[_Job]] = {}
        self._on_variable: dict[str, list[_Job]] = {}
        for job in list(self._jobs.values()):
            self._index(job)
        self._begin_ticks()
        self.outcome.states, self.outcome.variables = self._jobs, self._variables

    def advance(self, until: datetime) -> Outcome:
        """Process all events before a time, and return what has happened until then."""
        with garbage_collection.paused():
            self._advance(until.timestamp(), lambda: False)
        self.outcome.until = until.timestamp()
        return self.outcome

    def advance_to_run(self, name: str, after: float, until: datetime) -> Run | None:
        """Process events until a run of a job that began after a time has ended; None if none begins before `until`."""
        job, runs = self._jobs[name], self.outcome.runs
        seen = 0
        found: Run | None = None

        def has_ended() -> bool:
            nonlocal seen, found
            if found is None and job.runs > seen:
                seen = job.runs
                last = runs[job.last_run] if job.last_run is not None else None
                found = last if last is not None and last.started_at > after else None
            return found is not None and found.ended_at is not None

        with garbage_collection.paused():
            self._advance(until.timestamp(), has_ended)
        return found

    def _advance(self, end: float, is_done: Callable[[], bool]) -> None:
        self._max_runs = MAX_RUNS_A_DAY * ((end - self._begin.timestamp()) / _DAY + 1)
        events = self._events
        while events and events[0][0] < end and not is_done():
            event = heappop(events)
            event[5](event[0])
            self.outcome.until = event[0]

    # What comes from outside

    def set_variable(self, at: datetime, name: str, value: str) -> None:
        """Plan that a global variable gets a value."""
        self._push(at.timestamp(), _OUTSIDE, 0, name, partial(self._set_variable, name, value))

    def take_machine(self, at: datetime, name: str, *, offline: bool) -> None:
        """Plan that a machine goes off line, which fails the runs on it, or comes back."""
        self._push(at.timestamp(), _OUTSIDE, 0, name, partial(self._take_machine, name, offline))

    def force(self, at: datetime, name: str) -> None:
        """Plan that a person starts a job, whatever its conditions."""
        self._push(at.timestamp(), _OUTSIDE, 0, name, partial(self._force, name, "started by hand"))

    def change_status(self, at: datetime, name: str, status: Status) -> None:
        """Plan that a person sets a status: an end, on ice, on hold, or off both (INACTIVE).

        For a job of another scheduler, `name^INSTANCE`, this is how its end is reported.
        """
        self._push(at.timestamp(), _OUTSIDE, 0, name, partial(self._change_status, name, status))

    def begin_period(self, at: datetime) -> None:
        """Plan the beginning of the period that is asked for: overrides change the next runs after it.

        A run before it whose length is unknown is taken to have ended at once.
        """
        self.outcome.since = at.timestamp()
        for job in self._jobs.values():
            if job.original.next_run is not None:
                self._push(at.timestamp(), _OUTSIDE, 0, job.name, partial(self._override, job))

    def _override(self, job: _Job, now: float) -> None:
        del now
        if job.original.next_run is not None:
            job.definition = job.original.next_run

    def _set_variable(self, name: str, value: str, now: float) -> None:
        self._variables[name] = value
        for job in self._on_variable.get(name, ()):
            self._try(job, now, None, f"variable {name} is set to {value}")

    def _take_machine(self, name: str, offline: bool, now: float) -> None:
        self._machines.set_offline(name, offline=offline)
        if not offline:
            self._admit(now)
            return
        for job in self._jobs.values():
            if job.run is not None and job.run.machine == name:
                self._finish(job, job.run, now, Status.FAILURE, 1)

    def _force(self, name: str, why: str, now: float) -> None:
        job = self._jobs.get(name)
        if job is not None and job.status not in BUSY:
            self._start(job, now, None, why)

    def _send(self, sender: str, event: SentEvent, now: float) -> None:
        """Take an event from a dataset. A STARTJOB wants the condition of the job to hold."""
        job = self._jobs.get(event.job)
        if event.event == "SET_GLOBAL":
            self._set_variable(event.variable, event.value, now)
        elif event.event == "CHANGE_STATUS":
            self._change_status(event.job, Status(event.status), now)
        elif event.event in _STATUS_EVENTS:
            self._change_status(event.job, _STATUS_EVENTS[event.event], now)
        elif job is not None and event.event in ("STARTJOB", "FORCE_STARTJOB"):
            condition = job.definition.condition
            if event.event == "FORCE_STARTJOB" or condition is None or self._holds(condition, job, now):
                self._force(event.job, f"{sender} sends {event.event}", now)

    def _change_status(self, name: str, status: Status, now: float) -> None:
        job = self._jobs.get(name)
        if job is None:
            return
        if job.run is not None:
            if status in ENDED:
                self._finish(job, job.run, now, status, 0)
            return
        was_held, was_queued = job.status is Status.ON_HOLD, job.queued is not None
        job.queued = None
        if status is Status.INACTIVE and job.box is not None and job.box.status is Status.RUNNING:
            status = Status.ACTIVATED
        job.status = status
        if status in ENDED:
            job.ended_at, job.exit_code, job.last_run = now, 0, None
        self._changed(job, now, None)
        if was_held and status not in ENDED:
            self._try(job, now, None, "taken off hold")
        if was_queued:
            self._admit(now)  # it may have held up others

    # The clock

    def _begin_ticks(self) -> None:
        groups: dict[tuple[Timing, int], list[_Job]] = {}
        for job in self._jobs.values():
            next_run = job.original.next_run or job.original
            for timing in dict.fromkeys((job.original.schedule, next_run.schedule)):
                if starts_itself(timing):
                    groups.setdefault((timing, job.depth), []).append(job)
        for (timing, _), jobs in groups.items():
            self._next_tick(timing, jobs, ticks(timing, self._begin, self._clock))

    def _next_tick(self, timing: Timing, jobs: list[_Job], coming: Iterator[Start]) -> None:
        try:
            start = next(coming, None)
        except NoStartError as error:
            self.outcome.unscheduled.update((job.name, str(error)) for job in jobs)
            return
        if start is not None:
            action = partial(self._tick, timing, jobs, coming, start)
            self._push(start.at.timestamp(), _TICK, jobs[0].depth, jobs[0].name, action)

    def _tick(
        self, timing: Timing, jobs: list[_Job], coming: Iterator[Start], start: Start, now: float
    ) -> None:
        has_must = start.must_start is not None or start.must_complete is not None
        for job in jobs:
            if job.definition.schedule != timing or job.status is Status.ON_ICE:
                continue
            if has_must:
                self.outcome.ticks.append((job.name, start))
            self._give_up(job)
            if job.status not in BUSY and self._may_start_in_box(job, or_held=True):
                job.tick = start
                self._try(job, now, None, None)
        self._next_tick(timing, jobs, coming)

    # Starts

    def _may_start_in_box(self, job: _Job, *, or_held: bool = False) -> bool:
        """Return whether its box, if it has one, is running and the job has not run in this run of the box."""
        if job.original.box is None:
            return True
        allowed = job.status is Status.ACTIVATED or (or_held and job.status is Status.ON_HOLD)
        return job.box is not None and job.box.status is Status.RUNNING and allowed

    def _give_up(self, job: _Job) -> None:
        """Forget a run of a box from the warm-up in which nothing runs: an operator would have ended it."""
        run = job.run
        if run is not None and job.definition.is_box and run.started_at < self.outcome.since:
            inside = list(job.members)
            for each in inside:  # grows during iteration
                if each.status in BUSY and not each.definition.is_box:
                    return
                inside += each.members
            for each in (job, *inside):
                each.run = None
                if each.status in (Status.RUNNING, Status.ACTIVATED):
                    each.status = Status.INACTIVE

    def _try(self, job: _Job, now: float, cause: int | None, event: str | None) -> None:
        """Start a job if everything that it waits for is there. cause: the run whose end may let it start."""
        definition, status = job.definition, job.status
        if status in BUSY or status is Status.ON_HOLD or status is Status.ON_ICE:
            return
        if definition.unreadable is not None or not self._may_start_in_box(job):
            return
        if starts_itself(definition.schedule):
            if job.tick is None:
                return
        elif definition.condition is None and definition.box is None:
            return
        if definition.condition is not None and not self._holds(definition.condition, job, now):
            return
        opens = opens_at(definition.schedule, now, self._clock)
        if opens is None:
            job.tick = None  # it was for this window, which has closed
        elif opens > now:
            self._push(opens, _WINDOW, job.depth, job.name, partial(self._reopen, job))
        else:
            self._start(job, now, cause, event)

    def _reopen(self, job: _Job, now: float) -> None:
        self._try(job, now, None, "its run_window opens")

    def _start(self, job: _Job, now: float, cause: int | None, event: str | None) -> None:
        definition = job.definition
        job.runs += 1
        if job.runs > self._max_runs:
            self.outcome.stopped[job.name] = job.runs - 1
            return
        machine = None
        if definition.machines and not definition.is_bypassed and not definition.is_box:
            machine = self._place(definition)
            if machine is None:
                online = self._machines.is_online(definition.machines)
                job.status = Status.QUE_WAIT if online else Status.PEND_MACH
                job.queued = (now, cause, event)
                queue = self._queues.setdefault(definition.machines, [])
                heappush(queue, (definition.priority, now, job.name))
                return
        self._begin_run(job, now, cause, event, machine)

    def _begin_run(
        self, job: _Job, now: float, cause: int | None, event: str | None, machine: str | None
    ) -> None:
        definition, box, runs = job.definition, job.box, self.outcome.runs
        met: tuple[tuple[Atom, int | None], ...] = ()
        if definition.condition is not None:
            met = tuple(self._met(definition.condition, job, now))
        run = Run(len(runs), job.name, now, job.tick, cause=cause, event=event, met=met, machine=machine)
        run.is_bypassed = definition.is_bypassed
        run.is_override = definition is not job.original
        exact = all(runs[index].is_exact for _, index in met if index is not None)
        if cause is not None:
            exact = exact and runs[cause].is_exact
        if box is not None and box.run is not None:
            run.box_started_at, run.box_run = box.run.started_at, box.run.index
            exact = exact and box.run.starts_exactly
            box.first_open = min(box.first_open, job.place)
        if job.queued is not None:
            run.queued_at, job.queued = job.queued[0], None
        run.starts_exactly = run.is_exact = exact
        runs.append(run)
        job.run, job.last_run, job.tick, job.status = run, run.index, None, Status.RUNNING
        job.began_at, job.taken = now, definition.load
        if definition.is_bypassed:
            self._push(now, _END, 0, job.name, partial(self._end, job, run, 1, Status.SUCCESS, 0))
        elif definition.is_box:
            self._open_box(job, now)
        else:
            self._work(job, run, now)

    def _met(self, condition: Condition, job: _Job, now: float) -> Iterator[tuple[Atom, int | None]]:
        for atom in atoms(condition):
            if holds(atom, self._jobs, self._variables, now, job.counts_from):
                other = None if isinstance(atom, GlobalIs) else self._jobs.get(key_of(atom))
                yield atom, other.last_run if other is not None else None

    def _work(self, job: _Job, run: Run, now: float) -> None:
        """Plan the end of an attempt. One of unknown length takes no time."""
        definition = job.definition
        seconds, code, status = self._efforts.of(definition, now, run.attempts)
        if seconds is None:
            seconds = 0.0
            run.is_exact = run.is_exact and now < self.outcome.since
        if status is None:
            status = definition.exit_codes.status(code)
        if definition.term_run_time is not None and seconds > definition.term_run_time * 60:
            seconds, status = definition.term_run_time * 60.0, Status.TERMINATED
        action = partial(self._end, job, run, run.attempts, status, code)
        self._push(now + seconds, _END, 0, job.name, action)

    def _open_box(self, box: _Job, now: float) -> None:
        self._reset(box)
        for member in box.members:
            if member.original.auto_hold and member.status is Status.INACTIVE:
                member.status = Status.ON_HOLD
            elif member.status is Status.INACTIVE:
                member.status = Status.ACTIVATED
        for member in box.members:
            self._try(member, now, None, None)
        if all(member.status in (Status.ON_ICE, Status.INACTIVE) for member in box.members):
            self._push(
                now, _END, 0, box.name, partial(self._fold, box)
            )  # boxes that start each other do not nest

    def _reset(self, box: _Job) -> None:
        """Forget what the members did in the last run of the box: they run once in each."""
        box.first_open = 0
        for member in box.members:
            if member.status not in BUSY and member.status not in (Status.ON_ICE, Status.ON_HOLD):
                member.status, member.tick = Status.INACTIVE, None
                if member.members:
                    self._reset(member)

    def _place(self, definition: Definition) -> str | None:
        """Take room on a machine, unless a job of the same or a higher priority (a lower number) waits for one."""
        queues = definition.load > 0 and definition.priority > 0
        queue = self._queues.get(definition.machines)
        if queues and queue and queue[0][0] <= definition.priority:
            return None
        return self._machines.place(definition.machines, definition.load, queues=queues)

    def _admit(self, now: float) -> None:
        """Start the waiting jobs that find room, by priority, then by time; the first in a queue holds up the rest."""
        for machines in sorted(self._queues, key=lambda each: self._queues[each][0]):
            queue = self._queues.pop(machines)
            while queue:
                job = self._jobs[queue[0][2]]
                if job.queued is not None:
                    definition = job.definition
                    queues = definition.load > 0 and definition.priority > 0
                    machine = self._machines.place(machines, definition.load, queues=queues)
                    if machine is None:
                        break
                    self._begin_run(job, now, job.queued[1], job.queued[2], machine)
                heappop(queue)
            if queue:
                self._queues[machines] = queue

    # Ends

    def _end(self, job: _Job, run: Run, attempt: int, status: Status, code: int, now: float) -> None:
        if run.ended_at is not None or run.attempts != attempt:
            return
        if status is Status.FAILURE and run.attempts <= job.definition.n_retrys:
            run.attempts += 1
            self._work(job, run, now)
            return
        self._finish(job, run, now, status, code)

    def _finish(self, job: _Job, run: Run, now: float, status: Status, code: int) -> None:
        run.ended_at, run.status, run.exit_code = now, status, code
        job.run, job.status, job.ended_at, job.exit_code = None, status, now, code
        if run.box_run is not None and not run.is_exact:
            self.outcome.runs[run.box_run].is_exact = False
        definition = job.definition
        if run.is_override:
            job.definition = job.original
        if status is Status.SUCCESS:
            for event in definition.sends:
                self._push(now, _OUTSIDE, 0, job.name, partial(self._send, job.name, event))
        if definition.is_box and status is not Status.SUCCESS:
            for member in job.members:
                if member.run is not None and member.original.job_terminator:
                    self._finish(member, member.run, now, Status.TERMINATED, 1)
        self._changed(job, now, run.index)
        if run.machine is not None:
            self._machines.release(run.machine, job.taken)
            if self._queues:
                self._admit(now)

    def _changed(self, job: _Job, now: float, cause: int | None) -> None:
        """Let a change of status have its effects: first on boxes, then on the jobs that wait for it."""
        box = job.box
        if box is not None and box.run is not None:
            if job.original.box_terminator and job.status in (Status.FAILURE, Status.TERMINATED):
                self._finish(box, box.run, now, Status.TERMINATED, 1)
            else:
                self._fold(box, now)
        for each in self._ruled_boxes.get(job.name, ()):
            if each is not box:
                self._fold(each, now)
        for each in self._dependents.get(job.name, ()):
            self._try(each, now, cause, None)

    def _fold(self, box: _Job, now: float) -> None:
        """End a box that is done: by its own conditions, or else once all members have ended.

        Members that are on ice or inactive do not count; one on hold keeps the box running.
        """
        run, definition = box.run, box.definition
        if run is None or definition.is_bypassed:
            return
        for condition, status in (
            (definition.box_success, Status.SUCCESS),
            (definition.box_failure, Status.FAILURE),
        ):
            if condition is not None and self._holds(condition, box, now):
                self._finish(box, run, now, status, int(status is Status.FAILURE))
                return
        members, count = box.members, len(box.members)
        while box.first_open < count and (
            (status := members[box.first_open].status) in ENDED or status in (Status.ON_ICE, Status.INACTIVE)
        ):
            box.first_open += 1
        if box.first_open < count:
            return
        failed = any(each.status in (Status.FAILURE, Status.TERMINATED) for each in members)
        if failed and definition.box_failure is None:
            self._finish(box, run, now, Status.FAILURE, 1)
        elif not failed and definition.box_success is None:
            self._finish(box, run, now, Status.SUCCESS, 0)

    def _holds(self, condition: Condition, job: _Job, now: float) -> bool:
        return holds(condition, self._jobs, self._variables, now, job.counts_from)

    # Indexes

    def _index(self, job: _Job) -> None:
        """Register the job with those that its conditions name.

        The conditions by which a box ends are evaluated when something in it changes, so a job outside of it that they
        name may keep it running.
        """
        for definition in dict.fromkeys((job.original, job.original.next_run or job.original)):
            for condition, index in (
                (definition.condition, self._dependents),
                (definition.box_success, self._ruled_boxes),
                (definition.box_failure, self._ruled_boxes),
            ):
                for atom in atoms(condition) if condition is not None else ():
                    if isinstance(atom, GlobalIs):
                        if index is self._ruled_boxes:
                            continue
                        listed = self._on_variable.setdefault(atom.name, [])
                    else:
                        key = key_of(atom)
                        if atom.instance is not None and key not in self._jobs:
                            other = Definition(key, "")
                            self._jobs[key] = _Job(key, other, other, Status.SUCCESS)
                        if index is self._ruled_boxes and not _is_inside(self._jobs.get(key), job):
                            continue
                        listed = index.setdefault(key, [])
                    if job not in listed[-1:]:
                        listed.append(job)
            if definition.kind == DATASET:  # other datasets and jobs may have ended while it ran
                self._dependents.setdefault(job.name, []).append(job)

    def _push(self, at: float, order: int, depth: int, name: str, action: Callable[[float], None]) -> None:
        self._pushed += 1
        heappush(self._events, (at, order, depth, name, self._pushed, action))


def _is_inside(job: _Job | None, box: _Job) -> bool:
    outer = job.box if job is not None else None
    for _ in range(job.depth if job is not None else 0):
        if outer is None or outer is box:
            break
        outer = outer.box
    return outer is box


def _jobs(definitions: Mapping[str, Definition]) -> dict[str, _Job]:
    """Return the initial states by name, in the order of the names, with boxes and members linked."""
    jobs = {}
    for name in sorted(definitions):
        each = definitions[name]
        jobs[name] = _Job(name, each, each, each.status or Status.SUCCESS)
    members: dict[str, list[_Job]] = {}
    for job in jobs.values():
        job.box = jobs.get(job.original.box or "")
        if job.box is not None:
            members.setdefault(job.box.name, []).append(job)
    for name, found in members.items():
        jobs[name].members = tuple(found)
        for place, job in enumerate(found):
            job.place = place
    for job in jobs.values():
        outer, seen = job.box, {job.name}
        while outer is not None and outer.name not in seen:
            seen.add(outer.name)
            job.depth, outer = job.depth + 1, outer.box
    return jobs
