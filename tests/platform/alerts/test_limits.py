"""Due notifications within the rate limit of a destination."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from headrace.alerts.limits import MAX_PAUSE, next_try, plan_sending
from headrace.alerts.records import Notification, Purpose
from headrace.alerts.rules import Limit, Recipient
from headrace.severity import Severity
from tests.platform.alerts.making import START, at

HOUR = timedelta(hours=1)


def notification(severity: Severity = Severity.INFO, minutes: float = 0, tries: int = 0) -> Notification:
    due = at(minutes)
    return Notification(uuid4(), uuid4(), Recipient("a"), Purpose.RAISED, severity, due, due, tries=tries)


def test_the_most_severe_are_sent_and_the_rest_become_a_digest() -> None:
    due = [notification(minutes=number) for number in range(5)] + [notification(Severity.ERROR, 9)]
    part = plan_sending(due, [], Limit(3, HOUR), at(10))
    assert part.each == (due[5], due[0])
    assert set(part.digest) == set(due[1:5])
    assert part.wait_until is None


def test_nothing_leaves_before_the_oldest_is_out_of_the_window() -> None:
    part = plan_sending([notification()], [at(-70), at(-50), at(-10)], Limit(2, HOUR), START)
    assert part.each == part.digest == ()
    assert part.wait_until == at(10)


@given(
    st.lists(st.tuples(st.sampled_from(Severity), st.integers(0, 60), st.integers(0, 3)), max_size=30),
    st.lists(st.integers(1, 200), max_size=10),
    st.integers(1, 8),
)
def test_no_limit_is_exceeded_and_no_message_is_forgotten(
    given_: list[tuple[Severity, int, int]], sent: list[int], most: int
) -> None:
    due = [notification(severity, minutes, tries) for severity, minutes, tries in given_]
    before: list[datetime] = [at(-minutes) for minutes in sent]
    part = plan_sending(due, before, Limit(most, HOUR), START)
    lately = sum(each > START - HOUR for each in before)
    leaves = len(part.each) + bool(part.digest)
    assert leaves + lately <= max(most, lately)
    sent = {each.notification_id for each in (*part.each, *part.digest)}  # type: ignore[assignment]
    assert len(sent) == len(part.each) + len(part.digest)
    if sent != {each.notification_id for each in due}:  # type: ignore[comparison-overlap]
        assert part.wait_until is not None
        assert part.wait_until > START
    assert not any(each.tries for each in part.digest), (
        "one that may have been received is told under another id"
    )
    assert len(part.digest) != 1


def test_pauses_grow_up_to_a_quarter_of_an_hour() -> None:
    pauses = [next_try(tries, START) - START for tries in range(1, 100)]
    assert pauses[:3] == [timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == MAX_PAUSE


def test_a_message_that_waits_is_another_value_than_one_that_was_tried() -> None:
    fresh = notification()
    assert not fresh.was_attempted
    assert replace(fresh, tries=1).was_attempted
