"""Decisions about datasets: what rules answer, less the exceptions that count today."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from headrace.policies.process import answers
from headrace.policies.rules import Outcome, Policies, PolicyException, Rule
from headrace.policies.subjects import Subject

SECONDS = 10  # for each rule, beside a thousandth for each decision, which takes a tenth of it
_SECONDS_PER_DECISION = 0.001
_SECONDS_SKIPPED = 60  # until a rule that did not end is tried again: all others wait for it
_unended: dict[tuple[str | None, str], tuple[float, str]] = {}  # until when, and the problem, by expressions


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule that a dataset does not meet, and what follows.

    number: its place among the subjects. exception: the one by which it is allowed all the same, or the last one that
    has expired.
    """

    number: int
    dataset: str
    rule: Rule
    outcome: Outcome
    exception: PolicyException | None = None


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """A rule that could not be evaluated, on one dataset or at all. number: its place among the subjects."""

    rule: Rule
    reason: str
    number: int | None = None
    dataset: str | None = None


def decide(
    policies: Policies, subjects: Sequence[Subject], now: datetime
) -> tuple[list[Decision], list[Unevaluated]]:
    """Return what the rules decide about datasets that do not meet them, and the rules that could not be evaluated.

    In the order of the datasets, then of the rules. now: aware; exceptions count until the end of their day in UTC.
    """
    decisions: list[Decision] = []
    failed: list[Unevaluated] = []
    answered = _evaluated(policies.rules, subjects, now)
    for number, subject in enumerate(subjects):
        for rule in policies.rules:
            answer = answered[rule.name]
            if isinstance(answer, str):
                continue
            met = answer[number]
            if isinstance(met, str):
                failed.append(Unevaluated(rule, met, number, subject.key))
            elif not met:
                decisions.append(_decision(policies, rule, number, subject.key, now))
    unended = [
        Unevaluated(rule, found) for rule in policies.rules if isinstance(found := answered[rule.name], str)
    ]
    return decisions, [*unended, *failed]


def _decision(policies: Policies, rule: Rule, number: int, dataset: str, now: datetime) -> Decision:
    found = sorted(
        (each for each in policies.exceptions if each.covers(rule.name, dataset)), key=lambda each: each.until
    )
    exception = found[-1] if found else None
    counts = exception is not None and now.date() <= exception.until
    return Decision(number, dataset, rule, Outcome.ALLOW if counts else Outcome(rule.outcome), exception)


def _evaluated(
    rules: Sequence[Rule], subjects: Sequence[Subject], now: datetime
) -> dict[str, list[bool | str] | str]:
    """Return for each rule the answer of each subject; a text for a rule that did not end."""
    found: dict[str, list[bool | str] | str] = {}
    for rule in rules:
        until, problem = _unended.get((rule.applies, rule.require), (0.0, ""))
        if monotonic() < until:
            found[rule.name] = problem
    given = [
        {
            "dataset": each.dataset,
            "inputs": list(each.inputs),
            "event": each.event,
            "version": each.version,
            "run": each.run,
            "now": now.isoformat(),
        }
        for each in subjects
    ]
    while remaining := [rule for rule in rules if rule.name not in found]:
        asked = [{"applies": each.applies, "require": each.require} for each in remaining]
        seconds = SECONDS + _SECONDS_PER_DECISION * len(subjects)
        started = monotonic()
        ended, problem = answers(asked, given, seconds)
        found |= {rule.name: answer for rule, answer in zip(remaining, ended, strict=False)}
        if len(ended) < len(remaining):
            last = remaining[len(ended)]
            found[last.name] = problem
            if monotonic() >= started + seconds:
                _unended[last.applies, last.require] = (monotonic() + _SECONDS_SKIPPED, problem)
    return found
