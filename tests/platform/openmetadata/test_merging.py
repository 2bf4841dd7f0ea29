"""Three-way merges of entities and edges, without a server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.openmetadata import lineage
from headrace.openmetadata.merging import merge
from headrace.settings import OpenMetadataFields, Winner
from tests.platform.openmetadata.server import _apply

DECLARED, STEWARD = (
    OpenMetadataFields(description=rule, owners=rule, tags=rule, domains=rule, status=rule)
    for rule in (Winner.DECLARED, Winner.STEWARD)
)
_TEXTS = st.sampled_from([None, "a", "b", "c"])
_TAGS = st.lists(st.sampled_from(["X.a", "X.b", "X.c"]), unique=True).map(
    lambda names: [
        {"tagFQN": name, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
        for name in names
    ]
)
_BODIES = st.builds(
    lambda description, tags, column, column_tags: {
        **({"description": description} if description else {}),
        **({"tags": tags} if tags else {}),
        "columns": [
            {"name": "c", "dataType": "INT", **({"description": column} if column else {}), "tags": column_tags}
        ],
    },
    _TEXTS, _TAGS, _TEXTS, _TAGS,
)  # fmt: skip


def merged(desired: Any, sent: Any, current: Any, rules: OpenMetadataFields) -> dict[str, Any]:
    entity = {**current}
    for operation in merge(desired, sent, current, rules).operations:
        _apply(entity, operation)
    return entity


@given(_BODIES, st.one_of(st.none(), _BODIES), _BODIES, st.sampled_from([DECLARED, STEWARD]))
def test_a_merge_reaches_a_fixed_point(
    desired: Any, sent: Any, current: Any, rules: OpenMetadataFields
) -> None:
    once = merged(desired, sent, current, rules)
    assert not merge(desired, desired, once, rules).operations


@given(_BODIES, st.one_of(st.none(), _BODIES), _BODIES, st.sampled_from([DECLARED, STEWARD]))
def test_tags_that_stewards_added_stay(
    desired: Any, sent: Any, current: Any, rules: OpenMetadataFields
) -> None:
    before = {each["tagFQN"] for each in (sent or {}).get("tags", ())}
    theirs = {each["tagFQN"] for each in current.get("tags", ())} - before
    assert theirs <= {each["tagFQN"] for each in merged(desired, sent, current, rules).get("tags", ())}


@pytest.mark.parametrize(("rules", "expected"), [(DECLARED, "new"), (STEWARD, "theirs")])
def test_the_rule_decides_where_both_sides_changed(rules: OpenMetadataFields, expected: str) -> None:
    sent, current = {"description": "old"}, {"description": "theirs"}
    assert merged({"description": "new"}, sent, current, rules)["description"] == expected
    (difference,) = merge({"description": "new"}, sent, current, rules).differences
    assert (difference.theirs, difference.is_kept) == ("theirs", expected == "theirs")


@pytest.mark.parametrize("rules", [DECLARED, STEWARD])
def test_what_a_declaration_does_not_state_is_the_stewards(rules: OpenMetadataFields) -> None:
    assert merged({}, {}, {"description": "theirs"}, rules) == {"description": "theirs"}


@pytest.mark.parametrize("rules", [DECLARED, STEWARD])
def test_what_only_this_side_changed_is_sent(rules: OpenMetadataFields) -> None:
    assert merged({"description": "new"}, {"description": "old"}, {"description": "old"}, rules) == {
        "description": "new"
    }
    assert merged({}, {"description": "old"}, {"description": "old"}, rules) == {}


def entry(target: str, *sources: str) -> dict[str, Any]:
    return {"toColumn": target, "fromColumns": list(sources)}


COLUMNS = frozenset({"t.a", "t.b", "s.a", "s.b"})
OURS = {"source": "SparkLineage", "columnsLineage": [entry("t.a", "s.a")]}


def test_an_edge_that_is_there_as_it_should_be_is_not_sent() -> None:
    there = {**OURS, "updatedBy": "bot", "updatedAt": 1}
    assert lineage.merged(OURS, OURS, there, is_own=True, columns=COLUMNS) is None


def test_columns_that_others_added_to_our_edge_stay() -> None:
    there = {**OURS, "columnsLineage": [entry("t.a", "s.a"), entry("t.b", "s.b")]}
    desired = {**OURS, "columnsLineage": [entry("t.a", "s.b")]}
    change = lineage.merged(desired, OURS, there, is_own=True, columns=COLUMNS)
    assert change is not None
    assert change.details == {**OURS, "columnsLineage": [entry("t.a", "s.b"), entry("t.b", "s.b")]}


def test_a_manual_edge_keeps_its_source_pipeline_and_description() -> None:
    manual = {"source": "Manual", "description": "By hand", "pipeline": {"id": "p", "type": "pipeline"}}
    change = lineage.merged(OURS, None, manual, is_own=False, columns=COLUMNS)
    assert change is not None
    assert change.details == {**manual, "columnsLineage": OURS["columnsLineage"]}
    assert not change.is_own


def test_columns_that_are_gone_lose_their_entries() -> None:
    there = {**OURS, "columnsLineage": [entry("t.a", "s.a"), entry("t.gone", "s.b")]}
    change = lineage.merged(OURS, OURS, there, is_own=True, columns=COLUMNS)
    assert change is not None
    assert change.details == OURS


def test_our_edge_is_deleted_once_it_is_gone_here() -> None:
    change = lineage.withdrawn(OURS, {**OURS, "updatedBy": "bot"}, is_own=True, columns=COLUMNS)
    assert change is not None
    assert change.details is None


def test_only_our_part_of_an_edge_of_others_is_taken_back() -> None:
    theirs = {"source": "DbtLineage", "columnsLineage": [entry("t.a", "s.a"), entry("t.b", "s.b")]}
    change = lineage.withdrawn(OURS, theirs, is_own=False, columns=COLUMNS)
    assert change is not None
    assert change.details == {"source": "DbtLineage", "columnsLineage": [entry("t.b", "s.b")]}


def test_manual_edges_are_never_taken_back() -> None:
    assert lineage.withdrawn(OURS, {**OURS, "source": "Manual"}, is_own=True, columns=COLUMNS) is None
