"""OpenLineage's own expected results.

openlineage_cases.json: from OpenLineage/OpenLineage at the commit that the file names, Apache-2.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.catalog.column_lineage import ColumnSource
from headrace.spark.column_lineage import lineage_of

CASES = json.loads(Path(__file__).with_name("openlineage_cases.json").read_text())["cases"]
# OpenLineage reads the optimised plan, to which Spark has added not-null conditions. The analysed plan has the
# condition as written, which is what users expect.
WRITTEN = {
    "WHERE ((spark_catalog.default.t1.b IS NOT NULL) AND (spark_catalog.default.t1.b > 1))": (
        "WHERE (spark_catalog.default.t1.b > 1)"
    )
}
# For the same reason: of its 8 two are filters `date_id IS NOT NULL` that the optimiser puts before each join with t2,
# which as columns of a join are in the other 6 already.
COUNTS = {"simpleQueryMultipleJoinsToSameTable": 6}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["test"])
def test_equals_the_expected(
    spark: SparkSession, tables: Callable[[Mapping[str, Sequence[str]]], None], case: dict[str, Any]
) -> None:
    """Every source with its type, subtype, masking and description, and as many of them."""
    tables(
        {
            table["name"]: [f"{column['name']} {column['type']}" for column in table["columns"]]
            for table in case["tables"]
        }
    )
    found = lineage_of(spark.sql(case["sql"]), [])
    columns = [(each.column, *_facts(source)) for each in found.columns for source in each.sources]
    whole = [_facts(source) for source in found.whole]
    expected = case["expected"]
    assert len(columns) == expected["column_count"]
    assert len(whole) == COUNTS.get(case["test"], expected["dataset_count"])
    if expected["columns"]:
        assert set(columns) == {(each["output"], *_expected(each)) for each in expected["columns"]}
        assert set(whole) == {_expected(each) for each in expected["dataset"]}
    assert not any(each.unknown for each in found.columns)
    assert found.note is None


def _facts(source: ColumnSource) -> tuple[str, str, str, str, bool, str]:
    table = source.input.rpartition(".")[2]
    return table, source.column, source.type, source.subtype, source.masking, source.expression


def _expected(each: dict[str, Any]) -> tuple[str, str, str, str, bool, str]:
    description = WRITTEN.get(each["description"], each["description"])
    return each["table"], each["input"], each["type"], each["subtype"], each["masking"], description
