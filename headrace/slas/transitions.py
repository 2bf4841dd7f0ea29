"""Collects the status changes of an objective while it is evaluated."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from headrace.slas.status import Change, DeadlineOutcome, Evaluation, ObjectiveState, Outcome, SlaStatus

_QUIET = frozenset((SlaStatus.ON_TRACK, SlaStatus.MET_LATE, SlaStatus.MISSED))


class Transitions:
    """The changes of an objective during one evaluation: `turn` and `settle` record them, `end` returns the result."""

    def __init__(self, objective_state: ObjectiveState) -> None:
        self._before = objective_state
        self.state, self._since, self._reason = (
            objective_state.state,
            objective_state.since,
            objective_state.reason,
        )
        self._changes: list[Change] = []
        self._outcomes: list[Outcome] = []

    def turn(
        self,
        at: datetime,
        state: SlaStatus,
        reason: str,
        deadline: datetime | None,
        partition: str = "",
        *,
        arrived_at: datetime | None = None,
    ) -> None:
        """Change the status; a no-op if it is unchanged.

        A change is never dated before the previous one: a late report changes the status when it is known.
        """
        if state is self.state:
            return
        at = max(at, self._since)
        self._changes.append(Change(at, self.state, state, reason, deadline, partition, arrived_at))
        self.state, self._since, self._reason = state, at, reason

    def quieten(
        self, at: datetime, deadline: datetime | None, partition: str = "", *, ever: bool = True
    ) -> None:
        """End a risk or a pause; the outcome of the last deadline stays visible."""
        if self.state not in _QUIET:
            status, reason = (
                (SlaStatus.ON_TRACK, "not due yet") if ever else (SlaStatus.UNKNOWN, "no data yet")
            )
            self.turn(at, status, reason, deadline, partition)

    def lose(self, at: datetime, reason: str) -> None:
        """Set the status to UNKNOWN."""
        self.turn(at, SlaStatus.UNKNOWN, reason, None)
        self._reason = reason

    def settle(
        self, deadline: datetime, partition: str, result: DeadlineOutcome, arrived_at: datetime | None
    ) -> None:
        """Record the outcome of a deadline."""
        self._outcomes.append(Outcome(deadline, partition, result, arrived_at))

    def end(self, now: datetime, next_at: datetime, **values: Any) -> Evaluation:  # noqa: ANN401 - fields of any type
        """Return the result; `values` are fields of the state."""
        objective_state = replace(
            self._before,
            state=self.state,
            since=self._since,
            reason=self._reason,
            evaluated_at=now,
            next_at=next_at,
            **values,
        )
        return Evaluation(objective_state, self._changes, self._outcomes)


def format_moment(moment: datetime) -> str:
    """Format a moment for a sentence."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
