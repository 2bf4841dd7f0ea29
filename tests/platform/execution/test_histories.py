"""Datasets that are the history of a state: mode scd2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from headrace.queries.versions import version, versions
from tests.platform.execution.growing import Feed, Row, stored
from tests.platform.projects import Project, failure, load_project, write_project

pytestmark = pytest.mark.usefixtures("spark")

DAILY = """
type: headrace.ExternalDataset
attributes:
  key: shop/prices
  partitions: {type: daily, start: "2026-01-01", end: "2026-01-08"}
---
type: headrace.Dataset
attributes:
  key: shop/price_history
  sql: SELECT product, price, note FROM prices
  incremental: {mode: scd2, keys: [product], compare: [price]}
  schema:
    columns: {product: string, price: bigint, note: string, valid_from: date, valid_to: date}
"""
WHOLE = """
type: headrace.ExternalDataset
attributes: {key: shop/prices}
---
type: headrace.Dataset
attributes:
  key: shop/price_history
  sql: SELECT product, price FROM prices
  incremental: {mode: scd2, keys: [product]}
"""
COLUMNS = {"product": "string", "price": "bigint", "note": "string"}
TAGS = count(1_000)  # all examples share one catalog


def price(product: str, price: int | None, note: str = "") -> dict[str, Any]:
    return {"product": product, "price": price, "note": note}


def valid(row: Row, first: int, last: int | None) -> dict[str, Any]:
    return {
        **row,
        "valid_from": date(2026, 1, first),
        "valid_to": None if last is None else date(2026, 1, last),
    }


def day(number: int) -> str:
    return f"2026-01-{number:02}"


def shop(tmp_path: Path, engine: Engine, text: str = DAILY) -> tuple[Project, Feed]:
    project = load_project(write_project(tmp_path / "project", "shop", text), engine)
    return project, Feed(engine, tmp_path, "shop/prices", COLUMNS)


def run(project: Project, *, full_refresh: bool = False) -> None:
    (result,) = project.materialize("shop/price_history", full_refresh=full_refresh)
    assert result.success, failure(result)


def test_rows_open_change_close_and_come_back_as_worked_out_by_hand(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine)
    apple, pear, plum = price("apple", 10, "red"), price("pear", 20), price("plum", None)
    feed.publish([apple, pear, plum], day(1))
    run(project)
    feed.publish([price("apple", 10, "green"), price("pear", 21), plum], day(2))
    run(project)
    feed.publish([price("apple", 10)], day(3))
    run(project)
    feed.publish([price("apple", 12), price("pear", 21)], day(4))
    run(project)

    assert stored(engine, "shop/price_history") == [
        valid(apple, 1, 4),  # another note is no change
        valid(price("apple", 12), 4, None),
        valid(pear, 1, 2),
        valid(price("pear", 21), 2, 3),  # deleted on day 3
        valid(price("pear", 21), 4, None),  # and back
        valid(plum, 1, 3),
    ]


def test_a_corrected_day_changes_the_history_from_that_day_on(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine)
    for number, amount in enumerate([10, 11, 12], 1):
        feed.publish([price("apple", amount)], day(number))
    run(project)
    feed.publish([price("apple", 10)], day(2))
    run(project)

    assert stored(engine, "shop/price_history") == [
        valid(price("apple", 10), 1, 3),
        valid(price("apple", 12), 3, None),
    ]
    inputs = version(engine, "shop/price_history").inputs
    assert {each.partition for each in inputs if each.dataset == feed.dataset} == {day(2), day(3)}


def test_without_partitions_a_row_is_valid_from_the_time_of_the_inputs_version(
    tmp_path: Path, engine: Engine
) -> None:
    project, feed = shop(tmp_path, engine, WHOLE)
    times = []
    for amount in (10, 11):
        times.append(feed.publish([price("apple", amount)]).version.created_at.astimezone(UTC))
        run(project)
    run(project)

    def moment(row: Row, name: str) -> datetime | None:
        return None if row[name] is None else row[name].to_pydatetime().replace(tzinfo=UTC)

    rows = [
        (row["price"], moment(row, "valid_from"), moment(row, "valid_to"))
        for row in stored(engine, "shop/price_history")
    ]
    assert rows == [(10, times[0], times[1]), (11, times[1], None)]
    assert len(versions(engine, "shop/price_history")) == 2


def test_a_partition_whose_time_is_unknown_stops_the_run(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine)
    feed.publish([price("apple", 10)], "the first")

    (refused,) = project.materialize("shop/price_history")

    assert (
        "has the published partition the first, whose time its present declaration does not give"
        in failure(refused)
    )


def test_a_state_with_a_key_twice_is_not_published(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine)
    feed.publish([price("apple", 10), price("apple", 11)], day(1))

    (refused,) = project.materialize("shop/price_history")

    assert "failed check: keys_once" in failure(refused)


def test_the_columns_of_validity_have_no_sources(tmp_path: Path, engine: Engine) -> None:
    project, feed = shop(tmp_path, engine)
    feed.publish([price("apple", 10)], day(1))
    (result,) = project.materialize("shop/price_history")

    (event,) = result.get_asset_materialization_events()
    deps = event.materialization.metadata["dagster/column_lineage"].value.deps_by_column
    assert {name: [each.column_name for each in found] for name, found in deps.items()} == {
        "product": ["product"],
        "price": ["price"],
        "note": ["note"],
        "valid_from": [],
        "valid_to": [],
    }


def history(states: Mapping[int, Sequence[Row]]) -> list[Row]:
    """The model: walk through the days, and keep the open row of each product."""
    finished: list[Row] = []
    open_: dict[str, dict[str, Any]] = {}
    for number in sorted(states):
        state = {row["product"]: row for row in states[number]}
        for product, known in list(open_.items()):
            if product not in state or state[product]["price"] != known["price"]:
                finished.append({**open_.pop(product), "valid_to": date(2026, 1, number)})
        for product, row in state.items():
            open_.setdefault(product, {**row, "valid_from": date(2026, 1, number), "valid_to": None})
    return sorted([*finished, *open_.values()], key=lambda row: str(list(row.items())))


prices = st.lists(
    st.builds(price, st.sampled_from(["a", "b"]), st.none() | st.integers(1, 2), st.sampled_from("xy")),
    max_size=2,
    unique_by=lambda row: str(row["product"]),
)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(st.tuples(st.integers(1, 5), prices), st.sampled_from(["run", "run"])),
        min_size=4,
        max_size=8,
    )
)
def test_states_in_any_order_with_corrections_make_the_history_of_the_model(
    tmp_path_factory: pytest.TempPathFactory, engine: Engine, sequence: list[Any]
) -> None:
    project, feed = shop(tmp_path_factory.mktemp("shop"), engine)
    feed.tags = TAGS
    states: dict[int, Sequence[Row]] = {1: []}
    feed.publish([], day(1))
    for number in range(2, 6):
        if versions(engine, feed.dataset, day(number)):  # of the example before
            states[number] = []
            feed.publish([], day(number))
    for step in sequence:
        if step == "run":
            run(project)
        else:
            number, states[number] = step
            feed.publish(states[number], day(number))
    run(project)

    expected = history(states)
    assert stored(engine, "shop/price_history") == expected
    run(project, full_refresh=True)
    assert stored(engine, "shop/price_history") == expected
