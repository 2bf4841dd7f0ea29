"""The layout of a night as a timeline: a row for each process, with runs as bars and deadlines as marks. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from headrace.pages.rendering import moment

WIDTH = 1000  # units of the drawing, from the start of the time to its end
_STEPS = (1, 2, 3, 6, 12, 24)  # hours
_MAX_TICKS = 12
_MIN_WIDTH = 2.0  # units of a bar, so that a short run is seen


@dataclass(frozen=True, slots=True)
class Bar:
    """A run: from `left`, `width` units wide; began: how long after the start of its night."""

    run: Mapping[str, Any]
    left: float
    width: float
    began: timedelta


@dataclass(frozen=True, slots=True)
class Mark:
    """A deadline, or the expected time of a delivery, at `left`."""

    deadline: Mapping[str, Any]
    left: float
    is_forecast: bool = False


@dataclass(slots=True)
class Row:
    """A process with its bars and marks; earlier: its bars in the night that is compared. members: those of a box."""

    key: str
    bars: list[Bar] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    earlier: list[Bar] = field(default_factory=list)
    members: list[Row] = field(default_factory=list)

    @property
    def begin(self) -> float:
        """Where its first bar or mark is."""
        bars, marks = [*self.bars, *self.earlier], self.marks
        return min([*(bar.left for bar in bars), *(mark.left for mark in marks)], default=WIDTH)

    @property
    def states(self) -> set[str]:
        """The states of its runs and of those of its members."""
        return {bar.run["state"] for bar in self.bars}.union(*(row.states for row in self.members))

    @property
    def difference(self) -> tuple[timedelta, timedelta] | None:
        """How much later its first run began and how much longer it took than in the other night, if both ended."""
        if not self.bars or not self.earlier:
            return None
        now, then = self.bars[0].run, self.earlier[0].run
        if now["ended_at"] is None or then["ended_at"] is None:
            return None
        return self.bars[0].began - self.earlier[0].began, _took(now) - _took(then)


@dataclass(frozen=True, slots=True)
class Tick:
    """A time at `left`."""

    at: datetime
    left: float


def rows(night: Mapping[str, Any], now: datetime, compared: Mapping[str, Any] | None = None) -> list[Row]:
    """Return the rows in the order in which they begin; runs of a box are members of its row."""
    since, until = moment(night["since"]), moment(night["until"])
    found: dict[str, Row] = {}
    boxes: dict[str, str] = {}
    for run in night["runs"]:
        found.setdefault(run["process_key"], Row(run["process_key"])).bars.append(
            _bar(run, since, until, now)
        )
        _note_box(boxes, run)
    for deadline in night["deadlines"]:
        for key in deadline["process_keys"] or [deadline["key"]]:
            row = found.setdefault(key, Row(key))
            row.marks += _marks(deadline, since, until)
    if compared is not None:
        shift = since - moment(compared["since"])
        for run in compared["runs"]:
            row = found.setdefault(run["process_key"], Row(run["process_key"]))
            row.earlier.append(_bar(run, since - shift, until - shift, now))
            _note_box(boxes, run)
    return _nested(found, boxes)


def ticks(since: datetime, until: datetime) -> list[Tick]:
    """Return the start and equal steps of hours from it, as many as can be read beside each other."""
    hours = (until - since) / timedelta(hours=1)
    step = next((each for each in _STEPS if hours / each <= _MAX_TICKS), _STEPS[-1])
    number = math.ceil(hours / step)
    times = [since + timedelta(hours=step * place) for place in range(number)]
    return [Tick(at, _place(at, since, until)) for at in times]


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


def _bar(run: Mapping[str, Any], since: datetime, until: datetime, now: datetime) -> Bar:
    left = _place(moment(run["started_at"]), since, until)
    right = _place(moment(run["ended_at"]) if run["ended_at"] else now, since, until)
    return Bar(run, left, max(_MIN_WIDTH, right - left), moment(run["started_at"]) - since)


def _marks(deadline: Mapping[str, Any], since: datetime, until: datetime) -> Iterable[Mark]:
    yield Mark(deadline, _place(moment(deadline["deadline"]), since, until))
    expected = deadline["expected_at"]
    if expected and since <= moment(expected) < until:
        yield Mark(deadline, _place(moment(expected), since, until), is_forecast=True)


def _place(at: datetime, since: datetime, until: datetime) -> float:
    return round(min(1.0, max(0.0, (at - since) / (until - since))) * WIDTH, 2)


def _took(run: Mapping[str, Any]) -> timedelta:
    return moment(run["ended_at"]) - moment(run["started_at"])
