"""Decisions about datasets: the rules evaluated by a process of its own, less the exceptions that count today."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headrace.policies.rules import Outcome, Policies, PolicyException, Rule
from headrace.policies.subjects import Subject

SECONDS = 10  # for all rules, beside a thousandth for each decision, which takes a tenth of it
_SECONDS_PER_DECISION = 0.001


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule that a dataset does not meet, and what follows.

    exception: the one by which it is allowed all the same, or the last one that has expired.
    """

    dataset: str
    rule: Rule
    outcome: Outcome
    exception: PolicyException | None = None


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """A rule that could not be evaluated, on one dataset or at all."""

    rule: Rule
    reason: str
    dataset: str | None = None


def decide(
    policies: Policies, subjects: Sequence[Subject], now: datetime
) -> tuple[list[Decision], list[Unevaluated]]:
    """Return what the rules decide about datasets that do not meet them, and the rules that could not be evaluated.

    In the order of the datasets, then of the rules. now: aware; exceptions count until the end of their day in UTC.
    """
    decisions: list[Decision] = []
    failed: list[Unevaluated] = []
    answers = _evaluated(policies.rules, subjects, now)
    for number, subject in enumerate(subjects):
        for rule in policies.rules:
            answer = answers[rule.name]
            if isinstance(answer, str):
                continue
            met = answer[number]
            if isinstance(met, str):
                failed.append(Unevaluated(rule, met, subject.key))
            elif not met:
                decisions.append(_decision(policies, rule, subject.key, now))
    unended = [
        Unevaluated(rule, found) for rule in policies.rules if isinstance(found := answers[rule.name], str)
    ]
    return decisions, [*unended, *failed]


def _decision(policies: Policies, rule: Rule, dataset: str, now: datetime) -> Decision:
    found = sorted(
        (each for each in policies.exceptions if each.covers(rule.name, dataset)), key=lambda each: each.until
    )
    exception = found[-1] if found else None
    counts = exception is not None and now.date() <= exception.until
    return Decision(dataset, rule, Outcome.ALLOW if counts else Outcome(rule.outcome), exception)


def _evaluated(
    rules: Sequence[Rule], subjects: Sequence[Subject], now: datetime
) -> dict[str, list[bool | str] | str]:
    """Return for each rule the answer of each subject; a text for a rule that did not end."""
    answers: dict[str, list[bool | str] | str] = {}
    given = [
        {
            "dataset": each.dataset,
            "inputs": list(each.inputs),
            "event": each.event,
            "version": each.version,
            "now": now.isoformat(),
        }
        for each in subjects
    ]
    while remaining := [rule for rule in rules if rule.name not in answers]:
        asked = [{"applies": each.applies, "require": each.require} for each in remaining]
        seconds = SECONDS + _SECONDS_PER_DECISION * len(remaining) * len(subjects)
        output, problem = _run(json.dumps({"rules": asked, "subjects": given}), seconds)
        ended = [json.loads(line) for line in output.splitlines() if line.startswith("[")]
        answers |= {rule.name: answer for rule, answer in zip(remaining, ended, strict=False)}
        if len(ended) < len(remaining):
            answers[remaining[len(ended)].name] = problem
    return answers


def _run(asked: str, seconds: float) -> tuple[str, str]:
    """Return the output of the worker as far as it came, and why it came no further."""
    command = [sys.executable, "-P", "-m", "headrace.policies.worker"]  # -P: no module of the project
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as stopped:
        output = stopped.stdout.decode() if isinstance(stopped.stdout, bytes) else stopped.stdout or ""
        return output[: output.rfind("\n") + 1], f"it did not end within {seconds:.0f} seconds"
    reason = done.stderr.strip().rpartition("\n")[2] or f"signal {-done.returncode}"
    return done.stdout, f"its evaluation failed: {reason}"
