"""Play a period: the jobs of an estate, from a warm-up before it to its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo

from headrace.autosys import Clock, Estate
from headrace.autosys.conditions import GlobalIs, atoms
from headrace.simulation.datasets import DatasetTrigger, dataset_definition
from headrace.simulation.definitions import Definition, definitions, relevant
from headrace.simulation.engine import Efforts, Simulation
from headrace.simulation.machines import Machines
from headrace.simulation.outcome import Outcome

_MIN_WARM_UP, _MAX_WARM_UP = timedelta(days=1), timedelta(days=8)


@dataclass(frozen=True, slots=True)
class Scene:
    """The jobs to play, with their surroundings.

    clock: the zone of the server, and calendars. variables: values of global variables. cycles: sets of jobs that wait
    for each other.
    """

    definitions: Mapping[str, Definition]
    clock: Clock
    machines: Machines = field(default_factory=Machines)
    variables: Mapping[str, str] = field(default_factory=dict)
    cycles: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, estate: Estate, zone: tzinfo = UTC) -> Scene:
        """Return an estate as its files describe it. zone: of the server."""
        calendars = estate.calendars
        clock = Clock(zone, calendars.calendars, calendars.cycles)
        return cls(definitions(estate), clock, Machines.of(estate), {}, estate.cycles)

    def with_datasets(self, triggers: Iterable[DatasetTrigger]) -> Scene:
        """Return the scene with datasets beside its jobs."""
        datasets = {each.name: dataset_definition(each) for each in triggers}
        return replace(self, definitions={**self.definitions, **datasets})

    def only(self, *names: str) -> Scene:
        """Return the part that decides when these jobs start and end."""
        return replace(self, definitions=relevant(self.definitions, names))


def play(scene: Scene, since: datetime, until: datetime, efforts: Efforts) -> Outcome:
    """Play a period. The time before it is played as well, so that statuses are those of a usual day."""
    return begun(scene, since, efforts).advance(until)


def begun(scene: Scene, since: datetime, efforts: Efforts) -> Simulation:
    """Return a simulation at the beginning of its warm-up before a period."""
    simulation = Simulation(
        scene.definitions,
        scene.clock,
        since - warm_up(scene.definitions.values()),
        efforts,
        scene.machines.copy(),
        scene.variables,
    )
    simulation.begin_period(since)
    return simulation


def warm_up(definitions: Iterable[Definition]) -> timedelta:
    """Return the time to play before a period: as far as any condition looks back, from one day to eight."""
    minutes = [
        atom.lookback.minutes or 0
        for each in definitions
        if each.condition is not None
        for atom in atoms(each.condition)
        if not isinstance(atom, GlobalIs) and atom.lookback is not None
    ]
    longest = timedelta(minutes=max(minutes, default=0))
    return min(max(longest + timedelta(hours=1), _MIN_WARM_UP), _MAX_WARM_UP)
