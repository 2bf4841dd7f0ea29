"""The language of conditions: resulting trees, and errors with positions."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.autosys.conditions import (
    AllOf,
    AnyOf,
    ConditionError,
    ExitIs,
    GlobalIs,
    JobIs,
    Lookback,
    RequiredStatus,
    atoms,
    parse,
    readable_atoms,
    unparse,
)


def s(job: Any, **rest: Any) -> Any:
    return JobIs(RequiredStatus.SUCCESS, job, **rest)


A, B, C, D = map(s, "abcd")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("s(a)", A),
        ("success(a)", A),
        ("SUCCESS ( a )", A),
        ("f(a)", JobIs(RequiredStatus.FAILURE, "a")),
        ("d(a)", JobIs(RequiredStatus.DONE, "a")),
        ("t(a)", JobIs(RequiredStatus.TERMINATED, "a")),
        ("terminated(a)", JobIs(RequiredStatus.TERMINATED, "a")),
        ("n(a)", JobIs(RequiredStatus.NOT_RUNNING, "a")),
        ("notrunning(a)", JobIs(RequiredStatus.NOT_RUNNING, "a")),
        ("not running(jobC)", JobIs(RequiredStatus.NOT_RUNNING, "jobC")),  # the vendor's own prose
        ("e(a) = 4", ExitIs("a", "=", 4)),
        ("exitcode(a) >= -1", ExitIs("a", ">=", -1)),
        ("e(job1,06.00) = 0", ExitIs("job1", "=", 0, None, Lookback(360))),
        ('v(G) = "Y"', GlobalIs("G", "=", "Y")),
        ("value(G)!=a/b", GlobalIs("G", "!=", "a/b")),
        ('v(G) = "two words"', GlobalIs("G", "=", "two words")),
        ("s(job^PRD, 24)", s("job", instance="PRD", lookback=Lookback(1440))),
        # Equal precedence, from left to right
        ("s(a) | s(b) & s(c)", AllOf((AnyOf((A, B)), C))),
        ("s(a) & s(b) | s(c)", AnyOf((AllOf((A, B)), C))),
        ("s(a) | (s(b) & s(c))", AnyOf((A, AllOf((B, C))))),
        ("s(a) and s(b) AND s(c)", AllOf((A, B, C))),
        ("s(a)&s(b)|s(c)&s(d)", AllOf((AnyOf((AllOf((A, B)), C)), D))),
        ("((s(a)))", A),
        ("(s(a) & s(b)) & s(c)", AllOf((A, B, C))),
        ("s(a) or\ns(b)", AnyOf((A, B))),
        ("s(RISK.Intraday-01#A)", s("RISK.Intraday-01#A")),
    ],
)
def test_a_text_is_this_tree(text: Any, tree: Any) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        ("30", 1800),
        ("00.30", 30),
        ("0", 0),
        ("00.00", 0),
        ("9999", None),
        ("9998.59", 599939),
        ("12:30", 750),
        ("12\\:30", 750),
    ],
)
def test_a_lookback_is_hours_and_minutes(written: Any, minutes: Any) -> None:
    assert parse(f"s(a, {written})") == s("a", lookback=Lookback(minutes))


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("s(a, .30)", "not a lookback", 5),
        ("s(a, 1.5)", "not a lookback", 5),
        ("s(a, 1.60)", "not a lookback", 5),
        ("s(a, 9999.01)", "at most 9998.59", 5),
        ("s(J,,12.00)", "not a lookback", 4),
        ("!unknown(a)", "no NOT", 0),
        ("unknown(a)", "not a test", 0),
        ("s(a) s(b)", "expected AND", 5),
        ("s(a) and", "ends where", 8),
        ("(s(a)", "not closed", 5),
        ("s(a))", "expected AND", 4),
        ("", "ends where", 0),
        ("v(G)", "needs a comparison", 4),
        ("e(a) = x", "whole number", 7),
        ("v(G, 12.00) = 1", "neither lookback", 0),
        ("s(a)---s(b)", "expected AND", 4),
        ("(" * 300 + "s(a)" + ")" * 300, "more than 200 levels", 201),
        ("s(a)" + "|s(a)&s(a)" * 300, "more than 200 levels", None),
    ],
)
def test_what_is_no_condition_says_why_and_where(text: Any, message: Any, position: Any) -> None:
    with pytest.raises(ConditionError, match=message) as error:
        parse(text)
    assert position is None or error.value.position == position


NAMES = st.text("abZ09._#-", min_size=1, max_size=6)
LOOKBACKS = st.none() | st.builds(Lookback, st.none() | st.integers(0, 599939))
INSTANCES = st.none() | st.sampled_from(["PRD", "ACE"])
OPERATORS = st.sampled_from(["=", "!=", "<", ">", "<=", ">="])
ATOMS = st.one_of(
    st.builds(JobIs, st.sampled_from(RequiredStatus), NAMES, INSTANCES, LOOKBACKS),
    st.builds(ExitIs, NAMES, OPERATORS, st.integers(-128, 255), INSTANCES, LOOKBACKS),
    st.builds(GlobalIs, NAMES, OPERATORS, st.text("abc 09/:&|()", max_size=6)),
)


def joined(kind: Any, parts: Any) -> Any:
    return kind(tuple(flat for part in parts for flat in (part.parts if isinstance(part, kind) else (part,))))


TREES = st.recursive(
    ATOMS,
    lambda inner: st.builds(joined, st.sampled_from([AllOf, AnyOf]), st.lists(inner, min_size=2, max_size=4)),
    max_leaves=12,
)


@settings(deadline=None)
@given(TREES)
def test_a_tree_written_is_read_as_the_same_tree(tree: Any) -> None:
    assert parse(unparse(tree)) == tree


@settings(deadline=None)
@given(st.text('sfdn()&|,.^ ="ab12and\\', max_size=30))
def test_any_text_is_a_condition_or_an_error_within_it(text: Any) -> None:
    try:
        tree = parse(text)
    except ConditionError as error:
        position = error.position
    else:
        position = 0
        assert parse(unparse(tree)) == tree
    assert 0 <= position <= len(text)


def test_atoms_come_from_left_to_right() -> None:
    assert list(atoms(parse("s(a) | (s(b) & s(c)) | v(G) = 1"))) == [A, B, C, GlobalIs("G", "=", "1")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s(a) & s(b, 2.5)", (A,)),
        ("s(b, 2.5) | (s(a) & f(x)", (A, JobIs(RequiredStatus.FAILURE, "x"))),
        ("s(a) & !s(b)", (A,)),
        ("s(a) s(b)", (A, B)),
        ('s(a) & v(X) = "s(b)" & unknown(c)', (A, GlobalIs("X", "=", "s(b)"))),
        ("nothing here", ()),
    ],
)
def test_the_readable_atoms_of_an_unreadable_condition(text: Any, found: Any) -> None:
    with pytest.raises(ConditionError):
        parse(text)
    assert tuple(readable_atoms(text)) == found


@given(st.text(alphabet='s(a)&|! v="b,^2.', max_size=60))
def test_any_text_has_readable_atoms_or_none(text: Any) -> None:
    tuple(readable_atoms(text))
