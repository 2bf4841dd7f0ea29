"""Two plays of a period, or a play and what happened, run by run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.simulation.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Span:
    """A run of a job, simulated or not. Times are seconds since 1970; ended_at: None if it had not ended."""

    name: str
    started_at: float
    ended_at: float | None
    status: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A run in both, or None in one of them."""

    name: str
    before: Span | None
    after: Span | None

    @property
    def later(self) -> float | None:
        """How many seconds later it ends; negative if earlier, None if it does not end in both."""
        if self.before is None or self.after is None:
            return None
        if self.before.ended_at is None or self.after.ended_at is None:
            return None
        return self.after.ended_at - self.before.ended_at


def spans(outcome: Outcome) -> list[Span]:
    """Return the runs of the period."""
    return [Span(run.name, run.started_at, run.ended_at, run.status.value) for run in outcome.of_period()]


def differences(before: Iterable[Span], after: Iterable[Span]) -> list[Difference]:
    """Return the pairs of runs that differ, by name and number, in the order of their starts."""
    found = [each for each in pairs(before, after) if _differs(each)]
    return sorted(found, key=lambda each: ((each.after or each.before or _NEVER).started_at, each.name))


def pairs(before: Iterable[Span], after: Iterable[Span]) -> list[Difference]:
    """Pair the runs of each job in order: the first with the first, and so on."""
    sides = _by_name(before), _by_name(after)
    found = []
    for name in dict.fromkeys((*sides[0], *sides[1])):
        left, right = sides[0].get(name, []), sides[1].get(name, [])
        for place in range(max(len(left), len(right))):
            found.append(
                Difference(
                    name,
                    left[place] if place < len(left) else None,
                    right[place] if place < len(right) else None,
                )
            )
    return found


def agreement(found: Iterable[Difference], since: float, tolerance: float = 0.05) -> float | None:
    """Return the share of the runs that end within a tolerance: a share of the time from `since` to the recorded end.

    None without a run that ended in both.
    """
    ends = [(each.later, each.after.ended_at) for each in found if each.later is not None and each.after]
    if not ends:
        return None
    return sum(abs(later) <= tolerance * ((end or since) - since) for later, end in ends) / len(ends)


_NEVER = Span("", 0.0, None, "")
_SECOND = 1.0


def _differs(each: Difference) -> bool:
    if each.before is None or each.after is None or each.before.status != each.after.status:
        return True
    moved = abs(each.after.started_at - each.before.started_at)
    return moved >= _SECOND or abs(each.later or 0.0) >= _SECOND


def _by_name(found: Iterable[Span]) -> dict[str, list[Span]]:
    by_name: defaultdict[str, list[Span]] = defaultdict(list)
    for each in found:
        by_name[each.name].append(each)
    return by_name
