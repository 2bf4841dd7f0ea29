"""Forecast when a job will next start and finish, from its schedule, its boxes and its conditions, with the reason.

A forecast assumes that runs succeed and take their mean time, that global variables have the required values, and that
every job has run before: its status stays until it changes. So a job without a schedule runs when one of its
predecessors ends, unless another is running. If the clock or a box starts a job, its conditions are evaluated for that
moment: a predecessor that is not due before then keeps the success of its last run, unless both
are in one box, whose start resets it. `status` and overrides are those of the files.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import eq, ge, gt, le, lt, ne

from headrace.autosys.conditions import (
    AllOf,
    AnyOf,
    Atom,
    Condition,
    ConditionError,
    ExitIs,
    GlobalIs,
    JobIs,
    RequiredStatus,
    atoms,
    parse,
    unparse,
)
from headrace.autosys.estate import Estate
from headrace.autosys.jobs import Job
from headrace.autosys.schedules import read_schedule
from headrace.autosys.starts import Clock, NoStartError, Start, next_start
from headrace.nouns import counted

_HOLDS = {"=": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge}


@dataclass(frozen=True, slots=True)
class ExpectedInstant:
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
    _known: dict[_Node, ExpectedInstant] = field(default_factory=dict)

    def start(self, name: str) -> ExpectedInstant:
        """Forecast when the job starts next. Raises KeyError for an unknown job."""
        return self._expect((self.estate.jobs[name].name, False))

    def finish(self, name: str) -> ExpectedInstant:
        """Forecast when that run ends. Raises KeyError for an unknown job."""
        return self._expect((self.estate.jobs[name].name, True))

    def _expect(self, wanted: _Node) -> ExpectedInstant:
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

    def _got(self, name: str, *, finish: bool) -> ExpectedInstant:
        return self._known.get((name, finish)) or ExpectedInstant(
            None, (f"{name} waits for itself, in a cycle",)
        )

    def _start(self, job: Job) -> ExpectedInstant:
        if (held := _held(job)) is not None:
            return ExpectedInstant(None, (held,))
        job, why = _overridden(job)
        at: datetime | None = None
        start: Start | None = None
        if job.box is not None:
            box = self._got(job.box, finish=False) if job.box in self.estate.jobs else None
            if box is None or box.at is None:
                return ExpectedInstant(
                    None,
                    (
                        f"box {job.box} is not expected to start",
                        *(box.why[-1:] if box else ("it does not exist",)),
                    ),
                    box.not_before if box else None,
                )
            at, why = box.at, (*why, f"box {job.box} starts {box.at:%Y-%m-%d %H:%M} UTC")
        if job.schedule.starts_itself:
            try:
                start = next_start(
                    job.schedule, max(at - timedelta(seconds=1), self.after) if at else self.after, self.clock
                )
            except NoStartError as error:
                return ExpectedInstant(None, (*why, str(error)))
            at, why = start.at, (*why, f"the clock: {', '.join(start.why)}, {start.local:%Y-%m-%d %H:%M %Z}")
        if "condition" in job.values and job.values["condition"] and job.condition is None:
            return ExpectedInstant(None, (*why, f"its condition cannot be read: {job.values['condition']}"))
        if job.condition is not None:
            return replace(self._condition(job, job.condition, at, why), clock=start)
        if at is None:
            return ExpectedInstant(
                None, ("it is in no box, waits for nothing and the clock does not start it: by hand only",)
            )
        return ExpectedInstant(at, why, clock=start)

    def _condition(
        self, job: Job, condition: Condition, trigger: datetime | None, why: tuple[str, ...]
    ) -> ExpectedInstant:
        """Forecast when the condition is met, not before `trigger` if there is one."""
        if isinstance(condition, AllOf) and trigger is None:
            return self._first_end(job, condition, why)
        if isinstance(condition, AllOf | AnyOf):
            parts = [self._condition(job, part, trigger, ()) for part in condition.parts]
            unknown = [part for part in parts if part.at is None]
            known = [(part.at, part) for part in parts if part.at is not None]
            if isinstance(condition, AllOf) and unknown:
                bounds = [part.earliest for part in parts if part.earliest is not None]
                return ExpectedInstant(None, (*why, *unknown[0].why), max(bounds, default=None))
            if not known:
                bounds = [part.not_before for part in unknown if part.not_before is not None]
                not_before = min(bounds) if len(bounds) == len(unknown) else trigger
                return ExpectedInstant(
                    None, (*why, *(line for part in unknown for line in part.why)), not_before
                )
            choose = max if isinstance(condition, AllOf) else min
            at, part = choose(known, key=lambda each: each[0])
            if isinstance(condition, AllOf):
                for atom, (met, _) in zip(condition.parts, known, strict=True):
                    if _is_stale(atom, met, at):
                        stale = f"{unparse(atom)}: {met:%Y-%m-%d %H:%M} UTC is too long before {at:%Y-%m-%d %H:%M} UTC"
                        return ExpectedInstant(None, (*why, stale), at)
                return self._when_not_running(condition, ExpectedInstant(at, (*why, *part.why)))
            return ExpectedInstant(at, (*why, *part.why))
        return self._atom(job, condition, trigger, why)

    def _first_end(self, job: Job, condition: AllOf, why: tuple[str, ...]) -> ExpectedInstant:
        """Forecast the start of a job without clock and box: the first end of a predecessor at which the others hold.

        A status stays until it changes: that of a predecessor which is not due before then is of an earlier run.
        """
        parts = [(part, self._condition(job, part, None, ())) for part in condition.parts]
        open_ends = [(part, found) for part, found in parts if found.at is None]
        never = next((found for part, found in open_ends if not self._may_stand(part)), None)
        if never is not None:
            return ExpectedInstant(None, (*why, *never.why), never.not_before)
        bounds = [found.not_before for _, found in open_ends]
        ends = sorted({found.at for _, found in parts if found.at is not None and found.at > self.after})
        if not ends and open_ends:
            known = [bound for bound in bounds if bound is not None]
            first = min(known) if len(known) == len(bounds) else None
            found = next(found for _, found in open_ends if found.not_before == first or first is None)
            return ExpectedInstant(None, (*why, *found.why), first)
        for at in ends or [self.after]:
            verdicts = [(found, self._holds(part, found, at)) for part, found in parts]
            unknown = next((found for found, verdict in verdicts if verdict is None), None)
            if unknown is not None:
                return ExpectedInstant(None, (*why, *unknown.why), min([at, *filter(None, bounds)]))
            if all(verdict for _, verdict in verdicts):
                ended = next((found for _, found in parts if found.at == at), parts[0][1])
                earlier = [part for part, found in parts if found.at is None or found.at > at]
                kept = (f"{unparse(part)} by an earlier run" for part in earlier)
                return self._when_not_running(condition, ExpectedInstant(at, (*why, *ended.why, *kept)))
        part, met = next((part, found.at) for part, found in parts if not self._holds(part, found, ends[-1]))
        stale = f"{unparse(part)}: {met:%Y-%m-%d %H:%M} UTC is too long before {ends[-1]:%Y-%m-%d %H:%M} UTC"
        return ExpectedInstant(None, (*why, stale), ends[-1])

    def _holds(self, part: Condition, found: ExpectedInstant, at: datetime) -> bool | None:
        """Return whether a part of a condition holds at `at`, None if unknown. found: its next time."""
        if found.at is not None and found.at <= at:
            return not _is_stale(part, found.at, at)
        if not self._may_stand(part):
            return False
        starts = [self._got(atom.job, finish=False) for atom in atoms(part) if not isinstance(atom, GlobalIs)]
        if any(start.earliest is None for start in starts):
            return None
        if all(start.earliest is not None and start.earliest > at for start in starts):
            return True
        return None if found.at is None else False

    def _may_stand(self, part: Condition) -> bool:
        """Return True if an earlier run can have met the part, and how long ago does not matter."""
        match part:
            case AllOf(parts):
                return all(map(self._may_stand, parts))
            case AnyOf(parts):
                return any(map(self._may_stand, parts))
            case GlobalIs():
                return False
            case _ if part.instance is not None or part.job not in self.estate.jobs:
                return False
            case _ if part.lookback is not None and part.lookback.minutes is not None:
                return False
            case JobIs():
                return part.wanted in (RequiredStatus.SUCCESS, RequiredStatus.DONE)
            case ExitIs():
                return bool(_HOLDS[part.operator](0, part.code))

    def _atom(
        self, job: Job, atom: JobIs | ExitIs | GlobalIs, trigger: datetime | None, why: tuple[str, ...]
    ) -> ExpectedInstant:
        at_once = trigger or self.after
        if isinstance(atom, GlobalIs):
            return ExpectedInstant(at_once, (*why, f"assumed to hold: {unparse(atom)}"))
        if atom.instance is not None:
            return ExpectedInstant(None, (*why, f"{unparse(atom)}: a job of another scheduler"))
        wanted = atom.wanted if isinstance(atom, JobIs) else None
        if wanted is RequiredStatus.NOT_RUNNING:
            assumed = ExpectedInstant(at_once, (*why, f"assumed to hold: {unparse(atom)}"))
            return self._when_not_running(AllOf((atom,)), assumed)
        if atom.job not in self.estate.jobs:
            return ExpectedInstant(None, (*why, f"{unparse(atom)}: no such job"))
        if wanted in (RequiredStatus.FAILURE, RequiredStatus.TERMINATED):
            return ExpectedInstant(None, (*why, f"{unparse(atom)}: only if {atom.job} fails"))
        if isinstance(atom, ExitIs) and not _HOLDS[atom.operator](0, atom.code):
            return ExpectedInstant(
                None, (*why, f"{unparse(atom)}: not if {atom.job} succeeds with exit code 0")
            )
        if _status(self.estate.jobs[atom.job]) == "ON_ICE":
            if isinstance(atom, ExitIs):
                return ExpectedInstant(None, (*why, f"{unparse(atom)}: {atom.job} is on ice"))
            return ExpectedInstant(at_once, (*why, f"{unparse(atom)} holds: {atom.job} is on ice"))
        upstream = self._got(atom.job, finish=False)
        boxes = {*self.estate.boxes_of(job.name), job.name}.intersection(
            (*self.estate.boxes_of(atom.job), atom.job)
        )
        if trigger is not None and not boxes and (upstream.earliest is None or upstream.earliest > trigger):
            if atom.lookback is not None and atom.lookback.minutes is not None:
                unknown = (
                    f"{unparse(atom)}: {atom.job} is not due before then, and when it last ended is not known"
                )
                return ExpectedInstant(None, (*why, unknown), trigger)
            return ExpectedInstant(
                trigger, (*why, f"{unparse(atom)} by an earlier run: {atom.job} is not due before then")
            )
        end = self._got(atom.job, finish=True)
        if end.at is None:
            return ExpectedInstant(
                None,
                (*why, f"{unparse(atom)}: when {atom.job} ends is not known", *end.why[-1:]),
                max((each for each in (trigger, end.not_before) if each is not None), default=None),
            )
        if trigger is not None and _is_stale(atom, end.at, trigger):
            stale = (
                f"{unparse(atom)}: {atom.job} is expected to end {end.at:%Y-%m-%d %H:%M} UTC, too long before"
            )
            return ExpectedInstant(None, (*why, stale), trigger)
        at = max(end.at, trigger) if trigger else end.at
        return ExpectedInstant(
            at, (*why, f"{unparse(atom)}: {atom.job} is expected to end {end.at:%Y-%m-%d %H:%M} UTC")
        )

    def _is_in(self, atom: Atom, box: str) -> bool:
        return not isinstance(atom, GlobalIs) and box in self.estate.boxes_of(atom.job)

    def _when_not_running(self, condition: AllOf, expected: ExpectedInstant) -> ExpectedInstant:
        """Put a start off until the jobs that may not run at the same time have ended, as far as that is known."""
        at = expected.at
        for atom in condition.parts:
            if at is None or not isinstance(atom, JobIs) or atom.wanted is not RequiredStatus.NOT_RUNNING:
                continue
            end = self._end_of_run(atom.job, at)
            if end is not None:
                why = f"{unparse(atom)}: {atom.job} is expected to end {end:%Y-%m-%d %H:%M} UTC"
                at, expected = end, ExpectedInstant(end, (*expected.why, why))
        return expected

    def _end_of_run(self, name: str, at: datetime) -> datetime | None:
        """Return the end of the run that is under way at `at`; None without one, or if the clock alone does not start
        the job: following its predecessors could lead back to the job that is asked for."""
        job, mean = self.estate.jobs.get(name), self.runtimes.get(name)
        if (
            job is None
            or mean is None
            or job.box
            or job.condition
            or not job.schedule.starts_itself
            or _held(job)
        ):
            return None
        try:
            start = next_start(job.schedule, at - mean, self.clock)
        except NoStartError:
            return None
        return start.at + mean if start.at <= at else None

    def _finish(self, job: Job) -> ExpectedInstant:
        start = self._got(job.name, finish=False)
        if start.at is None:
            return ExpectedInstant(None, start.why, start.not_before)
        if _status(job) == "ON_NOEXEC":
            return ExpectedInstant(start.at, (f"{job.name} is on noexec: it succeeds without a run",))
        mean = self.runtimes.get(job.name)
        if mean is not None or job.type != "BOX":
            return expected_finish(job.name, start, mean)
        success = job.conditions.get("box_success")
        if success is not None and all(self._is_in(each, job.name) for each in atoms(success)):
            end = self._condition(job, success, start.at, ())
            return replace(end, why=(f"box_success of {job.name}: {unparse(success)}", *end.why))
        ends = [(member, self._got(member, finish=True)) for member in self.estate.members.get(job.name, ())]
        known = [(end.at, member) for member, end in ends if end.at is not None]
        if not known:
            return ExpectedInstant(
                None,
                (f"when the members of {job.name} end is not known", *(ends[0][1].why[-1:] if ends else ())),
                start.at,
            )
        at, last = max(known)
        missing = len(ends) - len(known)
        but = (f"without {counted(missing, 'member')} whose end is not known",) if missing else ()
        return ExpectedInstant(
            at, (f"the last member, {last}, is expected to end {at:%Y-%m-%d %H:%M} UTC", *but)
        )


def expected_finish(name: str, start: ExpectedInstant, takes: timedelta | None) -> ExpectedInstant:
    """Return the end of a run that starts then. takes: its mean time; None if unknown."""
    if start.at is None:
        return ExpectedInstant(None, start.why, start.not_before)
    began = f"{name} starts {start.at:%Y-%m-%d %H:%M} UTC"
    if takes is None:
        return ExpectedInstant(None, (f"{began}; how long it takes is not known",), start.at)
    return ExpectedInstant(start.at + takes, (f"{began} and takes {takes} on average",))


def _status(job: Job) -> str:
    """Return the status that the files give the job, in upper case."""
    return job.values.get("status", "").strip().strip('"').upper()


def _held(job: Job) -> str | None:
    """Return why the job does not start at all; None if it may."""
    if _status(job) in ("ON_HOLD", "ON_ICE"):
        return f"{job.name} has the status {_status(job)}: it does not start until that is taken off"
    if job.box and job.values.get("auto_hold", "").strip().lower()[:1] in ("1", "y"):
        return f"{job.name} has auto_hold: it is on hold from the start of its box until it is taken off"
    return None


def _overridden(job: Job) -> tuple[Job, tuple[str, ...]]:
    """Return the job as its next run is, with the reason if that differs."""
    if not job.overrides:
        return job, ()
    values = job.values | {each.name: each.value for each in job.overrides}
    schedule, _ = read_schedule(values)
    conditions = dict(job.conditions)
    if any(each.name == "condition" for each in job.overrides):
        conditions.pop("condition", None)
        with suppress(ConditionError):  # `_start` reports the text that cannot be read
            conditions["condition"] = parse(values["condition"])
    names = ", ".join(each.name for each in job.overrides)
    return replace(job, values=values, schedule=schedule, conditions=conditions), (
        f"override_job changes {names} for the next run",
    )


def _is_stale(condition: Condition, met: datetime, at: datetime) -> bool:
    """Return True if at `at` a lookback no longer reaches back to the status at `met`."""
    if not isinstance(condition, JobIs | ExitIs) or condition.lookback is None:
        return False
    minutes = condition.lookback.minutes
    return bool(minutes) and at - met > timedelta(minutes=minutes or 0)
