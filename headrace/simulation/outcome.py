"""The outcome of a simulation: the runs, why each started, and the deadlines that were missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headrace.autosys import Start
from headrace.autosys.conditions import Atom, GlobalIs, unparse
from headrace.simulation.conditions import key_of
from headrace.simulation.definitions import Definition
from headrace.simulation.statuses import JobState, Status


@dataclass(slots=True)
class Run:
    """One simulated run. Times are seconds since 1970.

    tick: the time of its schedule that let it start. box_started_at: when its box started. cause: the run whose end
    made its condition hold; None if the condition held when the clock or the box came. event: what from outside let it
    start. met: the atoms of its condition that held, each with the newest run of its job. queued_at: when it began to
    wait for its machine. box_run: the run of its box. starts_exactly, is_exact: False if a run time before the start,
    or the end, is unknown: then that time is a lower bound. attempts: with retries.
    """

    index: int
    name: str
    started_at: float
    tick: Start | None = None
    box_started_at: float | None = None
    cause: int | None = None
    event: str | None = None
    met: tuple[tuple[Atom, int | None], ...] = ()
    queued_at: float | None = None
    box_run: int | None = None
    is_bypassed: bool = False
    is_override: bool = False
    starts_exactly: bool = True
    is_exact: bool = True
    attempts: int = 1
    ended_at: float | None = None
    status: Status = Status.RUNNING
    exit_code: int | None = None
    machine: str | None = None


@dataclass(slots=True)
class Outcome:
    """The runs by start, those of the warm-up included. since, until: the period that was asked for.

    ticks: the times at which a schedule with must-times was due. states: the status of each job at the end. variables:
    the values that are known of global variables at the end. stopped:
    jobs that start each other without end, with the number of their runs when they were stopped. unscheduled: jobs
    whose schedule has no start or an unknown one, with the reason.
    """

    definitions: Mapping[str, Definition]
    since: float
    until: float
    runs: list[Run] = field(default_factory=list)
    ticks: list[tuple[str, Start]] = field(default_factory=list)
    states: Mapping[str, JobState] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    unscheduled: dict[str, str] = field(default_factory=dict)

    def of_period(self) -> Iterator[Run]:
        """Yield the runs that start in the period."""
        return (run for run in self.runs if self.since <= run.started_at < self.until)

    def why(self, run: Run) -> tuple[str, ...]:
        """Return the reasons of a start, one per line."""
        return tuple(self._why(run))

    def _why(self, run: Run) -> Iterator[str]:
        definition = self.definitions[run.name]
        if run.is_override and definition.next_run is not None:
            definition = definition.next_run
            yield "override_job changes its next run"
        if run.event is not None:
            yield run.event
        if run.box_started_at is not None:
            yield f"box {definition.box} starts {shown(run.box_started_at)}"
        if run.tick is not None:
            yield f"the clock: {', '.join(run.tick.why)}, {run.tick.local:%Y-%m-%d %H:%M %Z}"
        yield from self._met(run)
        if run.queued_at is not None:
            yield f"it waited for machine {run.machine} from {shown(run.queued_at)}"
        if run.attempts > 1:
            yield f"{run.attempts} attempts (n_retrys {definition.n_retrys})"

    def _met(self, run: Run) -> Iterator[str]:
        """Describe the atoms of the condition that held, that whose change let the run start last."""
        for atom, index in sorted(run.met, key=lambda each: each[1] is not None and each[1] == run.cause):
            if isinstance(atom, GlobalIs):
                yield f"assumed to hold: {unparse(atom)}"
            elif index is not None:
                before = self.runs[index]
                ended = f"ends {shown(before.ended_at)}" if before.ended_at is not None else "is running"
                yield f"{unparse(atom)}: {atom.job} {ended}"
            elif (of := self.definitions.get(key_of(atom))) is None:
                yield f"assumed to hold: {unparse(atom)}"
            elif of.status is Status.ON_ICE:
                yield f"{unparse(atom)} holds: {atom.job} is on ice"
            else:
                yield f"{unparse(atom)} by an earlier run"


def moment(at: float | None) -> datetime | None:
    """Return an instant in UTC; None for none."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def shown(at: float) -> str:
    """Return an instant for a sentence."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
