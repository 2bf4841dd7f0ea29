"""The layout of a night as a timeline: a row for each process, with runs as bars and deadlines as marks. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from headrace.pages.rendering import moment

WIDTH = 1000  # units of the drawing, from the start of the time to its end
_STEPS = (1, 2, 3, 6, 12, 24)  # hours
_MAX_TICKS = 12
_MIN_WIDTH = 2.0  # units of a bar, so that a short run is seen


@dataclass(frozen=True, slots=True)
class Bar:
    """A run: from `left`, `width` units wide; began: seconds after the start of its night."""

    run: Mapping[str, Any]
    left: float
    width: float
    began: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A deadline, or the expected time of a delivery, at `left`."""

    deadline: Mapping[str, Any]
    left: float
    is_forecast: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned run of a process: of one that has not started, the expected run from `left`, `width` units wide.

    slack: how much later it could end without moving a deadline or the end of the night. is_critical: on the critical
    path.
    """

    run: Mapping[str, Any]
    left: float
    width: float
    slack: timedelta
    is_critical: bool


@dataclass(frozen=True, slots=True)
class _Scale:
    """The place of each time from `since`, in `length` seconds. now: the end of runs that have not ended."""

    since: float
    length: float
    now: datetime

    def left(self, at: str | datetime) -> float:
        share = (moment(at).timestamp() - self.since) / self.length
        return round(min(1.0, max(0.0, share)) * WIDTH, 2)


@dataclass
class Row:
    """A process with its runs and marks, in a time; past: its runs in the night that is compared. members: those of a
    box. Bars are laid out when they are drawn: there are more rows than are."""

    key: str
    scale: _Scale
    runs: list[Mapping[str, Any]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    past: list[Mapping[str, Any]] = field(default_factory=list)
    past_scale: _Scale | None = None
    members: list[Row] = field(default_factory=list)
    plan: Plan | None = None

    @cached_property
    def bars(self) -> list[Bar]:
        """The bars of its runs."""
        return [_bar(run, self.scale) for run in self.runs]

    @cached_property
    def earlier(self) -> list[Bar]:
        """The bars of its runs in the night that is compared."""
        return [_bar(run, self.past_scale) for run in self.past] if self.past_scale else []

    @property
    def begin(self) -> float:
        """Where its first bar or mark is."""
        lefts = [mark.left for mark in self.marks]
        if self.runs:
            lefts.append(self.scale.left(self.runs[0]["started_at"]))
        if self.past and self.past_scale:
            lefts.append(self.past_scale.left(self.past[0]["started_at"]))
        if self.plan:
            lefts.append(self.plan.left)
        return min(lefts, default=WIDTH)

    @property
    def is_expected(self) -> bool:
        """It has not started, and is expected to."""
        return self.plan is not None and self.plan.run["is_expected"]

    @property
    def is_critical(self) -> bool:
        """It is on the critical path."""
        return self.plan is not None and self.plan.is_critical

    @property
    def states(self) -> set[str]:
        """The states of its runs and of those of its members."""
        return {run["state"] for run in self.runs}.union(*(row.states for row in self.members))

    @property
    def difference(self) -> tuple[timedelta, timedelta] | None:
        """How much later its first run began and how much longer it took than in the other night, if both ended."""
        if not self.bars or not self.earlier:
            return None
        now, then = self.bars[0].run, self.earlier[0].run
        if now["ended_at"] is None or then["ended_at"] is None:
            return None
        return timedelta(seconds=self.bars[0].began - self.earlier[0].began), _took(now) - _took(then)


@dataclass(frozen=True, slots=True)
class Tick:
    """A time at `left`."""

    at: datetime
    left: float


def rows(
    night: Mapping[str, Any],
    now: datetime,
    compared: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Return the rows in the order in which they begin; runs of a box are members of its row."""
    scale = _scale(moment(night["since"]), moment(night["until"]), now)
    found: dict[str, Row] = {}
    boxes: dict[str, str] = {}
    for run in night["runs"]:
        _row(found, run["process_key"], scale).runs.append(run)
        _note_box(boxes, run)
    for deadline in night["deadlines"]:
        for key in deadline["process_keys"] or [deadline["key"]]:
            _row(found, key, scale).marks.extend(_marks(deadline, scale))
    if compared is not None:
        other = _Scale(moment(compared["since"]).timestamp(), scale.length, now)
        for run in compared["runs"]:
            row = _row(found, run["process_key"], scale)
            row.past.append(run)
            row.past_scale = other
            _note_box(boxes, run)
    if plan is not None:
        critical = set(plan["critical"])
        for run in plan["runs"]:
            key = run["process_key"]
            left = scale.left(run["starts_at"])
            width = max(_MIN_WIDTH, scale.left(run["ends_at"]) - left)
            _row(found, key, scale).plan = Plan(
                run, left, width, timedelta(seconds=run["slack_seconds"]), key in critical
            )
            _note_box(boxes, run)
    return _nested(found, boxes)


