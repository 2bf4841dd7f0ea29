"""Play a recorded night again: its external inputs and run times are given, its starts are simulated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.simulation.comparison import Difference, Span, agreement, differences, pairs, spans
from headrace.simulation.definitions import Definition
from headrace.simulation.durations import PastRun, RecordedEfforts, UsualEfforts
from headrace.simulation.engine import Effort
from headrace.simulation.outcome import Outcome
from headrace.simulation.playing import Scene, begun
from headrace.simulation.statuses import ENDED, Status
from headrace.simulation.ticks import starts_itself


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run as it was reported. is_forced: an operator set its end."""

    span: Span
    exit_code: int = 0
    is_forced: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """A plan beside what happened. planned: the share of the recorded runs that end within 5 % of the plan; replayed:
    the same for a simulation with the recorded run times. None without runs."""

    differences: list[Difference]
    planned: float | None
    replayed: float | None


def compared(scene: Scene, plan: Outcome, recorded: Sequence[RecordedRun]) -> Compared:
    """Compare a plan with the runs of its period. Jobs without any recorded run are left out."""
    actual = [each.span for each in recorded if plan.since <= each.span.started_at < plan.until]
    names = {each.name for each in actual}
    planned = [each for each in spans(plan) if each.name in names]
    since, until = (datetime.fromtimestamp(each, UTC) for each in (plan.since, plan.until))
    again = spans(replay(scene, recorded, since, until))
    replayed = [each for each in again if each.name in names]
    return Compared(
        differences(planned, actual),
        agreement(pairs(planned, actual), plan.since),
        agreement(pairs(replayed, actual), plan.since),
    )


def replay(scene: Scene, recorded: Iterable[RecordedRun], since: datetime, until: datetime) -> Outcome:
    """Play a period in which runs take as long, and end, as recorded. So does the time before it, as far as it is.

    Files arrive when their watchers ended, and what nothing in the estate starts is started when it was.
    """
    runs: dict[str, list[tuple[PastRun, Effort]]] = {}
    by_hand: list[RecordedRun] = []
    forced: list[RecordedRun] = []
    for each in sorted(recorded, key=lambda run: run.span.started_at):
        span, definition = each.span, scene.definitions.get(each.span.name)
        if definition is None or span.ended_at is None:
            continue
        if each.is_forced and span.status in ENDED:
            forced.append(each)
        else:
            effort = Effort(None, each.exit_code, Status(span.status) if span.status in ENDED else None)
            runs.setdefault(span.name, []).append((PastRun(span.started_at, span.ended_at), effort))
            if _starts_by_hand(definition):
                by_hand.append(each)
    simulation = begun(scene, since, RecordedEfforts(runs, UsualEfforts(otherwise=0.0)))
    for each in by_hand:
        simulation.force(datetime.fromtimestamp(each.span.started_at, UTC), each.span.name)
    for each in forced:
        at = datetime.fromtimestamp(each.span.ended_at or 0.0, UTC)
        simulation.change_status(at, each.span.name, Status(each.span.status))
    return simulation.advance(until)


def _starts_by_hand(definition: Definition) -> bool:
    return definition.box is None and definition.condition is None and not starts_itself(definition.schedule)
