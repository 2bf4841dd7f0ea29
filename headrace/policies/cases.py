"""The tests of rules: each case is a dataset, and what its rule must decide about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.policies.evaluation import decide
from headrace.policies.rules import Case, Outcome, Policies, Rule
from headrace.policies.subjects import Subject, completed


@dataclass(frozen=True, slots=True)
class Tested:
    """A case and what its rule decided; None, with the reason, if it could not be evaluated."""

    case: Case
    outcome: Outcome | None
    reason: str | None = None

    @property
    def passed(self) -> bool:
        """True if the rule decided what the case expects."""
        return self.outcome is self.case.outcome


def tested(policies: Policies) -> list[Tested]:
    """Evaluate each case with its rule, without exceptions, in the order of the file. Cases of invalid rules fail."""
    together: dict[tuple[str, datetime | None], list[int]] = {}
    for number, case in enumerate(policies.cases):
        together.setdefault((case.rule, case.now), []).append(number)
    rules = {rule.name: rule for rule in policies.rules}
    results: dict[int, Tested] = {}
    for (name, now), numbers in together.items():
        cases = [policies.cases[number] for number in numbers]
        found = (
            _outcomes(rules[name], cases, now or datetime.now(UTC))
            if name in rules
            else [Tested(case, None, "its rule is invalid") for case in cases]
        )
        results.update(zip(numbers, found, strict=True))
    return [results[number] for number in range(len(policies.cases))]


def untested(policies: Policies) -> list[str]:
    """Return the names of rules without a case."""
    named = {case.rule for case in policies.cases}
    return [rule.name for rule in policies.rules if rule.name not in named]


def _outcomes(rule: Rule, cases: Sequence[Case], now: datetime) -> list[Tested]:
    found = [
        Subject(
            case.rule,
            completed(case.dataset),
            [completed(each) for each in case.inputs],
            event=case.event or rule.at[0],
            version={"rows": 0, "bytes": 0, "partitions": [], **case.version},
            run={
                "technology": "",
                "system": "",
                "process": "",
                "status": "",
                "historical": False,
                **case.run,
            },
        )
        for case in cases
    ]
    decisions, failed = decide(Policies(rules=(rule,)), found, now)
    outcomes = {each.number: each.outcome for each in decisions}
    reasons = {each.number: each.reason for each in failed}
    return [
        Tested(case, None, reason)
        if (reason := reasons.get(number, reasons.get(None))) is not None
        else Tested(case, outcomes.get(number, Outcome.ALLOW))
        for number, case in enumerate(cases)
    ]
