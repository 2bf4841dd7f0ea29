"""The policies of a project that its declarations do not meet, as problems for `headrace check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headrace.declarations.loading.code import project_code
from headrace.errors import UnknownDataset
from headrace.execution.problems import DeclarationError
from headrace.gates import Moment
from headrace.policies.evaluation import Decision, Unevaluated, decide
from headrace.policies.folder import FOLDER
from headrace.policies.rules import EXCEPTIONS, Outcome, Policies, load_policies
from headrace.policies.subjects import subjects


@dataclass(frozen=True, slots=True)
class Checked:
    """A project by its policies. problems: refused datasets, and invalid entries of `policies/`."""

    problems: list[DeclarationError]
    warnings: list[DeclarationError]


def check_policies(root: Path, *, complete: bool) -> Checked:
    """Evaluate the policies of a project on its declarations.

    complete: whether all declarations are valid; otherwise the rules of the valid ones are evaluated.
    """
    if not (root / FOLDER).is_dir():
        return Checked([], [])
    policies = load_policies(root).of(Moment.DECLARATION)
    try:
        plans = project_code().loaded.plans
    except Exception:  # the project's own code, whose problem `check_project` has reported
        if complete:
            raise
        return Checked(list(policies.problems), [])
    found = subjects(plans, root)
    decisions, failed = decide(policies, found, datetime.now(UTC))
    places = {each.key: each.declared_at for each in found}
    problems = [_problem(each, places) for each in decisions if each.outcome in (Outcome.HOLD, Outcome.DENY)]
    return Checked(
        [*policies.problems, *(_failure(policies, each) for each in failed), *problems],
        [_problem(each, places) for each in decisions if each.outcome is Outcome.WARN],
    )


def decisions_of(root: Path, keys: Sequence[str]) -> tuple[list[Decision], list[DeclarationError]]:
    """Return the decisions about declared datasets that do not meet a rule, and what is wrong in `policies/`.

    keys: of the datasets; empty: all. Raises UnknownDataset, and the problem of the project's own code.
    """
    policies = load_policies(root).of(Moment.DECLARATION)
    declared = subjects(project_code().loaded.plans, root)
    if unknown := set(keys) - {each.key for each in declared}:
        raise UnknownDataset(f"{', '.join(sorted(unknown))} is not declared in this project")
    found = [each for each in declared if not keys or each.key in keys]
    decisions, failed = decide(policies, found, datetime.now(UTC))
    return decisions, [*policies.problems, *(_failure(policies, each) for each in failed)]


def _problem(decision: Decision, places: dict[str, tuple[Path, int]]) -> DeclarationError:
    file, line = places[decision.dataset]
    rule, exception = decision.rule, decision.exception
    hint = rule.comply
    if decision.outcome is Outcome.HOLD:
        hint += f" Or an approver adds an exception to {FOLDER}/{EXCEPTIONS}."
    if exception is not None:
        hint += f" The exception that {exception.approved_by} approved has expired on {exception.until}."
    return DeclarationError(
        file, line, None, f"{decision.dataset}: {rule.message} (policy {rule.name})", hint
    )


def _failure(policies: Policies, failed: Unevaluated) -> DeclarationError:
    about = f" for {failed.dataset}" if failed.dataset is not None else ""
    hint = "Correct the expression; docs/policies.md lists the fields." if failed.dataset else "Simplify it."
    place = policies.places[failed.rule.name]
    return place.error(
        ("require",), f"the rule {failed.rule.name} cannot be evaluated{about}: {failed.reason}", hint
    )
