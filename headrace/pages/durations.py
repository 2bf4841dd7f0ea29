"""Durations of the runs of a process, for a chart and for the sentence that says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from headrace.pages.rendering import duration, moment, seconds

_MIN_COMPARED = 3  # successful runs, below which nothing is called usual


@dataclass(frozen=True, slots=True)
class Bar:
    """A finished run. share: its duration as a share of the longest; here: it is the run that is shown."""

    run_id: str
    state: str
    share: float
    seconds: float
    started_at: datetime
    here: bool


@dataclass(frozen=True, slots=True)
class Durations:
    """The finished runs, oldest first, and a sentence about them."""

    bars: tuple[Bar, ...]
    sentence: str


def durations(runs: Sequence[Mapping[str, Any]], here: str | None = None) -> Durations:
    """Return the durations of runs (rows of the API, newest first). here: the id of the run to compare with the
    others."""
    known = [(run, took) for run in reversed(runs) if (took := seconds(run)) is not None]
    longest = max((took for _, took in known), default=0.0)
    if known and not longest:
        return Durations((), "How long its runs took is unknown: their starts were not reported.")
    bars = tuple(
        Bar(
            run_id=run["run_id"],
            state=run["state"],
            share=took / longest,
            seconds=took,
            started_at=moment(run["started_at"]),
            here=run["run_id"] == here,
        )
        for run, took in known
    )
    return Durations(bars, _sentence(bars))


def _sentence(bars: Sequence[Bar]) -> str:
    others = sorted(bar.seconds for bar in bars if bar.state == "SUCCESS" and not bar.here)
    if len(others) < _MIN_COMPARED:
        return "Too few successful runs to compare with."
    usual = (
        f"of {len(others)} successful runs, half took {duration(median(others))} or less, "
        f"the shortest {duration(others[0])}, the longest {duration(others[-1])}"
    )
    here = next((bar for bar in bars if bar.here), None)
    if here is None:
        return f"{usual[0].upper()}{usual[1:]}."
    if here.state != "SUCCESS":
        return f"This run ended after {duration(here.seconds)}; {usual}."
    slower = sum(here.seconds > each for each in others)
    return f"This run took {duration(here.seconds)}, longer than {slower} of {len(others)}: {usual}."
