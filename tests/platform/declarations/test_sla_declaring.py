"""`sla:` in the catalog's and in Dagster's form."""

import pytest
from pydantic import ValidationError

from headrace.declarations.automation import freshness_policy, run_limits, sla_record
from headrace.declarations.declaration import Sla
from headrace.slas.objectives import objectives


def test_an_sla_has_objectives_and_run_limits():
    sla = Sla.model_validate(
        {
            "deadline": "0 6 * * *",
            "timezone": "Europe/London",
            "calendar": "XLON",
            "partition": "previous_business_day",
            "warn_before": "30m",
            "max_run": "2h",
            "min_rows": 1000,
        }
    )
    record = sla_record(sla)
    assert record == {
        "deadline": "0 6 * * *",
        "timezone": "Europe/London",
        "calendar": "XLON",
        "partition": {"days_before": 1, "business": True, "format": "%Y-%m-%d"},
        "warn_before_seconds": 1800,
        "min_rows": 1000,
    }
    assert [kind.value for kind, _, _ in objectives(record)] == ["DELIVERY", "VOLUME"]
    assert run_limits(sla) == {"max_run_seconds": 7200}
    assert freshness_policy(sla) is None  # Dagster's policy knows no calendars


def test_deadlines_by_the_cron_alone_are_dagsters_policy_too():
    assert freshness_policy(Sla.model_validate({"deadline": "0 6 * * *"})) is not None
    assert freshness_policy(Sla.model_validate({"max_age": "2h", "min_rows": 1})) is not None
    assert sla_record(Sla.model_validate({"max_run": "2h"})) is None


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "needs `deadline`, `max_age`"),
        ({"deadline": "0 6 * * *", "max_age": "1d"}, "either `deadline` or `max_age`"),
        ({"max_age": "1d", "calendar": "XLON"}, "belong to a `deadline`"),
        ({"deadline": "0 6 * * *", "partition": "previous_business_day"}, "needs a `calendar`"),
        ({"max_run": "1h", "min_run": "2h"}, "shorter than `max_run`"),
    ],
)
def test_invalid_slas_are_refused(written, message):
    with pytest.raises(ValidationError, match=message):
        Sla.model_validate(written)