def as_of(night: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return the night as it was at a time: what had not ended was running, and what had not started was open."""
    runs = []
    for run in night["runs"]:
        if moment(run["started_at"]) > at:
            runs.append({**run, "state": "NOT_STARTED"})
        elif run["ended_at"] is None or moment(run["ended_at"]) > at:
            runs.append({**run, "state": "RUNNING", "ended_at": at.isoformat()})
        else:
            runs.append(run)
    deadlines = [{**each, "state": _state(each, at), "expected_at": None} for each in night["deadlines"]]
    return {**night, "runs": runs, "deadlines": deadlines}


def _state(deadline: Mapping[str, Any], at: datetime) -> str:
    arrived, due = deadline["arrived_at"], moment(deadline["deadline"])
    if arrived and moment(arrived) <= at:
        return "MET" if moment(arrived) <= due else "MET_LATE"
    return "LATE" if due <= at else "DUE"


def ticks(since: datetime, until: datetime) -> list[Tick]:
    """Return the start and equal steps of hours from it, as many as can be read beside each other."""
    hours = (until - since) / timedelta(hours=1)
    step = next((each for each in _STEPS if hours / each <= _MAX_TICKS), _STEPS[-1])
    number = math.ceil(hours / step)
    times = [since + timedelta(hours=step * place) for place in range(number)]
    scale = _scale(since, until, since)
    return [Tick(at, scale.left(at)) for at in times]


def _note_box(boxes: dict[str, str], run: Mapping[str, Any]) -> None:
    if run["box"] and run["box"] != run["process_key"]:
        boxes[run["process_key"]] = run["box"]


def _nested(found: Mapping[str, Row], boxes: Mapping[str, str]) -> list[Row]:
    top = []
    for key, row in found.items():
        box = found.get(boxes.get(key, ""))
        if box is None or _is_inside(boxes.get(key), key, boxes):
            top.append(row)
        else:
            box.members.append(row)
    for row in found.values():
        row.members.sort(key=lambda each: (each.begin, each.key))
    return sorted(top, key=lambda each: (each.begin, each.key))


def _is_inside(box: str | None, key: str, boxes: Mapping[str, str]) -> bool:
    """Return True if a box is in its own member, which reports in disorder can say."""
    seen = set()
    while box is not None and box not in seen:
        if box == key:
            return True
        seen.add(box)
        box = boxes.get(box)
    return False


def _row(found: dict[str, Row], key: str, scale: _Scale) -> Row:
    row = found.get(key)
    if row is None:
        row = found[key] = Row(key, scale)
    return row


def _scale(since: datetime, until: datetime, now: datetime) -> _Scale:
    return _Scale(since.timestamp(), (until - since).total_seconds(), now)


def _bar(run: Mapping[str, Any], scale: _Scale) -> Bar:
    left = scale.left(run["started_at"])
    width = max(_MIN_WIDTH, scale.left(run["ended_at"] or scale.now) - left)
    return Bar(run, left, width, moment(run["started_at"]).timestamp() - scale.since)


def _marks(deadline: Mapping[str, Any], scale: _Scale) -> Iterable[Mark]:
    yield Mark(deadline, scale.left(deadline["deadline"]))
    expected = deadline["expected_at"]
    if expected and 0 <= moment(expected).timestamp() - scale.since < scale.length:
        yield Mark(deadline, scale.left(expected), is_forecast=True)


def _took(run: Mapping[str, Any]) -> timedelta:
    return moment(run["ended_at"]) - moment(run["started_at"])
