"""Files for other systems, written beside a version by a project's own function."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from headrace.catalog.records import Version
from headrace.execution import materialization
from headrace.execution.extracts import complete_extracts
from headrace.queries.versions import published
from headrace.settings import settings
from headrace.spark.errors import StoreUnavailable
from tests.platform.projects import failure, load_project, write_project

WRITERS = """
from decimal import Decimal
from pathlib import Path


def fixed(frame, location, options):
    rows = frame.orderBy("id").collect()
    lines = [f"{row.id:06d}{row.name:10}" for row in rows]
    folder = Path(location.removeprefix("file://"))
    (folder / "accounts.dat").write_bytes("".join(lines).encode(options["encoding"]))
    return {"id": Decimal(sum(row.id for row in rows))}


def failing(frame, location, options):
    (Path(location.removeprefix("file://")) / "half.dat").write_text("half")
    raise ValueError("the disk is on fire")


def nothing(frame, location, options):
    pass


def wrong(frame, location, options):
    fixed(frame, location, options)
    return 7
"""
DATASET = """
type: headrace.Dataset
attributes:
  key: bank/names
  sql: SELECT id, name FROM VALUES (1, 'ada'), (7, 'grace') AS rows(id, name)
  schema: {columns: {id: {type: int, checks: [CHECK]}, name: string}}
  extract: {writer: "writers_of_the_bank:WRITER", location: out/names, options: {encoding: cp037}}
"""
DAILY = """
type: headrace.Dataset
attributes:
  key: bank/names
  sql: SELECT 1 AS id, :partition_key AS name
  partitions: {type: daily, start: 2026-01-01}
  extract: {writer: "writers_of_the_bank:fixed", location: "out/{partition}/names/", options: {encoding: ascii}}
"""


@dataclass
class Bank:
    """A project with a dataset that is also written for another system."""

    root: Path
    engine: Engine

    @property
    def out(self) -> Path:
        return settings().home / "out"

    def declare(self, writer: str = "fixed", check: str = "not_null") -> None:
        declared = DATASET.replace("WRITER", writer).replace("CHECK", check)
        write_project(self.root, "bank", declared)

    def run(self) -> dg.ExecuteInProcessResult:
        (result,) = load_project(self.root, self.engine).materialize("bank/names")
        return result

    def manifests(self) -> list[dict[str, Any]]:
        return [json.loads(file.read_text()) for file in sorted(self.out.glob("**/manifest.json"))]

    def tags(self) -> list[str]:
        return [row.version.tag for row in published(self.engine, ["bank/names"])]


@pytest.fixture
def bank(
    tmp_path: Path, engine: Engine, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bank]:
    root = write_project(tmp_path / "project", "bank", "")
    (root / "writers_of_the_bank.py").write_text(WRITERS)
    monkeypatch.syspath_prepend(str(root))
    yield Bank(root, engine)
    sys.modules.pop("writers_of_the_bank", None)


def test_a_version_is_written_with_a_manifest_of_files_and_totals(bank: Bank) -> None:
    bank.declare()
    assert bank.run().success
    (tag,) = bank.tags()
    content = (bank.out / "names" / tag / "accounts.dat").read_bytes()
    assert content.decode("cp037") == "000001ada       000007grace     "
    assert bank.manifests() == [
        {
            "dataset": "bank/names",
            "partition": None,
            "version": tag,
            "rows": 2,
            "files": [{"name": "accounts.dat", "bytes": 32, "sha256": hashlib.sha256(content).hexdigest()}],
            "totals": {"id": "8"},
        }
    ]


def test_each_partition_is_written_to_its_own_place(bank: Bank) -> None:
    write_project(bank.root, "bank", DAILY)
    project = load_project(bank.root, bank.engine)
    assert all(run.success for run in project.materialize(partitions=("2026-01-01", "2026-01-02")))
    assert [each["partition"] for each in bank.manifests()] == ["2026-01-01", "2026-01-02"]
    assert [file.read_text() for file in sorted(bank.out.glob("2026-01-0?/names/*/accounts.dat"))] == [
        "0000012026-01-01",
        "0000012026-01-02",
    ]


@pytest.mark.parametrize(
    ("writer", "message"),
    [
        ("failing", "ValueError: the disk is on fire\nin writers_of_the_bank:failing"),
        ("nothing", "writers_of_the_bank:nothing wrote no files"),
        ("wrong", "writers_of_the_bank:wrong returned int"),
        ("missing", "writers_of_the_bank:missing cannot be imported"),
    ],
)
def test_a_writer_that_fails_leaves_nothing_published(bank: Bank, writer: str, message: str) -> None:
    bank.declare(writer)
    assert message in failure(bank.run())
    assert bank.tags() == []
    assert bank.manifests() == []


def test_a_version_that_a_check_blocks_is_not_written(bank: Bank) -> None:
    bank.declare(check="{less_than: 5}")
    bank.run()
    assert bank.tags() == []
    assert not bank.out.exists()


def test_a_run_that_dies_before_it_publishes_leaves_no_manifest(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank.declare()
    with monkeypatch.context() as dying:
        dying.setattr(materialization, "publish", lambda *_, **__: 1 / 0)
        assert not bank.run().success
    assert len(list(bank.out.glob("names/*/accounts.dat"))) == 1
    assert bank.manifests() == []
    assert bank.run().success
    assert [each["version"] for each in bank.manifests()] == bank.tags()


def test_the_writer_of_the_documentation_writes_its_file(bank: Bank) -> None:
    docs = (Path(__file__).parents[3] / "docs" / "declaring-datasets.md").read_text()
    code = docs.partition("```python\n# resources/mainframe.py\n")[2].partition("```")[0]
    (bank.root / "writers_of_the_bank.py").write_text(code.replace("order_id", "id"))
    bank.declare("order_numbers")
    assert bank.run().success
    (manifest,) = bank.manifests()
    assert manifest["totals"] == {"id": 8}
    assert (bank.out / "names" / manifest["version"] / "orders.dat").read_text(
        "cp037"
    ) == "00000000010000000007"


def test_a_retry_of_a_run_that_died_after_the_publish_completes_the_extract(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank.declare()
    file = bank.root / "assets" / "bank" / "defs.yaml"
    file.write_text(f"{file.read_text()}  retry: {{max_retries: 1}}\n")
    tries: list[int] = []

    def dying(session: SparkSession, versions: Sequence[Version]) -> None:
        tries.append(len(versions))
        if len(tries) == 1:
            raise StoreUnavailable("The network is gone.")
        complete_extracts(session, versions)

    monkeypatch.setattr(materialization, "complete_extracts", dying)
    assert bank.run().success
    assert tries == [1, 1]
    assert [each["version"] for each in bank.manifests()] == bank.tags()
