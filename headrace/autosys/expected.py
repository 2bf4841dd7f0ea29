"""Forecast when a job will next start and finish, from its schedule, its boxes and its conditions, with the reason.

A forecast assumes that runs succeed and take their mean time, that global variables have the required values, and that
a job without a schedule runs when the last of its predecessors ends. If the clock or a box starts a job, its conditions
are evaluated for that moment: a predecessor that is not due before then keeps the success of its last run, unless both
are in one box, whose start resets it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from headrace.autosys.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExitIs,
    GlobalIs,
    JobIs,
    RequiredStatus,
    unparse,
)
from headrace.autosys.estate import Estate
from headrace.autosys.jobs import Job
from headrace.autosys.starts import Clock, NoStartError, Start, next_start


@dataclass(frozen=True, slots=True)
class Expected:
    """An instant (UTC), or None if unknown, with the reasons, one per line.

    not_before: a lower bound if unknown. clock: for a start, that of the job's own schedule, with the times by which
    the run must start and complete.
    """

    at: datetime | None
    why: tuple[str, ...]
    not_before: datetime | None = None
    clock: Start | None = None

    @property
    def earliest(self) -> datetime | None:
        """The instant, or its lower bound."""
        return self.at or self.not_before


_Node = tuple[str, bool]  # a job, and whether its finish is meant


@dataclass(slots=True)
class Forecast:
    """The expectations for one estate, as of `after`; each is computed once.

    runtimes: mean run times by job. clock: the zone of the server and the calendars.
    """

    estate: Estate
    after: datetime
    clock: Clock
    runtimes: Mapping[str, timedelta]
    _known: dict[_Node, Expected] = field(default_factory=dict)

    def start(self, name: str) -> Expected:
        """Forecast when the job starts next. Raises KeyError for an unknown job."""
        return self._expect((self.estate.jobs[name].name, False))

    def finish(self, name: str) -> Expected:
        """Forecast when that run ends. Raises KeyError for an unknown job."""
        return self._expect((self.estate.jobs[name].name, True))

    def _expect(self, wanted: _Node) -> Expected:
        """Forecast the prerequisites first, without recursion: chains are tens of thousands of jobs long."""
        waiting: list[tuple[_Node, Iterator[_Node]]] = [(wanted, self._needs(wanted))]
        open_ = {wanted}
        while waiting:
            current, needs = waiting[-1]
            if current in self._known:
                waiting.pop()
                open_.discard(current)
                continue
            for need in needs:
                if need not in self._known and need not in open_:
                    open_.add(need)
                    waiting.append((need, self._needs(need)))
                    break
            else:
                name, is_finish = current
                job = self.estate.jobs[name]
                self._known[current] = self._finish(job) if is_finish else self._start(job)
        return self._known[wanted]

    def _needs(self, wanted: _Node) -> Iterator[_Node]:
        name, is_finish = wanted
        jobs = self.estate.jobs
        if is_finish:
            yield (name, False)
            if jobs[name].type == "BOX" and name not in self.runtimes:
                yield from ((member, True) for member in self.estate.members.get(name, ()))
            return
        box = jobs[name].box
        if box in jobs:
            yield (str(box), False)
        for edge in self.estate.waits_for.get(name, ()):
            if edge.orders and edge.upstream in jobs:
                yield (edge.upstream, False)
                yield (edge.upstream, True)

    def _got(self, name: str, *, finish: bool) -> Expected:
        return self._known.get((name, finish)) or Expected(None, (f"{name} waits, in a circle, for itself",))

    def _start(self, job: Job) -> Expected:
        at: datetime | None = None
        why: tuple[str, ...] = ()
        start: Start | None = None
        if job.box is not None:
            box = self._got(job.box, finish=False) if job.box in self.estate.jobs else None
            if box is None or box.at is None:
                return Expected(
                    None,
                    (
                        f"box {job.box} is not expected to start",
                        *(box.why[-1:] if box else ("it does not exist",)),
                    ),
                    box.not_before if box else None,
                )
            at, why = box.at, (f"box {job.box} starts {box.at:%Y-%m-%d %H:%M} UTC",)
        if job.schedule.starts_itself:
            try:
                start = next_start(
                    job.schedule, max(at - timedelta(seconds=1), self.after) if at else self.after, self.clock
                )
            except NoStartError as error:
                return Expected(None, (*why, str(error)))
            at, why = start.at, (*why, f"the clock: {', '.join(start.why)}, {start.local:%Y-%m-%d %H:%M %Z}")
        if "condition" in job.values and job.values["condition"] and job.condition is None:
            return Expected(None, (*why, f"its condition cannot be read: {job.values['condition']}"))
        if job.condition is not None:
            return replace(self._condition(job, job.condition, at, why), clock=start)
        if at is None:
            return Expected(
                None, ("it is in no box, waits for nothing and the clock does not start it: by hand only",)
            )
        return Expected(at, why, clock=start)

    def _condition(
        self, job: Job, condition: Condition, trigger: datetime | None, why: tuple[str, ...]
    ) -> Expected:
        """Forecast when the condition is met, not before `trigger` if there is one."""
        if isinstance(condition, AllOf | AnyOf):
            parts = [self._condition(job, part, trigger, ()) for part in condition.parts]
            unknown = [part for part in parts if part.at is None]
            known = [(part.at, part) for part in parts if part.at is not None]
            if isinstance(condition, AllOf) and unknown:
                bounds = [part.earliest for part in parts if part.earliest is not None]
                return Expected(None, (*why, *unknown[0].why), max(bounds, default=None))
            if not known:
                bounds = [part.not_before for part in unknown if part.not_before is not None]
                not_before = min(bounds) if len(bounds) == len(unknown) else trigger
                return Expected(None, (*why, *(line for part in unknown for line in part.why)), not_before)
            choose = max if isinstance(condition, AllOf) else min
            at, part = choose(known, key=lambda each: each[0])
            if isinstance(condition, AllOf):
                for atom, (met, _) in zip(condition.parts, known, strict=True):
                    if _is_stale(atom, met, at):
                        stale = f"{unparse(atom)}: {met:%Y-%m-%d %H:%M} UTC is too long before {at:%Y-%m-%d %H:%M} UTC"
                        return Expected(None, (*why, stale), at)
            return Expected(at, (*why, *part.why))
        return self._atom(job, condition, trigger, why)

    def _atom(
        self, job: Job, atom: JobIs | ExitIs | GlobalIs, trigger: datetime | None, why: tuple[str, ...]
    ) -> Expected:
        at_once = trigger or self.after
        if isinstance(atom, GlobalIs):
            return Expected(at_once, (*why, f"assumed to hold: {unparse(atom)}"))
        if atom.instance is not None:
            return Expected(None, (*why, f"{unparse(atom)}: a job of another scheduler"))
        wanted = atom.wanted if isinstance(atom, JobIs) else None
        if wanted is RequiredStatus.NOT_RUNNING:
            return Expected(at_once, (*why, f"assumed to hold: {unparse(atom)}"))
        if atom.job not in self.estate.jobs:
            return Expected(None, (*why, f"{unparse(atom)}: no such job"))
        if wanted in (RequiredStatus.FAILURE, RequiredStatus.TERMINATED):
            return Expected(None, (*why, f"{unparse(atom)}: only if {atom.job} goes wrong"))
        upstream = self._got(atom.job, finish=False)
        boxes = {*self.estate.boxes_of(job.name), job.name}.intersection(
            (*self.estate.boxes_of(atom.job), atom.job)
        )
        if trigger is not None and not boxes and (upstream.earliest is None or upstream.earliest > trigger):
            if atom.lookback is not None and atom.lookback.minutes is not None:
                unknown = (
                    f"{unparse(atom)}: {atom.job} is not due before then, and when it last ended is not known"
                )
                return Expected(None, (*why, unknown), trigger)
            return Expected(
                trigger, (*why, f"{unparse(atom)} by an earlier run: {atom.job} is not due before then")
            )
        end = self._got(atom.job, finish=True)
        if end.at is None:
            return Expected(
                None,
                (*why, f"{unparse(atom)}: when {atom.job} ends is not known", *end.why[-1:]),
                max((each for each in (trigger, end.not_before) if each is not None), default=None),
            )
        if trigger is not None and _is_stale(atom, end.at, trigger):
            stale = (
                f"{unparse(atom)}: {atom.job} is to end {end.at:%Y-%m-%d %H:%M} UTC, which is too long before"
            )
            return Expected(None, (*why, stale), trigger)
        at = max(end.at, trigger) if trigger else end.at
        return Expected(at, (*why, f"{unparse(atom)}: {atom.job} is to end {end.at:%Y-%m-%d %H:%M} UTC"))

    def _finish(self, job: Job) -> Expected:
        start = self._got(job.name, finish=False)
        if start.at is None:
            return Expected(None, start.why, start.not_before)
        mean = self.runtimes.get(job.name)
        if mean is not None:
            return Expected(
                start.at + mean,
                (f"{job.name} starts {start.at:%Y-%m-%d %H:%M} UTC and takes {mean} on average",),
            )
        if job.type != "BOX":
            return Expected(
                None,
                (f"{job.name} starts {start.at:%Y-%m-%d %H:%M} UTC; how long it takes is not known",),
                start.at,
            )
        ends = [(member, self._got(member, finish=True)) for member in self.estate.members.get(job.name, ())]
        known = [(end.at, member) for member, end in ends if end.at is not None]
        if not known:
            return Expected(
                None,
                (f"when the members of {job.name} end is not known", *(ends[0][1].why[-1:] if ends else ())),
                start.at,
            )
        at, last = max(known)
        missing = len(ends) - len(known)
        but = (f"without {missing} member(s) whose end is not known",) if missing else ()
        return Expected(at, (f"the last member, {last}, is to end {at:%Y-%m-%d %H:%M} UTC", *but))


def _is_stale(condition: Condition, met: datetime, at: datetime) -> bool:
    """Return True if at `at` a lookback no longer reaches back to the status at `met`."""
    if not isinstance(condition, JobIs | ExitIs) or condition.lookback is None:
        return False
    minutes = condition.lookback.minutes
    return bool(minutes) and at - met > timedelta(minutes=minutes or 0)
