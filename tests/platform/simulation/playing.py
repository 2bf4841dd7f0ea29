"""Play the jobs of a text, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headrace.simulation.definitions import Definition
from headrace.simulation.engine import Effort, Simulation
from headrace.simulation.outcome import Outcome
from headrace.simulation.playing import Scene, begun

from ..autosys.building import estate

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Scripted:
    """Runs that take as many minutes, and end with the exit codes, as given; 30 minutes and 0 otherwise."""

    minutes: Mapping[str, float] = field(default_factory=dict)
    codes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def of(self, definition: Definition, started_at: float, attempt: int) -> Effort:
        codes = self.codes.get(definition.name, (0,))
        return Effort(self.minutes.get(definition.name, 30) * 60, codes[min(attempt, len(codes)) - 1])


def play(
    text: str,
    since: datetime = MONDAY,
    until: datetime = datetime(2026, 3, 3, tzinfo=UTC),
    *,
    minutes: Mapping[str, float] | None = None,
    codes: Mapping[str, tuple[int, ...]] | None = None,
    before: Callable[[Simulation], None] = lambda simulation: None,
    warm: bool = True,
) -> Outcome:
    """Play a day. before: plans what comes from outside. warm: after the day before."""
    scene, efforts = Scene.of(estate(text)), Scripted(minutes or {}, codes or {})
    simulation = (
        begun(scene, since, efforts)
        if warm
        else Simulation(scene.definitions, scene.clock, since, efforts, scene.machines)
    )
    before(simulation)
    return simulation.advance(until)


def rows(outcome: Outcome) -> list[str]:
    """Return the runs of the period by start and name: start, end, name and status."""

    def shown(at: float | None) -> str:
        return "     " if at is None else f"{datetime.fromtimestamp(at, UTC):%H:%M}"

    found = sorted(outcome.of_period(), key=lambda run: (run.started_at, run.name))
    return [f"{shown(run.started_at)} {shown(run.ended_at)} {run.name} {run.status}" for run in found]


def job(name: str, *rest: str) -> str:
    return f"insert_job: {name}\njob_type: CMD\nmachine: m\n" + "".join(f"{each}\n" for each in rest)


def clock(name: str, at: str, *rest: str) -> str:
    return job(name, "date_conditions: 1", "days_of_week: all", f'start_times: "{at}"', *rest)


def box(name: str, at: str, *rest: str) -> str:
    return clock(name, at, *rest).replace("job_type: CMD\nmachine: m", "job_type: BOX")
