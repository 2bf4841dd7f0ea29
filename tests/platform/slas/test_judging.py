"""Evaluated SLAs: expected states and outcomes, written down by hand."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.slas.calendars import Calendars
from headrace.slas.deadlines import following, partition_of, preceding
from headrace.slas.evaluation import begin, evaluate_objective
from headrace.slas.objectives import Age, Clock, ObjectiveKind, Terms, objectives, terms
from headrace.slas.status import Arrival, Evaluation, ObjectiveState, Pause, SlaStatus

LONDON = Clock(deadline="0 6 * * *", timezone="Europe/London")
NONE = Calendars()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def expect(clock: Clock, moment: datetime) -> tuple[datetime, str]:
    deadline = following(clock, NONE, moment)
    return deadline, partition_of(clock, NONE, deadline)


def evaluated(
    what: Terms,
    objective_state: ObjectiveState,
    come: Sequence[Arrival | str],
    now: str,
    pauses: Sequence[Pause] = (),
) -> Evaluation:
    arrivals = [Arrival(at(each)) if isinstance(each, str) else each for each in come]
    return evaluate_objective(what, objective_state, arrivals, pauses, at(now), expect)


def made(clock: Clock, moment: str) -> ObjectiveState:
    return begin(at(moment), preceding(clock, NONE, at(moment)))


def transitions(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [(each.at.strftime("%d %H:%M"), each.state.value) for each in evaluation.changes]


def outcomes(evaluation: Evaluation) -> list[tuple[str, str, str | None]]:
    return [
        (  # type: ignore[misc]
            each.deadline.strftime("%d %H:%M"),
            each.result.value,
            each.arrived_at and each.arrived_at.strftime("%d %H:%M"),
        )
        for each in evaluation.outcomes
    ]


# January: London is UTC. Each case: what came, when the engine looks (once), the changes, the outcomes.
@pytest.mark.parametrize(
    ("come", "now", "changes", "results"),
    [
        ([], "2026-01-10T05:59", [], []),
        (
            ["2026-01-10T05:00"],
            "2026-01-10T05:30",
            [("10 05:00", "ON_TRACK")],
            [("10 06:00", "MET", "10 05:00")],
        ),
        (
            ["2026-01-10T06:00"],
            "2026-01-10T07:00",
            [("10 06:00", "ON_TRACK")],
            [("10 06:00", "MET", "10 06:00")],
        ),
        ([], "2026-01-10T06:00", [("10 06:00", "LATE")], []),
        (
            ["2026-01-10T06:10"],
            "2026-01-10T12:00",
            [("10 06:00", "LATE"), ("10 06:10", "MET_LATE")],
            [("10 06:00", "MET_LATE", "10 06:10")],
        ),
        (  # what ended the delay is not counted for the day after as well
            ["2026-01-10T06:10"],
            "2026-01-11T07:00",
            [("10 06:00", "LATE"), ("10 06:10", "MET_LATE"), ("11 06:00", "LATE")],
            [("10 06:00", "MET_LATE", "10 06:10")],
        ),
        (
            ["2026-01-10T05:00", "2026-01-11T05:10"],
            "2026-01-12T01:00",
            [("10 05:00", "ON_TRACK")],
            [("10 06:00", "MET", "10 05:00"), ("11 06:00", "MET", "11 05:10")],
        ),
        (  # a day without anything: missed when the next deadline is nearer
            [],
            "2026-01-11T06:30",
            [("10 06:00", "LATE"), ("10 18:00", "MISSED"), ("11 06:00", "LATE")],
            [("10 06:00", "MISSED", None)],
        ),
        (  # what comes after that is for the next one, so that one gap is one gap
            ["2026-01-11T05:10", "2026-01-12T05:10"],
            "2026-01-12T06:30",
            [("10 06:00", "LATE"), ("10 18:00", "MISSED"), ("11 05:10", "ON_TRACK")],
            [("10 06:00", "MISSED", None), ("11 06:00", "MET", "11 05:10"), ("12 06:00", "MET", "12 05:10")],
        ),
    ],
)
def test_a_daily_deadline(
    come: list[str], now: str, changes: list[tuple[str, str]], results: list[tuple[str, str, str | None]]
) -> None:
    found = evaluated(LONDON, made(LONDON, "2026-01-09T20:00"), come, now)
    assert transitions(found) == changes
    assert outcomes(found) == results


def test_within_says_what_is_made_for_which_deadline() -> None:
    clock = Clock(deadline="0 6 * * *", within_seconds=5 * 3600.0)  # type: ignore[arg-type]
    found = evaluated(clock, made(clock, "2026-01-09T20:00"), ["2026-01-10T00:59"], "2026-01-10T06:30")
    assert transitions(found) == [
        ("10 00:59", "ON_TRACK"),
        ("10 06:00", "LATE"),
    ]  # no longer unknown, and yet too early
    found = evaluated(
        clock, found.objective_state, ["2026-01-10T00:59", "2026-01-11T01:00"], "2026-01-11T06:30"
    )
    assert transitions(found) == [("11 01:00", "MISSED"), ("11 01:00", "ON_TRACK")]
    assert outcomes(found) == [("10 06:00", "MISSED", None), ("11 06:00", "MET", "11 01:00")]


def test_a_warning_time_puts_at_risk_and_an_arrival_ends_it() -> None:
    clock = Clock(deadline="0 6 * * *", warn_before_seconds=3600.0)  # type: ignore[arg-type]
    found = evaluated(clock, made(clock, "2026-01-09T20:00"), [], "2026-01-10T05:20")
    assert transitions(found) == [("10 05:00", "AT_RISK")]
    assert found.objective_state.next_at == at("2026-01-10T06:00")
    found = evaluated(clock, found.objective_state, ["2026-01-10T05:40"], "2026-01-10T05:50")
    assert transitions(found) == [("10 05:40", "ON_TRACK")]


def test_a_predicted_miss_puts_at_risk_until_it_becomes_unlikely() -> None:
    objective_state = evaluated(
        LONDON, made(LONDON, "2026-01-09T20:00"), ["2026-01-09T05:00"], "2026-01-10T03:00"
    ).objective_state
    assert objective_state.state is SlaStatus.ON_TRACK
    states = []
    for miss_probability, now in ((0.4, "03:10"), (0.5, "03:20"), (0.3, "03:30"), (0.2, "03:40")):
        found = evaluated(
            LONDON, replace(objective_state, miss_probability=miss_probability), [], f"2026-01-10T{now}"
        )
        objective_state = found.objective_state
        states.append(objective_state.state.value)
    assert states == ["ON_TRACK", "AT_RISK", "AT_RISK", "ON_TRACK"]


def test_what_came_in_time_and_was_reported_late_counts_as_in_time() -> None:
    late = evaluated(LONDON, made(LONDON, "2026-01-09T20:00"), [], "2026-01-10T06:05").objective_state
    found = evaluated(LONDON, late, ["2026-01-10T05:55"], "2026-01-10T08:00")
    assert outcomes(found) == [("10 06:00", "MET", "10 05:55")]
    assert transitions(found) == [("10 06:00", "ON_TRACK")]


def test_a_clock_set_back_changes_nothing_and_later_all_is_as_it_would_have_been() -> None:
    before = evaluated(LONDON, made(LONDON, "2026-01-09T20:00"), [], "2026-01-10T05:30").objective_state
    back = evaluated(LONDON, before, ["2026-01-10T05:31"], "2026-01-10T03:00")
    assert back.objective_state == before
    assert not back.changes
    assert transitions(evaluated(LONDON, back.objective_state, ["2026-01-10T05:31"], "2026-01-10T05:32")) == [
        ("10 05:31", "ON_TRACK")
    ]


def test_in_a_planned_outage_nothing_is_expected() -> None:
    outage = Pause(at("2026-01-10T04:00"), at("2026-01-11T08:00"), "the data centre moves")
    found = evaluated(LONDON, made(LONDON, "2026-01-09T20:00"), [], "2026-01-12T07:00", [outage])
    assert transitions(found) == [("10 04:00", "PAUSED"), ("11 08:00", "UNKNOWN"), ("12 06:00", "LATE")]
    assert outcomes(found) == [("10 06:00", "PAUSED", None), ("11 06:00", "PAUSED", None)]


def test_a_job_on_hold_is_paused_until_it_is_released() -> None:
    late = evaluated(LONDON, made(LONDON, "2026-01-09T20:00"), [], "2026-01-10T07:00").objective_state
    hold = Pause(at("2026-01-10T07:30"), None, "on hold")
    held = evaluated(LONDON, late, [], "2026-01-10T08:00", [hold])
    assert transitions(held) == [("10 07:30", "PAUSED")]
    released = evaluated(LONDON, held.objective_state, [], "2026-01-10T09:00")
    assert transitions(released) == [("10 08:00", "LATE")]


# In 2026 London's clocks go from 0:59 to 2:00 on 29 March and from 1:59 to 1:00 on 25 October (1:00 UTC both).
@pytest.mark.parametrize(
    ("cron", "zone", "moment", "expected"),
    [
        ("30 1 * * *", "Europe/London", "2026-03-28T12:00", "2026-03-29T01:00"),  # 1:30 is left out
        ("30 1 * * *", "Europe/London", "2026-10-24T12:00", "2026-10-25T00:30"),  # comes twice: the first
        ("30 1 * * *", "Europe/London", "2026-10-25T00:30", "2026-10-26T01:30"),  # and not again
        ("0 6 * * *", "Europe/London", "2026-03-28T12:00", "2026-03-29T05:00"),
        ("0 6 1 1 *", "Europe/London", "2026-12-31T23:59", "2027-01-01T06:00"),  # the year's end
        ("0 6 29 2 *", "UTC", "2026-03-01T00:00", "2028-02-29T06:00"),  # leap day
        ("0 6 29 2 *", "UTC", "2097-03-01T00:00", "2104-02-29T06:00"),  # 2100 is not a leap year
        ("59 23 L * *", "UTC", "2028-02-28T12:00", "2028-02-29T23:59"),
        # Morocco, in 2026, is at UTC, and from the Sunday after Ramadan (22 March) on at UTC+1.
        # Samoa left 30 December 2011 out.
        ("0 6 * * *", "Africa/Casablanca", "2026-03-20T12:00", "2026-03-21T06:00"),
        ("0 6 * * *", "Africa/Casablanca", "2026-03-22T12:00", "2026-03-23T05:00"),
        ("0 6 * * *", "Pacific/Apia", "2011-12-29T17:00", "2011-12-30T10:00"),
    ],
)
def test_deadlines(cron: str, zone: str, moment: str, expected: str) -> None:
    assert following(Clock(deadline=cron, timezone=zone), NONE, at(moment)) == at(expected)


def test_what_comes_in_the_second_of_two_hours_is_late_for_a_deadline_of_the_first() -> None:
    clock = Clock(deadline="30 1 * * *", timezone="Europe/London")
    objective_state = made(clock, "2026-10-24T12:00")
    found = evaluated(
        clock, objective_state, ["2026-10-25T01:10"], "2026-10-25T12:00"
    )  # 1:10, for the second time
    assert transitions(found) == [("25 00:30", "LATE"), ("25 01:10", "MET_LATE")]
    assert outcomes(found) == [("25 00:30", "MET_LATE", "25 01:10")]


def test_a_night_that_is_an_hour_longer_or_shorter_has_one_deadline() -> None:
    clock = Clock(deadline="30 1 * * *", timezone="Europe/London")
    long = evaluated(clock, made(clock, "2026-10-24T12:00"), ["2026-10-25T00:20"], "2026-10-26T00:00")
    assert outcomes(long) == [("25 00:30", "MET", "25 00:20")]
    short = evaluated(clock, made(clock, "2026-03-28T12:00"), ["2026-03-29T00:50"], "2026-03-30T00:00")
    assert outcomes(short) == [("29 01:00", "MET", "29 00:50")]


def test_the_last_night_of_a_year_is_as_any_other() -> None:
    come = ["2026-12-31T05:50", "2027-01-01T06:20", "2027-01-02T05:50"]
    found = evaluated(LONDON, made(LONDON, "2026-12-30T12:00"), come, "2027-01-02T12:00")
    assert outcomes(found) == [
        ("31 06:00", "MET", "31 05:50"),
        ("01 06:00", "MET_LATE", "01 06:20"),
        ("02 06:00", "MET", "02 05:50"),
    ]


# Easter 2026: Good Friday is 3 April, Easter Monday 6 April; London's clocks are an hour ahead by then.
@pytest.mark.parametrize(
    ("calendar", "moment", "deadline", "partition"),
    [
        ("XLON", "2026-04-01T12:00", "2026-04-02T05:00", "2026-04-01"),
        ("XLON", "2026-04-02T12:00", "2026-04-07T05:00", "2026-04-02"),
        ("GB-ENG", "2026-04-02T12:00", "2026-04-07T05:00", "2026-04-02"),
        ("GB-SCT", "2026-04-02T12:00", "2026-04-06T05:00", "2026-04-02"),  # works on Easter Monday
        (
            "GB-ENG",
            "2026-12-24T12:00",
            "2026-12-29T06:00",
            "2026-12-24",
        ),  # Boxing Day's substitute is the 28th
        ("XLON", "2026-12-31T12:00", "2027-01-04T06:00", "2026-12-31"),  # a Friday's New Year
        ("GB-ENG", "2028-02-28T12:00", "2028-02-29T06:00", "2028-02-28"),  # a leap day is a business day
        ("GB-ENG", "2028-02-29T12:00", "2028-03-01T06:00", "2028-02-29"),
    ],
)
def test_yesterdays_partition_by_six_on_business_days(
    calendar: str, moment: str, deadline: str, partition: str
) -> None:
    clock = Clock.model_validate(
        {
            "deadline": "0 6 * * *",
            "timezone": "Europe/London",
            "calendar": calendar,
            "partition": {"days_before": 1, "business": True},
        }
    )
    assert expect(clock, at(moment)) == (at(deadline), partition)


def test_a_partition_that_is_expected_is_the_only_one_that_counts() -> None:
    clock = Clock.model_validate({"deadline": "0 6 * * *", "partition": {"days_before": 1}})
    other = Arrival(at("2026-01-10T05:00"), "2026-01-08")
    found = evaluated(clock, made(clock, "2026-01-09T20:00"), [other], "2026-01-10T06:00")
    assert transitions(found)[-1] == ("10 06:00", "LATE")
    right = Arrival(at("2026-01-10T06:30"), "2026-01-09")
    found = evaluated(clock, found.objective_state, [other, right], "2026-01-10T07:00")
    assert outcomes(found) == [("10 06:00", "MET_LATE", "10 06:30")]
    assert found.objective_state.partition == "2026-01-10"


def test_age() -> None:
    age = terms(ObjectiveKind.AGE, {"max_age_seconds": 7200.0, "warn_after_seconds": 3600.0})
    found = evaluated(
        age, begin(at("2026-01-10T00:00")), ["2026-01-10T01:00", "2026-01-10T03:30"], "2026-01-10T04:00"
    )
    assert transitions(found) == [
        ("10 01:00", "ON_TRACK"),
        ("10 02:00", "AT_RISK"),
        ("10 03:00", "LATE"),
        ("10 03:30", "MET_LATE"),
    ]
    assert outcomes(found) == [("10 03:00", "MET_LATE", "10 03:30")]
    assert found.objective_state.next_at == at("2026-01-10T04:30")


def test_an_overdue_age_is_reported_once() -> None:
    age = terms(ObjectiveKind.AGE, {"max_age_seconds": 7200.0, "warn_after_seconds": 3600.0})
    late = evaluated(age, begin(at("2026-01-10T00:00")), ["2026-01-10T01:00"], "2026-01-10T03:10")
    assert late.objective_state.state is SlaStatus.LATE
    later = evaluated(age, late.objective_state, [], "2026-01-10T03:20")
    assert transitions(later) == []
    come = evaluated(age, later.objective_state, ["2026-01-10T03:25"], "2026-01-10T03:30")
    assert transitions(come) == [("10 03:25", "MET_LATE")]


def test_run_time() -> None:
    limits = terms(ObjectiveKind.RUN_TIME, {"max_run_seconds": 600.0, "min_run_seconds": 60.0})
    going = Arrival(at("2026-01-10T01:00"))
    found = evaluated(limits, begin(at("2026-01-10T00:00")), [going], "2026-01-10T01:11")
    assert transitions(found) == [("10 01:10", "LATE")]
    ended = replace(going, ended_at=at("2026-01-10T01:15"))
    short = Arrival(at("2026-01-10T02:00"), ended_at=at("2026-01-10T02:00"))
    found = evaluated(limits, found.objective_state, [ended, short], "2026-01-10T03:00")
    assert transitions(found) == [("10 01:15", "MET_LATE"), ("10 02:00", "MISSED")]
    assert outcomes(found) == [("10 01:10", "MET_LATE", "10 01:15"), ("10 02:10", "MISSED", "10 02:00")]


def test_volume() -> None:
    volume = terms(ObjectiveKind.VOLUME, {"min_rows": 100})
    come = [Arrival(at("2026-01-10T01:00"), rows=100), Arrival(at("2026-01-10T02:00"), rows=99)]
    found = evaluated(volume, begin(at("2026-01-10T00:00")), come, "2026-01-10T03:00")
    assert transitions(found) == [("10 01:00", "ON_TRACK"), ("10 02:00", "MISSED")]
    assert found.objective_state.reason == "99 rows, at least 100"


def test_an_sla_is_split_into_objectives() -> None:
    sla = {
        "deadline": "0 6 * * *",
        "timezone": "UTC",
        "max_run_seconds": 60,
        "min_rows": 1,
        "start_by": [{"deadline": "0 1 * * *"}],
    }
    assert [(kind.value, ordinal) for kind, ordinal, _ in objectives(sla)] == [
        ("DELIVERY", 0),
        ("START", 0),
        ("RUN_TIME", 0),
        ("VOLUME", 0),
    ]


@given(
    come=st.lists(st.integers(0, 5 * 24 * 60), max_size=12),
    looks=st.lists(st.integers(0, 5 * 24 * 60), max_size=12),
    what=st.sampled_from(
        [
            *(
                Clock(
                    deadline="0 6 * * *",
                    timezone="Europe/London",
                    within_seconds=within,  # type: ignore[arg-type]
                    warn_before_seconds=warn,  # type: ignore[arg-type]
                )
                for within in (None, 3600.0, 12 * 3600.0)
                for warn in (None, 1800.0)
            ),
            Age(max_age_seconds=20 * 3600.0),  # type: ignore[arg-type]
            Age(max_age_seconds=20 * 3600.0, warn_after_seconds=10 * 3600.0),  # type: ignore[arg-type]
        ]
    ),
)
def test_however_often_the_engine_looks_the_history_is_the_same(
    come: list[int], looks: list[int], what: Clock | Age
) -> None:
    """A daemon that is down for hours, or always up: arrivals are seen in their order, at or after their time."""
    start, end = at("2026-03-27T00:00"), at("2026-04-01T00:00")
    arrivals = [Arrival(start + timedelta(minutes=each)) for each in sorted(come)]
    settled = preceding(what, NONE, start) if isinstance(what, Clock) else None

    def walk(moments: list[datetime]) -> tuple[list[object], list[object], ObjectiveState]:
        objective_state, changes, results = begin(start, settled), [], []
        for moment in moments:
            found = evaluate_objective(what, objective_state, arrivals, (), moment, expect)
            objective_state = found.objective_state
            changes += found.changes
            results += found.outcomes
        return changes, results, objective_state  # type: ignore[return-value]

    once = walk([end])
    assert walk([*(start + timedelta(minutes=each) for each in sorted(looks)), end]) == once


def test_an_objective_is_unknown_after_its_calendar_ends() -> None:
    days = Calendars({("PRD", "BUSINESS"): frozenset({date(2026, 12, 30), date(2026, 12, 31)})})
    clock = Clock(deadline="0 6 * * *", calendar="BUSINESS", instance="PRD")

    def known(clock: Clock, moment: datetime) -> tuple[datetime, str]:
        return following(clock, days, moment), ""

    objective_state = begin(at("2026-12-31T05:00"), at("2026-12-30T06:00"))
    come = [Arrival(at("2026-12-31T05:30"))]
    found = evaluate_objective(clock, objective_state, come, [], at("2026-12-31T07:00"), known)
    assert outcomes(found) == [("31 06:00", "MET", "31 05:30")]
    assert found.objective_state.state is SlaStatus.UNKNOWN
    assert "no day of the calendar BUSINESS" in found.objective_state.reason
    assert found.objective_state.deadline is None
    # A scan brings the days of the next year.
    days = Calendars({("PRD", "BUSINESS"): frozenset({date(2026, 12, 31), date(2027, 1, 4)})})
    later = evaluate_objective(clock, found.objective_state, come, [], at("2026-12-31T09:00"), known)
    assert later.outcomes == []
    assert later.objective_state.state is SlaStatus.ON_TRACK
    assert later.objective_state.deadline == at("2027-01-04T06:00")


def test_an_excluded_day_has_no_deadline_counted_by_the_day_of_the_start() -> None:
    holidays = Calendars({("PRD", "HOLIDAYS"): frozenset({date(2026, 12, 25)})})
    clock = Clock(deadline="0 6 * * *", exclude_calendar="HOLIDAYS", instance="PRD")
    assert following(clock, holidays, at("2026-12-24T07:00")) == at("2026-12-26T06:00")
    after = clock.model_copy(update={"days_after": 1})  # what started on the 24th ends on the 25th
    assert following(after, holidays, at("2026-12-24T07:00")) == at("2026-12-25T06:00")
    assert following(after, holidays, at("2026-12-25T07:00")) == at("2026-12-27T06:00")
