"""The pinned contracts that the declarations of a project break, as problems for `headrace check`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.contracts.pins import FOLDER, Comparison, Pinned, compare_contract, pinned_contracts
from headrace.contracts.terms import Terms, terms_by_key
from headrace.declarations.loading.code import project_code
from headrace.execution.plan import Plan
from headrace.execution.problems import DeclarationError


def check_contracts(root: Path, *, complete: bool) -> list[DeclarationError]:
    """Return the problems of the pinned contracts of a project.

    complete: whether all declarations are valid; otherwise a dataset that is missing may be among the others.
    """
    if not (root / FOLDER).is_dir():
        return []
    try:
        plans = project_code().loaded.plans
    except Exception:  # the project's own code, whose problem `check_project` has reported
        if complete:
            raise
        return []
    return broken_contracts(root, plans, complete=complete)


def broken_contracts(root: Path, plans: Iterable[Plan], *, complete: bool) -> list[DeclarationError]:
    """Return a problem for each pinned contract that the declarations break, or that cannot be read."""
    present = terms_by_key(plans)
    problems: list[DeclarationError] = []
    for each in pinned_contracts(root):
        if isinstance(each, DeclarationError):
            problems.append(each)
            continue
        for comparison in compare_contract(each, present):
            if comparison.breaking:
                problems.append(_problem(comparison, each.contract.terms[0], present))
        if complete:
            problems += [
                _missing(each, terms, present) for terms in each.contract.terms if terms.key not in present
            ]
    return problems


def _problem(comparison: Comparison, before: Terms, present: Mapping[str, Terms]) -> DeclarationError:
    after = present[before.key]
    listed = "; ".join(f"{change.field}: {change.message}" for change in comparison.breaking)
    return DeclarationError(
        comparison.file,
        1,
        None,
        f"{before.key} breaks the contract that {comparison.consumer} relies on: {listed}",
        _advice(after, comparison.consumer or ""),
    )


def _missing(pinned: Pinned, before: Terms, present: Mapping[str, Terms]) -> DeclarationError:
    renamed = next((terms for terms in present.values() if terms.renamed_from == before.key), None)
    fate = f"was renamed to {renamed.key}" if renamed else "is not declared any more"
    message = f"{before.key}, whose contract {pinned.consumer} relies on, {fate}"
    hint = (
        f"Its owners ({_owners(renamed or before)}) agree with {pinned.consumer} on the change; then delete this file"
        f"{f', and run `headrace contract pin {renamed.key} --consumer {pinned.consumer}`' if renamed else ''}."
    )
    return DeclarationError(pinned.contract.file, 1, "id", message, hint)


def _advice(terms: Terms, consumer: str) -> str:
    return (
        f"Its owners ({_owners(terms)}) agree with {consumer} on the change; then run "
        f"`headrace contract pin {terms.key} --consumer {consumer}`. Otherwise undo it."
    )


def _owners(terms: Terms) -> str:
    return ", ".join(terms.owners) or "none declared"
