"""Contracts in the terminal: the changes since they were made, and the fields that a declaration does not have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.nouns import counted
from headrace.terminal.output import show, table

if TYPE_CHECKING:
    from headrace.contracts.pins import Comparison
    from headrace.contracts.reading import Contract


def print_changes(dataset: str, comparisons: Iterable[Comparison]) -> None:
    """Print the changes since each contract."""
    rows = [
        (
            each.consumer or each.file.name,
            each.version,
            "BREAKING" if change.breaking else "compatible",
            change.field,
            change.message,
        )
        for each in comparisons
        for change in each.changes
    ]
    if rows:
        show(table(["contract", "version", "change", "field", "difference"], rows))
    else:
        sys.stdout.write(f"{dataset} differs from none of its contracts.\n")


def print_lost(contract: Contract) -> None:
    """Print to standard error the fields of a contract that its declaration does not hold."""
    for each in contract.lost:
        became = "left out" if each.kept is None else f"became {each.kept!r}"
        sys.stderr.write(f"{contract.file}:{each.line}: {each.path}: {each.value!r} {became}\n")
    if contract.lost:
        count = counted(len(contract.lost), "field")
        sys.stderr.write(f"{count} of the contract differ in the declaration, as listed above.\n")
