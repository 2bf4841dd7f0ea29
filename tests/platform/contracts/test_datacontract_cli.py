"""`datacontract`, the command of another project, accepts exported contracts and tests data with them.

`make datacontract` fetches it into an environment of its own.
"""

from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from headrace.contracts.document import contract, text_of
from tests.paths import REPOSITORY
from tests.platform.contracts.conftest import ORDERS, Declare

COMMAND = REPOSITORY / ".venv" / "datacontract" / "bin" / "datacontract"
pytestmark = pytest.mark.skipif(
    not COMMAND.exists(), reason="`make datacontract` has not fetched datacontract-cli"
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("email", pa.string()),
        pa.field("amount", pa.int32()),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("seen", pa.timestamp("us", tz="UTC")),
        pa.field("total", pa.decimal128(12, 2)),
        pa.field("labels", pa.list_(pa.string())),
        pa.field("address", pa.struct([("city", pa.string()), ("codes", pa.list_(pa.int32()))])),
        pa.field("counts", pa.map_(pa.string(), pa.int32())),
        pa.field("picture", pa.binary()),
    ]
)

NESTED = {
    "seen": "timestamp",
    "total": "decimal(12,2)",
    "labels": "array<string>",
    "address": "struct<city:string,codes:array<int>>",
    "counts": "map<string,int>",
    "picture": "binary",
}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def verdict(declare: Declare, folder: Path, rows: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    parquet.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / "part-0.parquet")
    server = {"server": "published", "type": "local", "path": f"{folder}/*.parquet", "format": "parquet"}
    columns = {"columns": ORDERS["schema"]["columns"] | NESTED}
    terms = declare(schema=columns, checks=[{"unique": ["id", "day"]}, {"row_count": {"min": 2}}])
    file = folder / "orders.odcs.yaml"
    file.write_text(text_of(contract(terms, servers=[server])))
    return run("test", str(file))


def order(id: int, amount: int | None = 1) -> dict[str, Any]:
    nested = {"labels": ["a"], "address": {"city": "Ulm", "codes": [1]}, "counts": {"a": 1}, "picture": b"x"}
    return {"id": id, "email": None, "amount": amount, "day": dt.date(2026, 1, 1), **nested}


def test_an_exported_contract_is_valid(declare: Declare, tmp_path: Path) -> None:
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(text_of(contract(declare())))
    linted = run("lint", str(file))
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_data_that_passes_the_checks_passes_those_of_the_contract(declare: Declare, tmp_path: Path) -> None:
    result = verdict(declare, tmp_path, [order(1), order(2, None), order(3, 3)])
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "rows",
    {
        "a value is not allowed": [order(1), order(2, 9)],
        "a value is below its bound": [order(1), order(2, -1)],
        "a key is repeated": [order(1), order(1)],
        "there are too few rows": [order(1)],
    }.values(),
)
def test_data_that_fails_a_check_fails_that_of_the_contract(
    declare: Declare, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    assert verdict(declare, tmp_path, rows).returncode != 0
