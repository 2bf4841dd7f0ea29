"""Lint rules for a whole estate: one function per rule, each yielding its findings."""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import date

from headrace.autosys.calendars import Standard
from headrace.autosys.conditions import AllOf, AnyOf, Condition, GlobalIs, JobIs, RequiredStatus
from headrace.autosys.estate import Estate
from headrace.autosys.findings import Finding
from headrace.autosys.undeclared import (
    finding_at,
    unknown_calendars,
    unknown_globals,
    unknown_instances,
    unknown_machines,
)
from headrace.severity import Severity

_SCHEDULER_CALL = re.compile(
    r"(?:^|[\s;&|/(`'\"])(sendevent|autostatus|autorep|job_depends|autosyslog|jil)(?=\s|$)"
)
_PRINTS = re.compile(r"(?:^|[;&|(`\n\"'])\s*(?:echo|printf|print|logger)\b[^;&|(`\n]*\Z")
_NEEDS = {"CMD": "command", "FW": "watch_file", "FT": "watch_file", "DBPROC": "sp_name", "SQL": "sql_command"}


def lint(estate: Estate, *, today: date | None = None) -> tuple[Finding, ...]:
    """Return every finding about the estate, those of reading it first.

    today: the date for the rule about expired calendars; None skips it.
    """
    found = list(estate.findings)
    for rule in RULES:
        found += rule(estate)
    if today is not None:
        found += _expired_calendars(estate, today)
    return tuple(found)


def dangling(estate: Estate) -> Iterator[Finding]:
    """Yield conditions that name an unknown job."""
    lower = {name.lower(): name for name in estate.jobs}
    for name, edges in estate.waited_for.items():
        if name in estate.jobs:
            continue
        for edge in edges:
            if edge.atom.instance is not None:
                continue
            never = not (isinstance(edge.atom, JobIs) and edge.atom.wanted is RequiredStatus.NOT_RUNNING)
            near = lower.get(name.lower())
            yield Finding(
                "estate/dangling",
                Severity.WARNING,
                f"{edge.text} names a job that does not exist; it {'never holds' if never else 'always holds'}",
                edge.file,
                edge.line,
                edge.downstream,
                edge.attribute,
                f"there is {near}: names are case-sensitive"
                if near
                else "was it deleted, or is it missing from the files?",
            )


def boxes(estate: Estate) -> Iterator[Finding]:
    """Yield boxes that are missing, not boxes, or empty."""
    for name, members in estate.members.items():
        box = estate.jobs.get(name)
        if box is not None and box.type == "BOX":
            continue
        what = "is not there" if box is None else f"is not a box but {box.type}"
        for member in members:
            yield finding_at(
                estate.jobs[member],
                "no-box",
                Severity.WARNING,
                f"box {name} {what}; the job never starts",
                "box_name",
                "was the box deleted, or is it missing from the files?" if box is None else None,
            )
    for job in estate.jobs.values():
        if job.type == "BOX" and job.name not in estate.members:
            yield finding_at(job, "empty-box", Severity.WARNING, "a box without members")


def circles(estate: Estate) -> Iterator[Finding]:
    """Yield jobs that wait for each other, or for their own box."""
    for circle in estate.cycles:
        first = estate.jobs[circle[0]]
        if len(circle) == 1 and first.type != "BOX":
            message = "waits for itself"
        else:
            shown = ", ".join(circle[:8]) + (f" and {len(circle) - 8} more" if len(circle) > 8 else "")
            message = f"these wait for each other: {shown}"
        yield finding_at(
            first,
            "cycle",
            Severity.WARNING,
            message,
            "condition" if first.condition else None,
            "unless an OR lets one of them start, one must be started by hand; "
            "results of earlier runs then keep the cycle going",
        )


def hanging_boxes(estate: Estate) -> Iterator[Finding]:
    """Yield boxes whose success waits for a job outside that waits for the box."""
    for edge in estate.edges:
        box = edge.downstream
        if edge.attribute != "box_success" or box in (edge.upstream, *estate.boxes_of(edge.upstream)):
            continue
        if edge.upstream in _after(estate, box):
            yield Finding(
                "estate/hanging-box",
                Severity.WARNING,
                f"{edge.text}: {edge.upstream} waits for the box, so the box runs until someone ends it",
                edge.file,
                edge.line,
                box,
                edge.attribute,
                "let the box succeed by its members, or let the job wait for one of them",
            )


def _after(estate: Estate, name: str) -> set[str]:
    """Return the jobs that wait for this one, directly or through others and their boxes."""
    found: set[str] = set()
    waiting = [name]
    for each in waiting:  # grows during iteration
        after = [edge.downstream for edge in estate.waited_for.get(each, ()) if edge.orders]
        members = estate.members.get(each, ()) if each != name else ()
        new = {*after, *members} - found
        found |= new
        waiting += new
    return found


def without_owner(estate: Estate) -> Iterator[Finding]:
    """Yield jobs without an owner."""
    for job in estate.jobs.values():
        if job.owner is None:
            yield finding_at(
                job, "no-owner", Severity.INFO, "names no owner", hint="who inserts the job becomes its owner"
            )


def incomplete(estate: Estate) -> Iterator[Finding]:
    """Yield jobs without an attribute that their type requires."""
    for job in estate.jobs.values():
        if job.type != "BOX" and job.machine is None:
            yield finding_at(job, "no-machine", Severity.WARNING, "names no machine to run on")
        needed = _NEEDS.get(job.type)
        if needed and not job.values.get(needed):
            yield finding_at(
                job, "no-work", Severity.WARNING, f"a {job.type} job without {needed} does nothing", needed
            )


