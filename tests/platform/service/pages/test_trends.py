"""Charts of a column's statistics and of row counts, over the versions of a dataset."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headrace.access.callers import Role
from headrace.catalog.records import Column, DatasetRecord
from headrace.pages.datasets.trends import column_trends, row_trend
from headrace.registration.declarations import register
from tests.platform.service.conftest import put
from tests.platform.service.pages.conftest import Browse

PEOPLE = (Column("age", "int"), Column("name", "string", tags=("pii",)))


def version(tag: str, rows: int | None = 10, **measures: Any) -> dict[str, Any]:
    """A row of the API."""
    return {
        "version": {"tag": tag, "partition": None},
        "row_count": rows,
        "statistics": {"age": measures} if measures else {},
    }


def test_the_newest_version_is_at_the_right() -> None:
    trend = row_trend([version("new", 30), version("old", 10)])

    assert trend is not None
    [[newest, oldest]] = trend.lines
    assert newest.x > oldest.x
    assert newest.y < oldest.y  # higher
    assert newest.words == "new: 30"
    assert trend.sentence == "between 10 and 30 in the last 2 versions"


def test_equal_values_are_a_line() -> None:
    trend = row_trend([version("b"), version("a")])
    assert trend is not None
    assert trend.sentence == "always 10 in the last 2 versions"


def test_one_value_is_not_a_trend() -> None:
    assert row_trend([version("a")]) is None
    assert row_trend([version("b", None), version("a")]) is None
    assert row_trend([]) is None


def test_versions_without_a_value_interrupt_the_line() -> None:
    trend = row_trend([version("d"), version("c"), version("b", None), version("a")])
    assert trend is not None
    assert [len(line) for line in trend.lines] == [2, 1]


def test_a_column_has_its_nulls_and_its_range() -> None:
    rows = [version("b", null_count=1, min=3, max=40), version("a", null_count=0, min=5, max=60)]
    nulls, bounds = column_trends(rows, "age")

    assert nulls.sentence == "between 0.0% and 10.0% in the last 2 versions"
    assert bounds.sentence == "between 3 and 60 in the last 2 versions"
    assert len(bounds.lines) == 2


@pytest.mark.parametrize("low", ["***", "Ann", "NaN", True, None])
def test_what_is_not_a_number_or_time_has_no_range(low: object) -> None:
    rows = [version("b", null_count=1, min=low, max=low), version("a", null_count=1, min=low, max=low)]
    assert [each.name for each in column_trends(rows, "age")] == ["Nulls"]


def test_days_have_a_range() -> None:
    rows = [
        version("b", min="2026-01-03", max="2026-01-04"),
        version("a", min="2026-01-01", max="2026-01-02"),
    ]
    [bounds] = column_trends(rows, "age")
    assert bounds.sentence == "between 2026-01-01 and 2026-01-04 in the last 2 versions"


@pytest.fixture
def people(catalog: Engine) -> Engine:
    """Two versions of crm/people."""
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=PEOPLE)], [])
    for tag, oldest in [("one", 70), ("two", 90)]:
        statistics = {
            "age": {"null_count": 1, "min": 20, "max": oldest},
            "name": {"null_count": 5, "min": "Ann", "max": "Zoe"},
        }
        put(catalog, "crm/people", tag, columns=PEOPLE, statistics=statistics)
    return catalog


@pytest.mark.usefixtures("people")
def test_a_column_is_shown_over_its_versions(browse: Browse) -> None:
    page = browse().open("/datasets/crm/people/columns?column=age")

    assert 'aria-label="Smallest and largest: between 20 and 90 in the last 2 versions"' in page
    assert "<title>one: 70</title>" in page
    assert 'aria-label="Rows: always 10 in the last 2 versions"' in browse().open(
        "/datasets/crm/people/versions"
    )


def test_each_measure_of_a_profile_is_a_line_over_the_versions(catalog: Engine, browse: Browse) -> None:
    register(catalog, [DatasetRecord("crm/people", "parquet", columns=PEOPLE)], [])
    for tag, median in [("one", 40), ("two", 44)]:
        age = {
            "null_count": 1,
            "distinct_count": median,
            "mean": median + 0.5,
            "quantiles": {"p25": 30, "p50": median, "p75": 60},
            "top_values": [["41", 3]],
        }
        name = {"null_count": 0, "top_values": [["Ann", 3]], "patterns": [["Aaa", 3]], "length": {"mean": 3}}
        put(catalog, "crm/people", tag, columns=PEOPLE, statistics={"age": age, "name": name})

    page = browse().open("/datasets/crm/people/columns?column=age")

    for words in ("Distinct values: between 40 and 44", "Mean: between 40.5 and 44.5"):
        assert f'aria-label="{words} in the last 2 versions"' in page
    assert "Quarters of the values: between 30 and 60" in page
    assert "Frequent values" in page
    assert "Ann" not in browse().open("/datasets/crm/people/columns?column=name")
    assert "Aaa" in browse(Role.DATA_OWNER, "bob").open("/datasets/crm/people/columns?column=name")


@pytest.mark.usefixtures("people")
def test_bounds_of_a_sensitive_column_are_hidden(browse: Browse) -> None:
    page = browse().open("/datasets/crm/people/columns?column=name")

    assert "hidden from your role" in page
    assert "Ann<" not in page
    assert "always 50.0%" in page
    assert "Ann<" in browse(Role.DATA_OWNER, "bob").open("/datasets/crm/people/columns?column=name")


@pytest.mark.usefixtures("people")
def test_an_unknown_column_is_not_found(browse: Browse) -> None:
    page = browse().open("/datasets/crm/people/columns?column=<b>height", 404)
    assert "has a column &lt;b&gt;height" in page


def test_with_partitions_the_published_version_of_each_counts(catalog: Engine, reader: TestClient) -> None:
    for partition, tag in [("2026-01-01", "a"), ("2026-01-02", "b"), ("2026-01-01", "c")]:
        put(catalog, "raw/flights", tag, partition=partition)

    def tags(query: str) -> list[str]:
        rows = reader.get(f"/api/v1/dataset/raw/flights/statistics{query}").json()
        return [each["version"]["tag"] for each in rows]

    assert tags("") == ["b", "c"]
    assert tags("?limit=1") == ["b"]
    assert tags("?partition=2026-01-01") == ["c", "a"]
