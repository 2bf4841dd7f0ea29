"""Definitions of the simulated jobs of an Autosys estate and datasets, each with its start, conditions and machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from headrace import garbage_collection
from headrace.autosys import Estate, Job, Schedule
from headrace.autosys.conditions import Condition, ConditionError, GlobalIs, atoms, parse
from headrace.autosys.schedules import NONE, read_schedule
from headrace.simulation.conditions import key_of
from headrace.simulation.statuses import Status
from headrace.simulation.ticks import Timing

WATCHERS = frozenset(("FW", "FT"))
DATASET = "DATASET"
"""The kind of a Spark dataset: lookback 0 in its condition counts from the start of its last run, not from its end."""

_INITIAL = {each.value: each for each in (Status.ON_ICE, Status.ON_HOLD)}


@dataclass(frozen=True, slots=True)
class ExitCodes:
    """The exit codes of a success: up to `limit`, or those named. A code that is named decides alone."""

    limit: int = 0
    success: tuple[tuple[int, int], ...] = ()
    failure: tuple[tuple[int, int], ...] = ()

    def status(self, code: int) -> Status:
        """Return the status of a run that ended with this code."""
        if self.failure:
            return Status.FAILURE if _within(code, self.failure) else Status.SUCCESS
        if self.success:
            return Status.SUCCESS if _within(code, self.success) else Status.FAILURE
        return Status.SUCCESS if code <= self.limit else Status.FAILURE


_CODES = frozenset(("max_exit_success", "success_codes", "fail_codes"))
_USUAL_CODES = ExitCodes()


@dataclass(frozen=True, slots=True)
class SentEvent:
    """An event that a dataset sends to Autosys once it is published: a start, a status of a job, or a variable."""

    event: str
    job: str = ""
    status: str = ""
    variable: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """One simulated job, box, file watcher or dataset.

    unreadable: its condition cannot be parsed, so it never starts. status: ON_ICE or ON_HOLD from the beginning.
    is_bypassed: on noexec: it succeeds without a run. load, priority: it queues for its machine if both are above 0,
    the lowest number first. usual: its run time in seconds as the files give it (`avg_runtime`). next_run: what an
    override makes of its next run. term_run_time, max_run_alarm: minutes. sends: events to Autosys after a success.
    """

    name: str
    kind: str
    box: str | None = None
    schedule: Timing = NONE
    condition: Condition | None = None
    unreadable: str | None = None
    box_success: Condition | None = None
    box_failure: Condition | None = None
    machines: tuple[str, ...] = ()
    load: int = 0
    priority: int = 0
    status: Status | None = None
    is_bypassed: bool = False
    auto_hold: bool = False
    job_terminator: bool = False
    box_terminator: bool = False
    n_retrys: int = 0
    term_run_time: int | None = None
    max_run_alarm: int | None = None
    exit_codes: ExitCodes = _USUAL_CODES
    usual: float | None = None
    next_run: Definition | None = None
    sends: tuple[SentEvent, ...] = ()

    @property
    def is_box(self) -> bool:
        """True if it has members and no work of its own."""
        return self.kind == "BOX"

    def waits_for(self) -> frozenset[str]:
        """Return the names of the jobs in its conditions."""
        conditions = (self.condition, self.box_success, self.box_failure)
        return frozenset(
            key_of(atom)
            for each in conditions
            if each is not None
            for atom in atoms(each)
            if not isinstance(atom, GlobalIs)
        )


def definitions(estate: Estate) -> dict[str, Definition]:
    """Return the definitions of all jobs of an estate."""
    with garbage_collection.paused():
        return {name: _definition(job) for name, job in estate.jobs.items()}


def relevant(all_: Mapping[str, Definition], names: Iterable[str]) -> dict[str, Definition]:
    """Return the definitions that can have a part in the starts and ends of these jobs: what they wait for, what sends
    them events, the boxes around them and all members of these, and so on."""
    members: dict[str, list[str]] = {}
    senders: dict[str, list[str]] = {}
    for each in all_.values():
        if each.box is not None:
            members.setdefault(each.box, []).append(each.name)
        for event in each.sends:
            senders.setdefault(event.job, []).append(each.name)
    found = dict.fromkeys(name for name in names if name in all_)
    waiting = list(found)
    for name in waiting:  # grows during iteration
        each = all_[name]
        needed = {*each.waits_for(), *members.get(name, ()), *senders.get(name, ())}
        if each.box is not None:
            needed.add(each.box)
        if each.next_run is not None:
            needed |= each.next_run.waits_for()
        new = [one for one in sorted(needed) if one in all_ and one not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return {name: all_[name] for name in found}


def _definition(job: Job) -> Definition:
    values = job.values
    found = _plain(job, values, job.schedule, job.condition)
    if not job.overrides:
        return found
    changed = values | {each.name: each.value for each in job.overrides}
    condition = job.condition
    if any(each.name == "condition" for each in job.overrides):
        try:
            condition = parse(changed["condition"])
        except ConditionError:
            condition = None
    schedule, _ = read_schedule(changed)
    return replace(found, next_run=_plain(job, changed, schedule, condition))


def _plain(
    job: Job, values: Mapping[str, str], schedule: Schedule, condition: Condition | None
) -> Definition:
    status = _text(values, "status").upper()
    usual = _number(values, "avg_runtime")
    return Definition(
        name=job.name,
        kind=job.type,
        box=values.get("box_name") or None,
        schedule=schedule,
        condition=condition,
        box_success=job.conditions.get("box_success"),
        box_failure=job.conditions.get("box_failure"),
        machines=job.machines,
        unreadable=values["condition"] if values.get("condition") and condition is None else None,
        load=_number(values, "job_load") or 0,
        priority=_number(values, "priority") or 0,
        status=_INITIAL.get(status),
        is_bypassed=status == "ON_NOEXEC",
        auto_hold=_is_set(values, "auto_hold"),
        job_terminator=_is_set(values, "job_terminator"),
        box_terminator=_is_set(values, "box_terminator"),
        n_retrys=schedule.n_retrys,
        term_run_time=schedule.term_run_time,
        max_run_alarm=schedule.max_run_alarm,
        exit_codes=_exit_codes(values),
        usual=usual * 60.0 if usual else None,
    )


def _exit_codes(values: Mapping[str, str]) -> ExitCodes:
    if _CODES.isdisjoint(values):
        return _USUAL_CODES
    return ExitCodes(
        _number(values, "max_exit_success") or 0,
        tuple(_ranges(_text(values, "success_codes"))),
        tuple(_ranges(_text(values, "fail_codes"))),
    )


def _text(values: Mapping[str, str], name: str) -> str:
    return values[name].strip().strip('"') if name in values else ""


def _number(values: Mapping[str, str], name: str) -> int | None:
    text = _text(values, name)
    return int(text) if text.isdecimal() else None


def _is_set(values: Mapping[str, str], name: str) -> bool:
    return _text(values, name).lower()[:1] in ("1", "y", "t")


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for item in text.split(","):
        first, _, last = item.strip().partition("-")
        if first.isdecimal():
            yield int(first), int(last) if last.isdecimal() else int(first)


def _within(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= code <= last for first, last in ranges)
