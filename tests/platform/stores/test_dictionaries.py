"""Distinct values of a column are complete, whatever the writer did with its dictionary."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace.catalog.records import Check
from headrace.files.opening import files_for
from headrace.stores.data_files.proofs import dictionaries
from headrace.stores.data_files.proofs.dictionaries import known_values
from headrace.stores.tags import new_tag

FEW = ["NL", "DE", None, "FR"] * 500


def _written(spark: SparkSession, store: Any, values: Any, tag: Any) -> Any:
    frame = spark.createDataFrame([(value,) for value in values], "code string").coalesce(1)
    [written] = store.write(frame, dataset="shop/codes", tag=tag)
    files = files_for(written.location, spark)
    return files, files.data_files(written.location)


@pytest.mark.parametrize(
    "values",
    [FEW, [None] * 10 + FEW, [f"code {i}" for i in range(3000)], ["", None], [None, None]],
    ids=["few", "nulls first", "many", "empty text", "nulls alone"],
)
def test_all_values_are_reported(spark: SparkSession, store: Any, values: Any) -> None:
    files, stored = _written(spark, store, values, new_tag())
    assert known_values(files, stored, ["code"]) == {"code": set(values) - {None}}


def test_a_large_column_without_a_complete_dictionary_proves_nothing(spark: SparkSession, store: Any) -> None:
    """Its dictionary was given up in the middle, and holds only the values before."""
    values = [hashlib.sha1(b"%d" % i, usedforsecurity=False).hexdigest() for i in range(40_000)]
    files, stored = _written(spark, store, values, new_tag())
    assert known_values(files, stored, ["code"]) == {}


def test_one_file_without_a_dictionary_is_enough(
    spark: SparkSession, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, few = _written(spark, store, FEW, new_tag())
    _, many = _written(spark, store, [f"code {i}" for i in range(3000)], new_tag())
    monkeypatch.setattr(dictionaries, "_MAX_CHUNK_BYTES", 0)
    assert known_values(files, few, ["code"]) == {"code": {"NL", "DE", "FR"}}
    assert known_values(files, [*few, *many], ["code"]) == {}


def test_files_that_do_not_state_dictionary_coverage_prove_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's writer names the dictionary's own page as plain."""
    monkeypatch.setattr(dictionaries, "_MAX_CHUNK_BYTES", 0)
    pq.write_table(pa.table({"code": FEW}), tmp_path / "part-0.parquet", data_page_version="2.0")
    files = files_for(tmp_path.as_uri(), spark)
    assert known_values(files, files.data_files(tmp_path.as_uri()), ["code"]) == {}


@pytest.mark.parametrize("allowed", [["NL", "DE", "FR"], ["NL", "DE"]])
def test_a_list_is_judged_by_the_values(spark: SparkSession, store: Any, allowed: Any) -> None:
    frame = spark.createDataFrame([(value,) for value in FEW], "code string")
    check = Check("known", "isin", "code", {"allowed_values": allowed})
    [written] = store.write(frame, dataset="shop/codes", tag=new_tag(), checks=[check])
    [result] = written.check_results
    missing = FEW.count("FR") if "FR" not in allowed else 0
    assert (result.status.value, result.failed_rows) == ("FAIL" if missing else "PASS", missing)
