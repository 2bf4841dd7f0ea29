"""Lead time of predicted misses, and false warnings: a simulated year, compared with a fixed warning time.

Chains of jobs that wait for each other, with slow Mondays and month-ends, nights of two to four times the usual rows,
and now and then a job that takes much longer or fails. Each night is forecast every twenty minutes from four hours
before the deadline on, from what was known then, with the landed rows and without; the first half of the year is only
used for learning. The rule to compare with: warn when nothing has arrived so long before the deadline.
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

from headrace.slas.arrivals import LIKELY
from headrace.slas.forecasting.history import DAY, ArrivalHistory, Zone
from headrace.slas.forecasting.prediction import Prediction, PresentState
from headrace.slas.graph import Graph, graph_of

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS, LEARNED = 364, 182
STEP = 1200.0
DEPTH = 6
FIXED = (15, 30, 60)  # minutes
FORESEEN = "forecasted"
USUAL_ROWS = 1_000_000
MANY = 1.7  # times as many

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Year:
    """One chain, day by day: when data landed and how many rows, when each job began and ended, the deadline.

    Moments are seconds since 1970.
    """

    landed: Floats
    rows: Floats
    began: Floats
    ended: Floats
    deadlines: Floats


@dataclass(slots=True)
class Score:
    """Results of a rule: predicted misses and their lead time (minutes), warnings in nights that went well."""

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
    counted = {"foreseen, rows unknown": False, FORESEEN: True}
    rules |= {name: Score(early=[]) for name in counted}
    many = {name: Score(early=[]) for name in counted}
    inside = total = 0
    bins: dict[int, list[bool]] = {}
    graph = graph_of(EDGES)
    for _ in range(chains):
        year = simulate(random)
        for day in range(LEARNED, DAYS):
            deadline = float(year.deadlines[day])
            arrived = float(year.ended[-1, day])
            missed = arrived > deadline
            for minutes in FIXED:
                warning = deadline - minutes * 60
                _note(
                    rules[f"fixed, {minutes} min"], missed, warning if arrived > warning else None, deadline
                )
            for name, is_counted in counted.items():
                first: float | None = None
                for moment in np.arange(deadline - 4 * 3600, min(deadline, arrived), STEP):
                    found = forecast_deadlines(graph, year, day, float(moment), is_counted=is_counted)
                    if found is None:
                        continue
                    miss_probability, low, high = found
                    if first is None and miss_probability >= LIKELY:
                        first = float(moment)
                    if is_counted:
                        bins.setdefault(min(int(miss_probability * 5), 4), []).append(missed)
                        total, inside = total + 1, inside + (low <= arrived <= high)
                _note(rules[name], missed, first, deadline)
                if year.rows[day] > MANY * USUAL_ROWS:
                    _note(many[name], missed, first, deadline)
    report = {
        "chains": chains,
        "rules": {name: score.row() for name, score in rules.items()},
        "nights of many rows": {name: score.row() for name, score in many.items()},
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
    """A chain's year: the first job starts by the clock, each other one when the one before has ended.

    Of each chain some jobs take as long whatever there is, and some take longer for more rows.
    """
    usual = random.uniform(10, 45, DEPTH) * 60
    power = random.uniform(0.5, 1.0, DEPTH) * (random.random(DEPTH) < 0.7)
    landed, rows = np.zeros(DAYS), np.zeros(DAYS)
    began, ended = np.zeros((DEPTH, DAYS)), np.zeros((DEPTH, DAYS))
    for day in range(DAYS):
        date = START + timedelta(days=day)
        midnight = date.timestamp()
        slow = (1.25 if date.weekday() == 0 else 1.0) * (1.5 if (date + timedelta(days=1)).day == 1 else 1.0)
        much = random.lognormal(0, 0.15) * (random.uniform(2, 4) if random.random() < 0.03 else 1.0)
        landed[day], rows[day] = midnight + 1800 + random.exponential(300), round(USUAL_ROWS * much)
        ready = midnight + 3600 + random.exponential(300)
        for job in range(DEPTH):
            took = usual[job] * slow * much ** power[job] * random.lognormal(0, 0.12)
            if random.random() < 0.012:
                took *= random.uniform(2, 5)  # a full machine
            if random.random() < 0.006:
                took += random.uniform(3600, 3 * 3600)  # failed, and run again by a person
            began[job, day], ended[job, day] = ready, ready + took
            ready += took + random.exponential(60)
    midnights = np.array([(START + timedelta(days=day)).timestamp() for day in range(DAYS)])
    deadline_after = np.quantile(
        ended[-1] - midnights, 0.93
    )  # so that about one of fourteen nights is missed
    return Year(landed, rows, began, ended, midnights + deadline_after)


LANDED = uuid4()
JOBS = [uuid4() for _ in range(DEPTH)]
EDGES = list(pairwise((LANDED, *JOBS)))


def forecast_deadlines(
    graph: Graph, year: Year, day: int, now: float, *, is_counted: bool = True
) -> tuple[float, float, float] | None:
    """Chance of a miss and interval, from what was known at a moment; is_counted: with the rows that have landed."""
    days = slice(max(day - 180, 0), day + 1)
    over = year.landed[days] <= now
    landed, unknown = year.landed[days][over], np.full(over.sum(), np.nan)
    rows = year.rows[days][over] if is_counted else unknown
    arrival_histories = {graph.number[LANDED]: ArrivalHistory(landed, unknown, rows)}
    running = {}
    for job in range(DEPTH):
        node = graph.number[JOBS[job]]
        known, begun = year.ended[job, days], year.began[job, days]
        over = known <= now
        arrival_histories[node] = ArrivalHistory(
            known[over], (known - begun)[over], np.full(over.sum(), np.nan)
        )
        if year.began[job, day] <= now < year.ended[job, day]:
            running[node] = float(year.began[job, day])
    zone = Zone("UTC", now - 2 * DAY, now)
    target = graph.number[JOBS[-1]]
    prediction = Prediction(graph, arrival_histories, zone, PresentState(now, running, frozenset()))
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
