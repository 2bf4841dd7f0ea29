"""Sensitive columns in the terminal: those that are, and those that may be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import typer

from headrace.terminal.frames import open_stores
from headrace.terminal.output import show, table

if TYPE_CHECKING:
    from headrace.catalog.sensitivity import SensitiveColumn
    from headrace.catalog.sensitivity_suggestions import StoredSuggestion
    from headrace.personal_data.suggestions import Suggestion

_HEADS = ["column", "may be", "confidence", "because"]


def suggested(keys: Sequence[str], rows: int, min_confidence: float) -> list[tuple[str, Suggestion]]:
    """Look at datasets, and return what is suggested for each.

    keys: empty for all datasets. Raises UnknownDataset, MissingVersion for a dataset without a published version.
    """
    from headrace import queries
    from headrace.database.connection import connect
    from headrace.orchestration.personal_data import look_for_personal_data

    engine, stores = connect(), cache(open_stores)
    names = keys or [each.key for each in queries.status(engine) if each.newest_tag is not None]
    found: list[tuple[str, Suggestion]] = []
    for number, key in enumerate(names, 1):
        typer.echo(f"{key} ({number} of {len(names)})", err=True)
        of_dataset = look_for_personal_data(engine, stores, key, rows)
        found += [(key, each) for each in of_dataset if each.confidence >= min_confidence]
    return found


def show_found(found: Sequence[tuple[str, Suggestion]]) -> None:
    """Print what a look at datasets suggests."""
    if found:
        show(table(_HEADS, [_cells(key, each) for key, each in found]))
    else:
        typer.echo("No column looks like personal data, apart from those that are sensitive already.")


def show_suggestions(found: Sequence[StoredSuggestion]) -> None:
    """Print stored suggestions, with the decisions about them."""
    if not found:
        typer.echo(
            "No suggestion waits for a decision; `headrace sensitive suggest` looks for personal data."
        )
        return
    rows = [(*_cells(each.dataset, each), each.status, _decided(each)) for each in found]
    show(table([*_HEADS, "status", "decided"], rows))


def show_sensitive_columns(columns: Sequence[SensitiveColumn]) -> None:
    """Print the sensitive columns of a dataset, and why they are."""
    show(table(["column", "status", "source"], [_row(each) for each in columns]))


def _cells(key: str, each: Suggestion | StoredSuggestion) -> tuple[str, str, str, str]:
    return f"{key}.{each.column}", each.kind, f"{each.confidence:.0%}", each.reason


def _decided(each: StoredSuggestion) -> str | None:
    return ": ".join(filter(None, [each.by, each.note])) or None


def _row(column: SensitiveColumn) -> tuple[object, ...]:
    source = f"{column.from_dataset}.{column.from_column}" if column.from_dataset is not None else None
    decision = f"{column.by}: {column.reason}" if column.by is not None else None
    if column.status == "LAPSED":
        decision = f"cleared for other sources by {decision}"
    return column.column, column.status, "; ".join(filter(None, [source, decision])) or None
