"""Check results of a dataset's versions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import Engine

from headrace.access.sensitivity import Public, PublicField, Sensitive, VersionId
from headrace.catalog.records import CheckStatus, Outcome
from headrace.database.connection import transaction
from headrace.queries.sql import statement
from headrace.severity import Severity


@dataclass(frozen=True, slots=True)
class QualityRow:
    """The result of one check on one version; kind, column and severity as currently declared, if declared."""

    version_id: VersionId
    tag: Public[str]
    partition: Public[str | None]
    outcome: Outcome
    name: Public[str]
    status: CheckStatus
    failed_rows: int | None
    detail: Annotated[dict[str, Any], Sensitive.CHECK]
    executed_at: datetime
    kind: Public[str | None]
    column: Annotated[str | None, PublicField.COLUMN]
    severity: Severity | None
    produced_at: datetime


def quality(
    engine: Engine,
    dataset_id: UUID,
    *,
    partition: str | None = None,
    status: CheckStatus | None = None,
    after: tuple[datetime, UUID, str] | None = None,
    limit: int = 100,
) -> list[QualityRow]:
    """Return the results, those of the newest versions first, after (time of the version, its id, name of the
    check)."""
    parameters = {
        "dataset_id": dataset_id,
        "partition": partition,
        "status": status,
        "before_at": after and after[0],
        "before_id": after and after[1],
        "after_name": after and after[2],
        "limit": limit,
    }
    with transaction(engine) as cursor:
        rows = statement("datasets/quality_results").execute(cursor, parameters).fetchall()
    return [
        QualityRow(
            **{
                **{name: value for name, value in row.items() if name != "partition_key"},
                "partition": row["partition_key"] or None,
                "outcome": Outcome(row["outcome"]),
                "status": CheckStatus(row["status"]),
                "severity": row["severity"] and Severity(row["severity"]),
            }
        )
        for row in rows
    ]
