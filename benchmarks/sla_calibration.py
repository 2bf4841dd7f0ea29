"""How early misses are foreseen, and how often wrongly: a simulated year, against the rule of a fixed warning time.

Chains of jobs that wait for each other, with slow Mondays and month-ends, and now and then a job that takes much longer
or fails. Each night is foreseen every twenty minutes from four hours before the deadline on, from what was known then;
the first half of the year is only learned from. The rule to compare with: warn when nothing has come so long before the
deadline.
Run: python -m benchmarks.sla_calibration [--json]
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Annotated, Any
from uuid import uuid4

import numpy as np
import typer
from numpy.typing import NDArray

from catalog.sla.delivery import LIKELY
from catalog.sla.graph import Graph, graph_of
from catalog.sla.habits import DAY, Habit, Zone
from catalog.sla.prediction import Prediction, Present

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS, LEARNED = 364, 182
STEP = 1200.0
DEPTH = 6
FIXED = (15, 30, 60)  # minutes

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Year:
    """One chain: when each job began and ended each day (seconds since 1970), and the deadlines of the last one."""

    began: Floats
    ended: Floats
    deadlines: Floats


@dataclass(slots=True)
class Score:
    """What a rule came to: misses warned of and how early (minutes), warnings of nights that went well."""

    misses: int = 0
    warned: int = 0
    early: list[float] | None = None
    false: int = 0
    nights: int = 0

    def row(self) -> dict[str, Any]:
        """The figures."""
        early = self.early or []
        return {
            "nights": self.nights,
            "misses": self.misses,
            "warned of": self.warned,
            "minutes before, median": round(median(early)) if early else None,
            "false warnings": self.false,
            "false of 100 warnings": round(100 * self.false / max(self.false + self.warned, 1)),
        }


def main(
    chains: Annotated[int, typer.Option(help="Chains of six jobs.")] = 6,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate, foresee, and print how the rules did."""
    random = np.random.default_rng(seed)
    rules = {f"fixed, {minutes} min": Score(early=[]) for minutes in FIXED}
    rules["foreseen"] = Score(early=[])
    inside = total = 0
    bins: dict[int, list[bool]] = {}
    for _ in range(chains):
        year = simulate(random)
        graph = graph_of(_edges())
        for day in range(LEARNED, DAYS):
            deadline = float(year.deadlines[day])
            came = float(year.ended[-1, day])
            missed = came > deadline
            for minutes in FIXED:
                warning = deadline - minutes * 60
                _note(rules[f"fixed, {minutes} min"], missed, warning if came > warning else None, deadline)
            first: float | None = None
            for moment in np.arange(deadline - 4 * 3600, deadline, STEP):
                if came <= moment:
                    break
                found = foresee(graph, year, day, float(moment))
                if found is None:
                    continue
                chance, low, high = found
                bins.setdefault(min(int(chance * 5), 4), []).append(missed)
                total, inside = total + 1, inside + (low <= came <= high)
                if first is None and chance >= LIKELY:
                    first = float(moment)
            _note(rules["foreseen"], missed, first, deadline)
    report = {
        "chains": chains,
        "rules": {name: score.row() for name, score in rules.items()},
        "in the interval of 80 %": round(100 * inside / max(total, 1)),
        "missed by foreseen chance": {
            f"{20 * each} to {20 * each + 20} %": f"{100 * np.mean(missed):.0f} % of {len(missed)}"
            for each, missed in sorted(bins.items())
        },
    }
    typer.echo(json.dumps(report, indent=2))
    if not as_json:
        typer.echo(
            f"{chains} chains of {DEPTH} jobs, nights {LEARNED} to {DAYS}, at risk from a chance of {LIKELY:.0%} on."
        )


def simulate(random: np.random.Generator) -> Year:
    """A chain's year: the first job starts by the clock, each other one when the one before has ended."""
    usual = random.uniform(10, 45, DEPTH) * 60
    began, ended = np.zeros((DEPTH, DAYS)), np.zeros((DEPTH, DAYS))
    for day in range(DAYS):
        midnight = (START + timedelta(days=day)).timestamp()
        date = START + timedelta(days=day)
        slow = (1.25 if date.weekday() == 0 else 1.0) * (1.5 if (date + timedelta(days=1)).day == 1 else 1.0)
        ready = midnight + 3600 + random.exponential(300)
        for job in range(DEPTH):
            took = usual[job] * slow * random.lognormal(0, 0.12)
            if random.random() < 0.012:
                took *= random.uniform(2, 5)  # much data, a full machine
            if random.random() < 0.006:
                took += random.uniform(3600, 3 * 3600)  # failed, and run again by somebody
            began[job, day], ended[job, day] = ready, ready + took
            ready += took + random.exponential(60)
    offsets = ended[-1] - np.array([(START + timedelta(days=day)).timestamp() for day in range(DAYS)])
    promised = np.quantile(offsets, 0.93)  # so that about one of fourteen nights is missed
    deadlines = np.array([(START + timedelta(days=day)).timestamp() + promised for day in range(DAYS)])
    return Year(began, ended, deadlines)


JOBS = [uuid4() for _ in range(DEPTH)]


def _edges() -> list[tuple[Any, Any]]:
    return list(pairwise(JOBS))


def foresee(graph: Graph, year: Year, day: int, now: float) -> tuple[float, float, float] | None:
    """Chance of a miss and interval, from what was known at a moment."""
    habits, running = {}, {}
    for job in range(DEPTH):
        node = graph.number[JOBS[job]]
        known = year.ended[job, max(day - 180, 0) : day + 1]
        begun = year.began[job, max(day - 180, 0) : day + 1]
        over = known <= now
        habits[node] = Habit(known[over], (known - begun)[over])
        if year.began[job, day] <= now < year.ended[job, day]:
            running[node] = float(year.began[job, day])
    zone = Zone("UTC", now - 2 * DAY, now)
    target = graph.number[JOBS[-1]]
    prediction = Prediction(graph, habits, zone, Present(now, running, frozenset()))
    found = prediction.of([target]).get(target)
    return None if found is None else (found.chance_after(float(year.deadlines[day])), found.low, found.high)


def _note(score: Score, missed: bool, warned_at: float | None, deadline: float) -> None:
    score.nights += 1
    score.misses += missed
    if warned_at is not None and missed:
        score.warned += 1
        if score.early is not None:
            score.early.append((deadline - warned_at) / 60)
    elif warned_at is not None:
        score.false += 1


if __name__ == "__main__":
    typer.run(main)
