"""`sla:` in the catalog's and in Dagster's form."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from headrace.declarations.automation import SlaProblem, freshness_policy, run_limits, sla_record
from headrace.declarations.declaration import Sla
from headrace.slas.calendars import Calendars
from headrace.slas.deadlines import following, preceding
from headrace.slas.evaluation import begin, evaluate_objective
from headrace.slas.objectives import Clock, objectives
from headrace.slas.status import Arrival, SlaStatus


def test_an_sla_has_objectives_and_run_limits() -> None:
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


def test_deadlines_by_the_cron_alone_are_dagsters_policy_too() -> None:
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
def test_invalid_slas_are_refused(written: Any, message: Any) -> None:
    with pytest.raises(ValidationError, match=message):
        Sla.model_validate(written)


# When versions came, and the status at 06:30 on Tuesday 2026-11-10 or Monday 2026-11-09. Dagster's rule, as in its
# CronFreshnessPolicyEvaluator: fresh if the newest version is not older than the window of the last deadline.
@pytest.mark.parametrize(
    ("cron", "arrivals", "now", "fresh"),
    [
        (
            "0 6 * * *",
            ["2026-11-09T06:05"],
            "2026-11-10T06:30",
            False,
        ),  # yesterday's came late, nothing today
        ("0 6 * * *", ["2026-11-09T13:00"], "2026-11-10T06:30", False),
        ("0 6 * * *", ["2026-11-09T05:30"], "2026-11-10T06:30", False),
        ("0 6 * * *", ["2026-11-09T05:30", "2026-11-10T05:30"], "2026-11-10T06:30", True),
        ("0 6 * * *", ["2026-11-09T05:30", "2026-11-09T19:00"], "2026-11-10T06:30", True),
        (
            "0 6 * * 1-5",
            ["2026-11-05T05:00", "2026-11-08T03:00"],
            "2026-11-09T06:30",
            False,
        ),  # Friday's, on Sunday
        ("0 6 * * 1-5", ["2026-11-06T05:00"], "2026-11-09T06:30", False),
        ("0 6 * * 1-5", ["2026-11-06T05:00", "2026-11-08T20:00"], "2026-11-09T06:30", True),
        ("*/20 * * * *", ["2026-11-10T06:09", "2026-11-10T06:12"], "2026-11-10T06:30", True),
    ],
)
def test_dagsters_freshness_and_the_status_of_a_deadline_agree(
    cron: str, arrivals: list[str], now: str, fresh: bool
) -> None:
    sla = Sla.model_validate({"deadline": cron})
    policy, record = freshness_policy(sla), sla_record(sla)
    assert policy is not None
    assert record is not None
    (_, _, definition), *_ = objectives(record)
    clock = Clock.model_validate(definition)
    come = [Arrival(datetime.fromisoformat(each).replace(tzinfo=UTC)) for each in arrivals]
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    state = begin(moment - timedelta(days=6), preceding(clock, Calendars(), moment - timedelta(days=6)))
    found = evaluate_objective(
        clock, state, come, (), moment, lambda clock, after: (following(clock, Calendars(), after), "")
    )
    assert (found.objective_state.state is not SlaStatus.LATE) is fresh
    due = preceding(clock, Calendars(), moment)
    assert (come[-1].at >= due - policy.lower_bound_delta) is fresh  # type: ignore[attr-defined]


def test_deadlines_at_uneven_times_need_a_window() -> None:
    with pytest.raises(SlaProblem, match=r"write `within`.*2:00:00 at most"):
        freshness_policy(Sla.model_validate({"deadline": "0 6,8 * * *"}))
    assert freshness_policy(Sla.model_validate({"deadline": "0 6,8 * * *", "within": "2h"})) is not None
    assert freshness_policy(Sla.model_validate({"deadline": "0 6,18 * * *"})) is not None
