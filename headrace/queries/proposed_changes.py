"""Changes of declarations that stewards propose: in OpenMetadata, or by accepting a suggestion."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import Engine

from headrace.access.sensitivity import DatasetKey, Public, PublicField
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.queries.sql import statement


class ChangeState(StrEnum):
    """Where the proposed value is in effect now."""

    KEPT = "KEPT"  # in OpenMetadata
    OVERWRITTEN = "OVERWRITTEN"  # nowhere: the declaration was sent again
    ACCEPTED = "ACCEPTED"  # in Headrace: an accepted suggestion


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A value that a steward wrote, in the words of a declaration.

    column: '' for the dataset itself. value, declared: null for none.
    """

    dataset: DatasetKey
    declared_at: Public[str | None]
    field: Public[str]
    column: Annotated[str, PublicField.COLUMN]
    value: Public[Any]
    declared: Public[Any]
    state: ChangeState
    by: Public[str | None]
    at: datetime


def proposed_changes(engine: Engine, dataset: str | None = None) -> list[ProposedChange]:
    """Return the changes that stewards propose, of one dataset or of all; none that the declaration has."""
    with transaction(engine) as cursor:
        rows = statement("datasets/proposed_changes").execute(
            cursor, {"organisation": current_context().organisation_id, "dataset": dataset}
        )
        return [ProposedChange(**{**row, "state": ChangeState(row["state"])}) for row in rows]
