"""The quality score of a dataset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from headrace.catalog.records import Check, CheckResult, CheckStatus, DatasetRecord
from headrace.database.connection import transaction
from headrace.publishing.publication import generations, publish
from headrace.queries.names import find_dataset
from headrace.queries.quality import QualityScore, quality_score, scored
from headrace.registration.declarations import register
from headrace.severity import Severity
from tests.platform.conftest import Draft

NONE = dict.fromkeys(
    ("versions", "results", "passed", "weight", "passed_weight", "deadlines", "met", "met_late"), 0
)


@pytest.mark.parametrize(
    ("numbers", "score"),
    [
        ({}, None),
        ({"versions": 2, "results": 4, "passed": 4, "weight": 8, "passed_weight": 8}, 100),
        ({"versions": 2, "results": 4, "passed": 3, "weight": 8, "passed_weight": 6}, 75),
        ({"deadlines": 4, "met": 2, "met_late": 1}, 62),
        ({"results": 10, "passed": 9, "weight": 10, "passed_weight": 9, "deadlines": 10, "met": 10}, 93),
        ({"results": 999, "passed": 998, "weight": 999, "passed_weight": 998}, 99),
    ],
)
def test_the_score_follows_from_checks_and_deadlines(numbers: dict[str, int], score: int | None) -> None:
    assert scored(**{**NONE, **numbers}).score == score


def test_the_numbers_behind_a_score_are_a_sentence() -> None:
    found = scored(
        versions=10, results=120, passed=118, weight=240, passed_weight=238, deadlines=30, met=28, met_late=1
    )

    assert found.explanation == (
        "118 of 120 checks passed in the last 10 versions, 28 of 30 deadlines met and 1 met late in the last 30 days"
    )


def test_a_check_that_blocks_counts_twice_and_older_versions_not(catalog: Engine, draft: Draft) -> None:
    checks = (Check("ids", "not_null", "id"), Check("names", "not_null", "id", severity=Severity.WARNING))
    register(catalog, [DatasetRecord("mart/scored", "csv", checks=checks)])
    for number in range(12):
        results = (
            CheckResult("ids", CheckStatus.FAIL if number < 3 else CheckStatus.PASS, 0),
            CheckResult("names", CheckStatus.WARN if number == 11 else CheckStatus.PASS, 0),
        )
        expected = generations(catalog, [("mart/scored", None)])["mart/scored", None]
        publish(catalog, None, [draft("mart/scored", generation=expected, checks=results)])

    found = of(catalog, "mart/scored")

    assert (found.versions, found.results, found.passed) == (10, 20, 18)
    assert found.score == 90  # of 30, one that counts twice and one that counts once failed


def test_paused_and_old_deadlines_do_not_count(catalog: Engine) -> None:
    now = datetime.now(UTC)
    with transaction(catalog) as cursor:
        for days, outcome in [(1, "MET"), (2, "MET_LATE"), (3, "MISSED"), (4, "PAUSED"), (40, "MISSED")]:
            cursor.execute(
                "INSERT INTO catalog.sla_outcome (organisation_id, subject_id, kind, ordinal, deadline, dataset_id, "
                "partition_key, outcome) SELECT organisation_id, dataset_id, 'DELIVERY', 0, %s, dataset_id, '', %s "
                "FROM catalog.dataset WHERE full_name = 'mart/report'",
                [now - timedelta(days=days), outcome],
            )

    found = of(catalog, "mart/report")

    assert (found.deadlines, found.met, found.met_late, found.score) == (3, 1, 1, 50)


def of(engine: Engine, key: str) -> QualityScore:
    found = find_dataset(engine, key)
    assert found is not None
    return quality_score(engine, found.id)
