"""Root causes and awaited inputs: by hand, without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid5

import pytest

from headrace.severity import Severity
from headrace.slas.causes import Issue, causes
from headrace.slas.events import Subject, SubjectType
from headrace.slas.graph import graph_of
from headrace.slas.upstream import ArrivalTimes, awaited

P, X, C, D = (uuid5(UUID(int=0), name) for name in "PXCD")


def time(text: str) -> datetime:
    day, clock = text.split()
    return datetime.fromisoformat(f"2026-11-{int(day):02}T{clock}").replace(tzinfo=UTC)


def late(subject: UUID, since: str, arrived: str | None = None) -> Issue:
    """A dataset that has not come since its deadline."""
    return Issue(
        Subject(SubjectType.DATASET, str(subject), subject),
        time(since),
        "late",
        Severity.ERROR,
        waits=True,
        holds=True,
        last_arrival_at=time(arrived) if arrived else None,
    )


def failed(subject: UUID, since: str, run: int) -> Issue:
    return replace(late(subject, since), waits=False, run_id=UUID(int=run))


def small(subject: UUID, since: str) -> Issue:
    return replace(late(subject, since), waits=False, holds=False)


@pytest.mark.parametrize(
    ("above", "below", "explained"),
    [
        (late(P, "10 05:00"), late(C, "10 06:00"), True),
        (late(P, "10 07:00"), late(C, "10 06:00"), True),  # a later deadline, the same night
        (late(P, "10 07:00", arrived="9 05:00"), late(C, "10 06:00", arrived="9 05:30"), True),
        (
            late(P, "10 05:00", arrived="9 04:30"),
            late(C, "9 06:00", arrived="8 05:30"),
            False,
        ),  # it came for that one
        (replace(late(P, "10 07:00"), opens_at=time("9 07:00")), late(C, "9 06:00"), False),
        (failed(P, "10 06:20", 1), late(C, "10 06:00"), True),
        (late(P, "10 05:00"), failed(C, "10 05:30", 1), False),  # it ran, and did not wait
        (late(P, "10 07:00"), failed(C, "10 05:30", 1), False),
        (failed(P, "10 05:00", 1), failed(C, "10 05:30", 2), True),
        (failed(P, "10 05:40", 1), failed(C, "10 05:30", 2), False),
        (failed(P, "10 05:31", 1), failed(C, "10 05:30", 1), True),  # one run, reported twice
        (late(P, "10 05:00"), small(C, "10 05:30"), False),
        (small(P, "10 05:00"), small(C, "10 05:30"), True),
        (small(P, "10 05:00"), late(C, "10 05:30"), False),
    ],
)
def test_what_explains_what(above: Issue, below: Issue, explained: bool) -> None:
    found = causes(graph_of([(P, X), (X, C)]), [above, below], frozenset())
    assert (found.of(below) == above) is explained


def test_nothing_comes_through_what_has_its_data() -> None:
    above, below = late(P, "10 05:00"), late(C, "10 06:00")
    assert causes(graph_of([(P, X), (X, C)]), [above, below], frozenset({X})).of(below) == below


def test_of_several_at_one_place_it_is_the_one_by_which_it_is_itself_to_blame() -> None:
    own, run = late(C, "10 06:00"), failed(C, "10 06:30", 1)
    found = causes(graph_of([(P, C)]), [late(P, "10 05:00"), own, run], frozenset())
    assert found.of(own) == run


@pytest.mark.parametrize(
    ("source", "target", "waits"),
    [
        (["9 05:00", "8 05:00", "7 05:00"], ["9 06:00", "8 06:00", "7 06:00"], True),
        (["10 05:00", "9 05:00", "8 05:00"], ["9 06:00", "8 06:00", "7 06:00"], False),  # it has come
        (["1 05:00"], ["9 06:00", "8 06:00", "7 06:00"], False),  # is never new
        (["4 05:00"], ["9 06:00", "8 06:00", "7 06:00", "6 06:00", "5 06:00"], False),  # once a week
        (["9 05:00", "8 05:00", "7 05:00"], ["9 08:00", "9 06:00", "8 06:00", "7 06:00"], True),  # made again
        (["8 05:30", "8 04:30", "8 03:30"], ["8 06:00", "7 06:00", "6 06:00"], True),  # hourly, and stopped
        ([], ["9 06:00", "8 06:00"], False),  # not reported
        (["9 05:00"], [], False),
        ([], [], True),  # the first night
    ],
)
def test_awaited_inputs_are_found_by_arrival_times(source: list[str], target: list[str], waits: bool) -> None:
    assert (
        ArrivalTimes([time(each) for each in target]).waits_for(ArrivalTimes([time(each) for each in source]))
        is waits
    )


def test_the_farthest_that_has_not_come_is_named_and_a_process_for_all_that_it_makes() -> None:
    """P is a process that makes X and D; C is made from X."""
    graph = graph_of([(P, X), (P, D), (X, C)])
    began, ended, after = (ArrivalTimes([time(f"9 {clock}")]) for clock in ("04:00", "05:00", "06:00"))
    number = graph.number
    arrived = {
        number[P]: ArrivalTimes(ended.at, began.at),
        number[X]: ended,
        number[D]: ended,
        number[C]: after,
    }
    assert awaited(graph, arrived, {number[C]}) == {number[C]: number[P]}
    alone = graph_of([(P, X), (X, C)])
    number = alone.number
    arrived = {number[P]: ArrivalTimes(ended.at, began.at), number[X]: ended, number[C]: after}
    assert awaited(alone, arrived, {number[C]}) == {number[C]: number[X]}
