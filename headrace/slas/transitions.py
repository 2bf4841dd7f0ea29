"""Collects the status changes of an objective while it is evaluated."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from headrace.slas.status import Change, DeadlineOutcome, Evaluation, ObjectiveState, Outcome, SlaStatus

_QUIET = frozenset((SlaStatus.ON_TRACK, SlaStatus.MET_LATE, SlaStatus.MISSED))


class Transitions:
    """A promise under judgement: `turn` and `settle` note what happens, `end` says what it comes to."""

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
        """The promise takes a state; nothing happens where it has it already.

        A change is never before the one that it follows: what is reported late changes the state when it is known.
        """
        if state is self.state:
            return
        at = max(at, self._since)
        self._changes.append(Change(at, self.state, state, reason, deadline, partition, arrived_at))
        self.state, self._since, self._reason = state, at, reason

    def quieten(
        self, at: datetime, deadline: datetime | None, partition: str = "", *, ever: bool = True
    ) -> None:
        """Nothing is wrong for now: a risk or a pause ends; how the last deadline ended goes on being said."""
        if self.state not in _QUIET:
            calm, reason = (
                (SlaStatus.ON_TRACK, "there is time") if ever else (SlaStatus.UNKNOWN, "nothing has come yet")
            )
            self.turn(at, calm, reason, deadline, partition)

    def lose(self, at: datetime, reason: str) -> None:
        """It cannot be told any more how it stands."""
        self.turn(at, SlaStatus.UNKNOWN, reason, None)
        self._reason = reason

    def settle(
        self, deadline: datetime, partition: str, result: DeadlineOutcome, arrived_at: datetime | None
    ) -> None:
        """A deadline has its outcome."""
        self._outcomes.append(Outcome(deadline, partition, result, arrived_at))

    def end(self, now: datetime, next_at: datetime, **values: Any) -> Evaluation:  # noqa: ANN401 - fields of any type
        """What it comes to; `values` are fields of the standing."""
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
    """A moment in a sentence."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
