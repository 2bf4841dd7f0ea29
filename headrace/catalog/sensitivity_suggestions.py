"""Suggestions of columns with personal data, and what stewards decide about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, Public, PublicField
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.sql import statement
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.errors import DecisionRefused
from headrace.personal_data.suggestions import Suggestion

_ACCEPTED = """
SELECT column_name FROM catalog.sensitivity_suggestion JOIN catalog.dataset USING (dataset_id)
WHERE dataset.organisation_id = %s AND full_name = ANY (%s) AND sensitivity_suggestion.status = 'ACCEPTED'
"""
_FORGET = """
DELETE FROM catalog.sensitivity_suggestion
WHERE dataset_id = %s AND status = 'PENDING' AND column_name <> ALL (%s)
"""
_LOOKED = """
INSERT INTO catalog.personal_data_look (dataset_id, organisation_id, looked_at) VALUES (%s, %s, %s)
ON CONFLICT (dataset_id) DO UPDATE SET looked_at = greatest(personal_data_look.looked_at, excluded.looked_at)
"""
_DECIDE = """
UPDATE catalog.sensitivity_suggestion SET status = %s, decided_by = %s, decided_at = now(), note = %s
WHERE dataset_id = %s AND column_name = %s AND status <> %s
"""
_STATUS = "SELECT status FROM catalog.sensitivity_suggestion WHERE dataset_id = %s AND column_name = %s"


class SuggestionStatus(StrEnum):
    """The decision of a steward about a suggestion, if there is one."""

    PENDING = "PENDING"
    ACCEPTED = "ACCEPTED"  # the column is sensitive
    DISMISSED = "DISMISSED"  # not suggested again, unless of another kind or for another reason


@dataclass(frozen=True, slots=True)
class StoredSuggestion:
    """A suggestion, and the decision about it. confidence: from 0 to 1; reason: without any value."""

    dataset: DatasetKey
    column: Annotated[str, PublicField.COLUMN]
    kind: Public[str]
    confidence: float
    reason: Public[str]
    suggested_at: datetime
    status: SuggestionStatus
    by: Public[str | None]
    at: datetime | None
    note: Public[str | None]


def store_suggestions(engine: Engine, dataset: str, found: Sequence[Suggestion], looked_at: datetime) -> None:
    """Store what a look at a dataset suggests, in place of its former suggestions without a decision.

    Accepted suggestions stay as they are. Dismissed ones stay too, unless the kind is another, or the reason apart from
    its counts, which differ between samples. looked_at: before the versions were chosen.
    """
    organisation = current_context().organisation_id
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {dataset})[dataset]
        cursor.execute(_FORGET, [dataset_id, [each.column for each in found]])
        for each in found:
            statement("store_suggestion").execute(
                cursor,
                {
                    "organisation": organisation, "dataset_id": dataset_id, "column": each.column, "kind": each.kind,
                    "confidence": each.confidence, "reason": each.reason,
                },
            )  # fmt: skip
        cursor.execute(_LOOKED, [dataset_id, organisation, looked_at])


def stored_suggestions(
    engine: Engine, dataset: str | None = None, status: SuggestionStatus | None = SuggestionStatus.PENDING
) -> list[StoredSuggestion]:
    """Return suggestions of one dataset or all, of one status or any, the most probable first.

    Those about columns that are tagged in the declaration need no decision, and are pending nowhere.
    """
    with transaction(engine) as cursor:
        rows = statement("suggestions").execute(
            cursor,
            {"organisation": current_context().organisation_id, "dataset": dataset, "status": status},
        )
        return [StoredSuggestion(**{**row, "status": SuggestionStatus(row["status"])}) for row in rows]


def accepted_columns(engine: Engine, datasets: Collection[str]) -> frozenset[str]:
    """Return the columns of these datasets that stewards accepted as sensitive."""
    with transaction(engine) as cursor:
        rows = cursor.execute(_ACCEPTED, [current_context().organisation_id, list(datasets)])
        return frozenset(row["column_name"] for row in rows)


def datasets_to_look_at(engine: Engine) -> list[str]:
    """Return the datasets of which other rows were published since they were last looked at."""
    with transaction(engine) as cursor:
        rows = statement("datasets_to_look_at").execute(
            cursor, {"organisation": current_context().organisation_id}
        )
        return [row["full_name"] for row in rows]


def accept(cursor: Cursor[Any], dataset: str, column: str, *, by: str, note: str | None = None) -> None:
    """Accept a suggestion, also one that was dismissed, in the current transaction: the column is sensitive.

    Raises UnknownDataset; DecisionRefused if there is none, or it is already accepted.
    """
    _decide(cursor, dataset, column, SuggestionStatus.ACCEPTED, by, note)


def dismiss(cursor: Cursor[Any], dataset: str, column: str, *, by: str, note: str) -> None:
    """Dismiss a suggestion, also one that was accepted, in the current transaction: it makes nothing sensitive.

    Raises UnknownDataset; DecisionRefused if there is none, or it is already dismissed.
    """
    _decide(cursor, dataset, column, SuggestionStatus.DISMISSED, by, note)


def _decide(
    cursor: Cursor[Any], dataset: str, column: str, status: SuggestionStatus, by: str, note: str | None
) -> None:
    dataset_id = dataset_ids(cursor, {dataset})[dataset]
    if cursor.execute(_DECIDE, [status, by, note, dataset_id, column, status]).rowcount:
        return
    if cursor.execute(_STATUS, [dataset_id, column]).fetchone() is None:
        raise DecisionRefused(
            f"nothing is suggested for {dataset}.{column}; `headrace sensitive suggest {dataset}` looks at it"
        )
    raise DecisionRefused(f"the suggestion for {dataset}.{column} is already {status.lower()}")
