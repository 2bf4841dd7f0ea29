"""Check results of a dataset's versions, and the score that they and its deadlines give."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from psycopg import Cursor
from sqlalchemy import Engine

from headrace.access.sensitivity import Public, PublicField, Sensitive, VersionId
from headrace.catalog.lookup import dataset_ids
from headrace.catalog.records import CheckStatus, Outcome
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.nouns import counted
from headrace.queries.sql import statement
from headrace.severity import Severity

SCORED_VERSIONS = 10
SCORED_DAYS = 30
_BLOCKING_WEIGHT = 2  # of a check whose failure blocks a version; others weigh 1
_SHARE_OF_CHECKS = 0.7  # the rest is that of the deadlines
_STORE_SCORES = """
INSERT INTO catalog.dataset_quality (dataset_id, organisation_id, score, scored_at)
SELECT dataset_id, %(organisation)s, score, %(now)s
FROM unnest(%(dataset_ids)s::uuid[], %(scores)s::integer[]) AS scored (dataset_id, score)
ON CONFLICT (dataset_id) DO UPDATE SET score = excluded.score, scored_at = excluded.scored_at
"""


@dataclass(frozen=True, slots=True)
class QualityScore:
    """How good a dataset has been, from 0 to 100; null without checks and deadlines.

    Of the checks of the last 10 versions, the share that passed; one that blocks a version counts twice. Of the
    deadlines of the last 30 days, the share that was met; met late counts half. Checks give 70 % of the score and
    deadlines 30 %; if only one of both is known, it gives all of it. The score is rounded down, so that 100 means that
    nothing failed. explanation: the numbers behind it, in a sentence.
    """

    score: int | None
    explanation: Public[str]
    versions: int
    results: int
    passed: int
    deadlines: int
    met: int
    met_late: int


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


def quality_score(engine: Engine, dataset_id: UUID) -> QualityScore:
    """Return the score of a dataset."""
    with transaction(engine) as cursor:
        return quality_scores(cursor, [dataset_id], datetime.now(UTC))[dataset_id]


def quality_of(engine: Engine, key: str) -> QualityScore:
    """Return the score of a dataset by its key. Raises UnknownDataset."""
    with transaction(engine) as cursor:
        dataset_id = dataset_ids(cursor, {key})[key]
        return quality_scores(cursor, [dataset_id], datetime.now(UTC))[dataset_id]


def quality_scores(
    cursor: Cursor[Any], dataset_ids: Collection[UUID], now: datetime
) -> dict[UUID, QualityScore]:
    """Return the scores of datasets."""
    parameters = {
        "dataset_ids": list(dataset_ids),
        "versions": SCORED_VERSIONS,
        "blocking": _BLOCKING_WEIGHT,
        "since": now - timedelta(days=SCORED_DAYS),
    }
    rows = statement("datasets/quality_score").execute(cursor, parameters).fetchall()
    return {row.pop("dataset_id"): scored(**row) for row in rows}


def store_quality_scores(cursor: Cursor[Any], dataset_ids: Collection[UUID], now: datetime) -> None:
    """Store the current scores of datasets, by which lists are filtered."""
    scores = {
        str(dataset_id): found.score
        for dataset_id, found in quality_scores(cursor, dataset_ids, now).items()
        if found.score is not None
    }
    cursor.execute(
        _STORE_SCORES,
        {
            "organisation": current_context().organisation_id,
            "dataset_ids": list(scores),
            "scores": list(scores.values()),
            "now": now,
        },
    )


def scored(
    *,
    versions: int,
    results: int,
    passed: int,
    weight: int,
    passed_weight: int,
    deadlines: int,
    met: int,
    met_late: int,
) -> QualityScore:
    """Return the score for these numbers. weight, passed_weight: of all results, and of those that passed."""
    checks = float(passed_weight / weight) if weight else None
    kept = (met + met_late / 2) / deadlines if deadlines else None
    if checks is not None and kept is not None:
        share: float | None = _SHARE_OF_CHECKS * checks + (1 - _SHARE_OF_CHECKS) * kept
    else:
        share = kept if checks is None else checks
    parts = []
    if results:
        parts.append(
            f"{passed:,} of {counted(results, 'check')} passed in the last {counted(versions, 'version')}"
        )
    if deadlines:
        late = f" and {met_late:,} met late" if met_late else ""
        parts.append(f"{met:,} of {counted(deadlines, 'deadline')} met{late} in the last {SCORED_DAYS} days")
    return QualityScore(
        score=None if share is None else int(100 * share + 1e-9),
        explanation=", ".join(parts) or "neither a check nor a deadline has a result yet",
        versions=versions,
        results=results,
        passed=passed,
        deadlines=deadlines,
        met=met,
        met_late=met_late,
    )