def never_start(estate: Estate) -> Iterator[Finding]:
    """Yield jobs that nothing starts, those whose condition cannot hold, and the jobs that wait for these."""
    blocked = _blocked(estate)
    for job in estate.jobs.values():
        if job.name in blocked:
            blocker = blocked[job.name]
            if blocker is None:
                yield finding_at(
                    job,
                    "dead",
                    Severity.WARNING,
                    "its condition names jobs that do not exist and can never hold",
                    "condition",
                    "remove the job, or add the file that inserts the missing jobs",
                )
            elif blocker in estate.jobs:  # otherwise its box is missing, which is a separate finding
                yield finding_at(
                    job,
                    "held-up",
                    Severity.WARNING,
                    f"is in box {blocker}, which never starts"
                    if job.box == blocker
                    else f"waits for {blocker}, which never starts",
                    "box_name" if job.box == blocker else "condition",
                )
        elif job.box is None and not job.values.get("condition") and not job.schedule.starts_itself:
            is_orphan = job.name not in estate.waited_for and job.name not in estate.members
            yield finding_at(
                job,
                "orphan" if is_orphan else "by-hand",
                Severity.INFO,
                "no box, no condition and no clock starts it: by hand or by an event only"
                + ("; and nothing waits for it" if is_orphan else ""),
                hint="dead, unless a person or a script starts it",
            )


def clocks_in_boxes(estate: Estate) -> Iterator[Finding]:
    """Yield members of boxes with a schedule of their own."""
    for job in estate.jobs.values():
        if job.box is not None and job.schedule.starts_itself:
            yield finding_at(
                job,
                "clock-in-box",
                Severity.WARNING,
                "starts by its own clock, but only while its box runs; the box runs on until it has",
                "date_conditions",
                "move the schedule to the box",
            )


def hidden_calls(estate: Estate) -> Iterator[Finding]:
    """Yield commands that call the scheduler themselves."""
    for job in estate.jobs.values():
        command = job.command or ""
        calls = (
            call
            for call in _SCHEDULER_CALL.finditer(command)
            if not _PRINTS.search(command, 0, call.start(1))
        )
        if found := next(calls, None):
            yield finding_at(
                job,
                "hidden-call",
                Severity.WARNING,
                f"the command calls {found[1]}: a dependency that no condition shows",
                "command",
                "check there what it starts or waits for",
            )


def name_clashes(estate: Estate) -> Iterator[Finding]:
    """Yield jobs whose names differ only in case."""
    seen: dict[str, str] = {}
    for name, job in estate.jobs.items():
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield finding_at(
                job,
                "name-clash",
                Severity.WARNING,
                f"differs from {other} only in case; conditions may refer to the other",
            )


def initial_states(estate: Estate) -> Iterator[Finding]:
    """Yield jobs inserted on hold, on ice or without execution, and those with a pending override."""
    for job in estate.jobs.values():
        status = job.values.get("status", "").upper()
        if status in ("ON_HOLD", "ON_ICE", "ON_NOEXEC"):
            yield finding_at(job, "initial-state", Severity.INFO, f"is inserted {status}", "status")
        if job.overrides:
            names = ", ".join(each.name for each in job.overrides)
            yield finding_at(
                job, "override", Severity.INFO, f"only its next run has other values for {names}"
            )


def _expired_calendars(estate: Estate, today: date) -> Iterator[Finding]:
    for name, calendar in estate.calendars.calendars.items():
        if isinstance(calendar, Standard) and calendar.days and max(calendar.days) < today:
            yield Finding(
                "calendar/expired",
                Severity.WARNING,
                f"its last date is {max(calendar.days)}",
                calendar.file,
                calendar.line,
                name,
                hint="jobs that use it no longer start; extend it",
            )


def _blocked(estate: Estate) -> dict[str, str | None]:
    """Return the jobs that cannot start by themselves, each with the job or box that it waits for in vain.

    None: its condition names only unknown jobs.
    """
    blocked: dict[str, str | None] = {}
    for job in estate.jobs.values():
        if job.box is not None and job.box not in estate.jobs:
            blocked[job.name] = job.box
        elif job.condition is not None and not _can_hold(job.condition, estate, ()):
            blocked[job.name] = None
    waiting = list(blocked)
    for name in waiting:  # grows during iteration
        for edge in estate.waited_for.get(name, ()):
            condition = estate.jobs[edge.downstream].condition
            if (
                edge.downstream not in blocked
                and condition is not None
                and not _can_hold(condition, estate, blocked)
            ):
                blocked[edge.downstream] = name
                waiting.append(edge.downstream)
        for member in estate.members.get(name, ()):
            if member not in blocked:
                blocked[member] = name
                waiting.append(member)
    return blocked


def _can_hold(condition: Condition, estate: Estate, blocked: Container[str]) -> bool:
    match condition:
        case AllOf(parts):
            return all(_can_hold(part, estate, blocked) for part in parts)
        case AnyOf(parts):
            return any(_can_hold(part, estate, blocked) for part in parts)
        case GlobalIs():
            return True
        case _:
            keeps_apart = isinstance(condition, JobIs) and condition.wanted is RequiredStatus.NOT_RUNNING
            there = condition.job in estate.jobs and condition.job not in blocked
            return condition.instance is not None or there or keeps_apart


RULES: tuple[Callable[[Estate], Iterable[Finding]], ...] = (
    dangling,
    unknown_instances,
    boxes,
    circles,
    hanging_boxes,
    without_owner,
    incomplete,
    never_start,
    clocks_in_boxes,
    unknown_calendars,
    unknown_machines,
    unknown_globals,
    hidden_calls,
    name_clashes,
    initial_states,
)
