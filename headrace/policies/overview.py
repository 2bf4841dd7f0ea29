"""The policies of this process's project as readers see them: rules, what does not meet them, exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, Public
from headrace.database.connection import transaction
from headrace.execution.problems import relative_to
from headrace.gates import Moment
from headrace.policies.evaluation import Decision, decide
from headrace.policies.folder import project_with_policies
from headrace.policies.rules import Outcome, PolicyException, load_policies
from headrace.policies.subjects import Subject, known_facts


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule. not_met: the number of declared datasets that do not meet it, without those that an exception allows;
    None: it is not evaluated on declarations."""

    name: Public[str]
    at: Public[tuple[str, ...]]
    outcome: Public[str]
    applies: Public[str | None]
    require: Public[str]
    message: Public[str]
    comply: Public[str]
    not_met: int | None


@dataclass(frozen=True, slots=True)
class ExceptionRow:
    """An exception from a rule. datasets: keys, in which `*` is any text; until: the last day."""

    rule: Public[str]
    datasets: Public[tuple[str, ...]]
    until: date
    approved_by: Public[str]
    reason: Public[str]
    is_expired: bool


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A declared dataset that does not meet a rule. outcome: `allow` with an exception that counts today."""

    dataset: DatasetKey
    rule: Public[str]
    outcome: Public[str]
    message: Public[str]
    comply: Public[str]
    exception: ExceptionRow | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The policies of a project. problems: of its files, and of rules that cannot be evaluated."""

    rules: tuple[RuleRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    exceptions: tuple[ExceptionRow, ...] = ()
    problems: Public[tuple[str, ...]] = ()


def overview(engine: Engine) -> Overview:
    """Return the policies, evaluated on the project's datasets as the catalog knows them; empty without any."""
    root = project_with_policies()
    if root is None:
        return Overview()
    policies = load_policies(root)
    declared = policies.of(Moment.DECLARATION)
    with transaction(engine) as cursor:
        declared_here = known_facts(cursor, None)
        read = {key for each in declared_here.values() for key in each["inputs"]}
        known = declared_here | known_facts(cursor, read - declared_here.keys())
    subjects = [
        Subject(key, each, [known[name] for name in each["inputs"]]) for key, each in declared_here.items()
    ]
    now = datetime.now(UTC)
    decisions, failed = decide(declared, subjects, now)
    refused = [each for each in decisions if each.outcome is not Outcome.ALLOW]
    with relative_to(root):
        problems = [*map(str, policies.problems)]
    problems += [f"{each.rule.name} cannot be evaluated for {each.dataset}: {each.reason}" for each in failed]
    return Overview(
        tuple(
            RuleRow(
                rule.name,
                tuple(rule.at),
                rule.outcome,
                rule.applies,
                rule.require,
                rule.message,
                rule.comply,
                sum(each.rule.name == rule.name for each in refused) if rule in declared.rules else None,
            )
            for rule in policies.rules
        ),
        tuple(_decision(each, now.date()) for each in decisions),
        tuple(_exception(each, now.date()) for each in policies.exceptions),
        tuple(problems),
    )


def _decision(decision: Decision, today: date) -> DecisionRow:
    exception = decision.exception
    return DecisionRow(
        decision.dataset,
        decision.rule.name,
        decision.outcome,
        decision.rule.message,
        decision.rule.comply,
        None if exception is None else _exception(exception, today),
    )


def _exception(exception: PolicyException, today: date) -> ExceptionRow:
    return ExceptionRow(
        exception.rule,
        exception.datasets,
        exception.until,
        exception.approved_by,
        exception.reason,
        exception.until < today,
    )
