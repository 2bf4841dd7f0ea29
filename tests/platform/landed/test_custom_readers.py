"""Files that Spark does not read, read by a project's own function, and compared with what their sender states."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from typer.testing import CliRunner

from headrace.catalog.records import Version
from headrace.cli import app
from headrace.declarations.loading.project import load
from headrace.execution.plan import ExternalPlan
from headrace.landed.control import Counts, counted
from headrace.landed.observation import Observation, observe
from headrace.queries.versions import published
from headrace.settings import settings
from headrace.spark.session import SparkResource
from headrace.stores.store import OpenStores
from tests.platform.projects import failure, load_project, write_project

READERS = '''
"""Readers of the test's feeds: an EBCDIC file after a copybook, and a zip of CSV files."""

import csv
import io
import zipfile
from decimal import Decimal

# 01 ACCOUNT.  05 NUMBER PIC 9(8).  05 HOLDER PIC X(12).  05 BALANCE PIC S9(9)V99 COMP-3.
LENGTH = 26


def accounts(spark, files, options):
    content = spark.read.format("binaryFile").load(files).select("content")
    return content.mapInPandas(records, "number bigint, holder string, balance decimal(11,2)")


def records(batches):
    import pandas

    for batch in batches:
        for content in batch.content:
            whole, rest = divmod(len(content), LENGTH)
            if rest:
                raise ValueError(f"record {whole + 1} has {rest} bytes instead of {LENGTH}, holder {content[-rest:]!r}")
            rows = [content[at : at + LENGTH] for at in range(0, len(content), LENGTH)]
            yield pandas.DataFrame([account(row) for row in rows if row[:3].decode("cp037") != "TRL"],
                                   columns=["number", "holder", "balance"])


def account(row):
    return int(row[:8].decode("cp037")), row[8:20].decode("cp037").rstrip(), packed(row[20:26])


def packed(field):
    digits = field.hex()
    return Decimal(int(digits[:-1]) * (-1 if digits[-1] == "d" else 1)).scaleb(-2)


def zipped(spark, files, options):
    rows = []
    for file in files:
        with zipfile.ZipFile(file.removeprefix("file://")) as archive:
            for name in archive.namelist():
                text = io.StringIO(archive.read(name).decode())
                rows += [(int(row[0]), row[1]) for row in csv.reader(text, delimiter=options["sep"])]
    return spark.createDataFrame(rows, "id int, name string")


def wrong(spark, files, options):
    return len(files)
'''
SCHEMA = "schema: {columns: {number: bigint, holder: string, balance: 'decimal(11,2)'}}"
FIXED = f"format: fixed, reader: readers_of_the_bank:accounts, {SCHEMA}"
CONTROL = (
    "control: {location: landing/accounts.ctl, rows: 'ROWS=(\\d+)', "
    "totals: {balance: 'BALANCE=([-\\d.]+)', number: 'HASH=(\\d+)'}, checksum: 'SHA256=([0-9a-f]+)'}"
)
TRAILER = "control: {encoding: cp037, rows: 'TRL(\\d{9})', totals: {balance: 'TRL\\d{9}([-+][\\d.]+)'}}"
READS_IT = """
---
type: headrace.Dataset
attributes:
  key: bank/total
  sql: SELECT count(*) AS accounts, sum(balance) AS total, max(holder) AS last FROM bank.accounts
"""
ROWS = [(10000001, "MÜLLER", "1234.56"), (10000002, "O'NEILL", "-0.07"), (99999999, "ÅSE", "999999999.99")]


def packed(amount: str) -> bytes:
    """COMP-3: two digits in a byte, and the sign in the last half byte."""
    digits = f"{abs(int(Decimal(amount).scaleb(2))):011d}"
    return bytes.fromhex(digits + ("d" if amount.startswith("-") else "c"))


def ebcdic(*rows: tuple[int, str, str]) -> bytes:
    return b"".join(
        f"{number:08d}{holder:12}".encode("cp037") + packed(balance) for number, holder, balance in rows
    )


def trailer(rows: int, balance: str) -> bytes:
    return f"TRL{rows:09d}{balance:<14}".encode("cp037").ljust(26, b"\x40")[:26]


@dataclass
class Bank:
    """A project with an external dataset and the folder in which its files land."""

    root: Path
    engine: Engine

    @property
    def landing(self) -> Path:
        return settings().home / "landing"

    def declare(self, *attributes: str) -> None:
        text = ", ".join(("key: bank/accounts", *attributes))
        declared = f"type: headrace.ExternalDataset\nattributes: {{{text}}}\n"
        write_project(self.root, "bank", declared + READS_IT)
        (self.root / "readers_of_the_bank.py").write_text(READERS)

    def land(self, content: bytes, name: str = "accounts.dat") -> Path:
        file = self.landing / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def control(self, content: bytes, rows: int = 3, balance: str = "1000001234.48") -> None:
        """The control file as the sender writes it, of these rows."""
        number = sum(each[0] for each in ROWS)
        checksum = hashlib.sha256(content).hexdigest()
        text = f"ROWS={rows}\nBALANCE={balance}\nHASH={number}\nSHA256={checksum}\n"
        self.land(text.encode(), "accounts.ctl")

    def look(self) -> Observation:
        loaded = load(self.root)
        assert not loaded.problems, "\n".join(str(problem) for problem in loaded.problems)
        return observe(self.engine, [plan for plan in loaded.plans if isinstance(plan, ExternalPlan)])

    def version(self) -> Version:
        observation = self.look()
        assert observation.problems == ()
        (found,) = observation.new
        return found

    def problem(self) -> str:
        observation = self.look()
        assert observation.new == ()
        (problem,) = observation.problems
        return problem

    def total(self) -> tuple[int, Decimal, str]:
        """What a run of the dataset that reads it computes."""
        (result,) = load_project(self.root, self.engine).materialize("bank/total")
        assert result.success
        (row,) = published(self.engine, ["bank/total"])
        frame = OpenStores(SparkResource().session, settings().warehouse_uri).read([row.version])
        return tuple(frame.collect()[0])


@pytest.fixture
def bank(
    tmp_path: Path, engine: Engine, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bank]:
    monkeypatch.syspath_prepend(str(tmp_path / "project"))
    monkeypatch.delitem(sys.modules, "readers_of_the_bank", raising=False)
    yield Bank(tmp_path / "project", engine)
    sys.modules.pop("readers_of_the_bank", None)


def test_packed_decimals_of_an_ebcdic_file_are_read_by_the_reader(bank: Bank) -> None:
    bank.declare(FIXED, "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS))
    version = bank.version()
    assert (version.row_count, version.format, version.byte_size) == (3, "fixed", 78)
    assert version.metadata["reader"] == "readers_of_the_bank:accounts"
    assert [column.type for column in version.columns] == ["bigint", "string", "decimal(11,2)"]
    assert bank.total() == (3, Decimal("1000001234.48"), "ÅSE")
    assert bank.look().new == ()


def test_a_record_of_the_wrong_length_blocks_the_version_and_is_named(bank: Bank) -> None:
    bank.declare(FIXED, "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS)[:-4])
    problem = bank.problem()
    assert "record 3 has 22 bytes instead of 26, holder" in problem
    assert "reads_as_declared" in problem
    bank.land(ebcdic(*ROWS))
    assert bank.version().row_count == 3


def test_spark_does_not_log_what_fails_in_the_reader(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = []

    def counting(*given: Any) -> Counts:
        levels.append(_log_level())
        return counted(*given)

    monkeypatch.setattr("headrace.landed.custom.counted", counting)
    bank.declare(FIXED, "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS)[:-4])
    before = _log_level()
    bank.problem()
    assert (levels, _log_level()) == (["OFF"], before)
    assert before != "OFF"


def _log_level() -> str:
    jvm = SparkContext._jvm
    assert jvm is not None
    return str(jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel())


def test_a_name_that_spark_cannot_read_is_the_reason_why_totals_are_unknown(bank: Bank) -> None:
    totals = "control: {location: landing/accounts.ctl, totals: {number: 'HASH=(\\d+)'}}"
    schema = "schema: {columns: {number: bigint}}"
    bank.declare(f"format: csv, options: {{header: true}}, {schema}, {totals}", "location: landing/in")
    bank.land(b"number\n1\n", "in/accounts:1.csv")
    bank.land(b"HASH=1", "accounts.ctl")
    assert "URISyntaxException: Relative path in absolute URI: .accounts:1.csv.crc" in bank.problem()


def test_a_file_whose_name_has_a_separator_of_keys_says_so(bank: Bank) -> None:
    bank.declare(
        "format: csv, options: {header: true}, schema: {columns: {number: bigint}}",
        "partitions: {type: dynamic, name: files}",
        "location: 'landing/{partition}.csv'",
    )
    bank.land(b"number\n1\n", "a,b.csv")
    assert "'a,b' has ',', which separates keys in lists" in bank.problem()


def test_a_sensitive_column_keeps_the_message_of_the_reader_out_of_sight(bank: Bank) -> None:
    bank.declare(FIXED.replace("string", "{type: string, tags: [pii]}"), "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS)[:-4])
    problem = bank.problem()
    assert "ValueError at record 3" in problem
    assert "holder" not in problem


def test_columns_that_the_reader_returns_otherwise_block_the_version(bank: Bank) -> None:
    bank.declare(
        FIXED.replace("decimal(11,2)", "decimal(9,2)").replace("number", "account"),
        "location: landing/accounts.dat",
    )
    bank.land(ebcdic(*ROWS))
    problem = bank.problem()
    assert "account is missing; balance is decimal(11,2), declared as decimal(9,2)" in problem


def test_without_a_schema_the_columns_are_those_of_the_reader(bank: Bank) -> None:
    bank.declare(FIXED.replace(SCHEMA, "description: all"), "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS))
    assert [column.name for column in bank.version().columns] == ["number", "holder", "balance"]


def test_a_zip_of_csv_files_in_each_partition(bank: Bank) -> None:
    daily = "partitions: {type: daily, start: 2026-01-01}, location: 'landing/names_{partition}.zip'"
    bank.declare("format: zip, reader: readers_of_the_bank:zipped, options: {sep: ;}", daily)
    for day, names in (("2026-01-01", "ab"), ("2026-01-02", "cde")):
        with zipfile.ZipFile(bank.land(b"", f"names_{day}.zip"), "w") as archive:
            for name in names:
                archive.writestr(f"{name}.csv", f"1;{name}\n2;{name * 2}\n")
    versions = bank.look().new
    assert [(each.partition, each.row_count) for each in versions] == [("2026-01-01", 4), ("2026-01-02", 6)]
    shown = CliRunner().invoke(app, ["read", "bank/accounts", "--partition", "2026-01-02", "--head", "9"])
    assert shown.exit_code == 0, shown.output
    assert "6 of 6 rows" in shown.output
    bank.land(b"PK nothing", "names_2026-01-02.zip")
    assert "BadZipFile: File is not a zip file" in bank.problem()


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        ("readers_of_another_bank:accounts", "No module named 'readers_of_another_bank'"),
        ("readers_of_the_bank:account_list", "has no attribute 'account_list'"),
        ("readers_of_the_bank:LENGTH", "is not a function"),
        ("readers_of_the_bank:wrong", "returned int. Let it return a DataFrame"),
    ],
)
def test_a_reader_that_cannot_be_used_is_a_problem_of_the_dataset(
    bank: Bank, reader: str, message: str
) -> None:
    bank.declare(f"format: fixed, reader: {reader}", "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS))
    problem = bank.problem()
    assert problem.startswith("bank/accounts could not be observed: ")
    assert reader in problem
    assert message in problem


def test_a_version_whose_reader_is_gone_fails_the_run_that_reads_it(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank.declare(FIXED, "location: landing/accounts.dat")
    bank.land(ebcdic(*ROWS))
    bank.version()
    (bank.root / "readers_of_the_bank.py").unlink()
    monkeypatch.delitem(sys.modules, "readers_of_the_bank")
    (result,) = load_project(bank.root, bank.engine).materialize("bank/total")
    assert "readers_of_the_bank:accounts cannot be imported: ModuleNotFoundError" in failure(result)


def test_files_wait_for_their_control_file_and_are_published_when_it_agrees(bank: Bank) -> None:
    bank.declare(FIXED, CONTROL, "location: landing/accounts.dat")
    content = ebcdic(*ROWS)
    bank.land(content)
    observation = bank.look()
    assert (observation.new, observation.problems) == ((), ())
    (waiting,) = observation.waiting
    assert waiting.endswith("landing/accounts.ctl yet")
    bank.control(content)
    assert bank.version().row_count == 3
    assert bank.look().new == ()


def test_an_arrival_that_differs_from_its_control_file_is_blocked_until_it_is_corrected(bank: Bank) -> None:
    bank.declare(FIXED, CONTROL, "location: landing/accounts.dat")
    content = ebcdic(*ROWS)
    bank.land(content)
    bank.control(content[1:], rows=4, balance="1000001234.49")
    problem = bank.problem()
    assert "control_totals" in problem
    assert "'number of rows': 'stated 4, found 3'" in problem
    assert "'balance': 'stated 1000001234.49, found 1000001234.48'" in problem
    assert f"found {hashlib.sha256(content).hexdigest()}" in problem
    assert published(bank.engine, ["bank/accounts"]) == []
    bank.control(content)
    assert bank.version().row_count == 3


def test_a_control_file_that_is_corrected_after_the_publish_is_noticed(bank: Bank) -> None:
    bank.declare(FIXED, CONTROL, "location: landing/accounts.dat")
    content = ebcdic(*ROWS)
    bank.land(content)
    bank.control(content)
    first = bank.version()
    bank.control(content, rows=4000)
    assert "stated 4000, found 3" in bank.problem()
    (row,) = published(bank.engine, ["bank/accounts"])
    assert row.version.tag == first.tag


def test_totals_of_sensitive_columns_are_not_shown(bank: Bank) -> None:
    sensitive = FIXED.replace("'decimal(11,2)'", "{type: 'decimal(11,2)', tags: [sensitive]}")
    bank.declare(sensitive, CONTROL, "location: landing/accounts.dat")
    content = ebcdic(*ROWS)
    bank.land(content)
    bank.control(content, balance="7.00")
    problem = bank.problem()
    assert "balance" in problem
    assert "7.00" not in problem
    assert "1234.48" not in problem


def test_a_trailer_in_ebcdic_is_compared_file_by_file(bank: Bank) -> None:
    bank.declare(FIXED, TRAILER, "location: landing/accounts")
    bank.land(ebcdic(*ROWS[:2]) + trailer(2, "+1234.49"), "accounts/1.dat")
    bank.land(ebcdic(*ROWS[2:]) + trailer(2, "+999999999.99"), "accounts/2.dat")
    problem = bank.problem()
    assert "'2.dat: number of rows': 'stated 000000002, found 1'" in problem
    assert "1.dat" not in problem
    bank.land(ebcdic(*ROWS[2:]) + trailer(1, "+999999999.99"), "accounts/2.dat")
    assert bank.version().row_count == 3
    assert bank.total()[0] == 3


def test_a_control_file_of_csv_is_compared_by_spark_with_totals_of_38_digits(bank: Bank) -> None:
    most, nearly = "9" * 36 + ".99", "9" * 35 + "8.99"
    bank.declare(
        "format: csv, options: {header: true}, location: landing/accounts.csv",
        "schema: {columns: {number: bigint, balance: 'decimal(38,2)', holder: string}}",
        "control: {location: landing/accounts.ctl, rows: '^(\\d+);', totals: {balance: ';(.*)$'}}",
    )
    bank.land(f"number,balance,holder\n1,{nearly},a\n2,1.00,b\n".encode(), "accounts.csv")
    bank.land(f"2;{most}".encode(), "accounts.ctl")
    assert bank.version().row_count == 2
    bank.land(f"number,balance,holder\n1,{nearly},a\n2,1.01,b\n".encode(), "accounts.csv")
    assert "more than 38 digits" in bank.problem()
    bank.land(f"2;{nearly}-".encode(), "accounts.ctl")
    bank.land(b"number,balance,holder\n", "accounts.csv")
    assert "stated 2, found 0" in bank.problem()
    bank.land(b"0;nothing", "accounts.ctl")
    assert "stated nothing, found 0" in bank.problem()
    bank.land(b"0 rows", "accounts.ctl")
    assert "nothing matches" in bank.problem()
    bank.land(b"number,balance,holder\n1,one,a\n", "accounts.csv")
    assert "control_totals" in bank.problem()


def test_the_reader_of_the_documentation_reads_its_feed(bank: Bank) -> None:
    docs = (Path(__file__).parents[3] / "docs" / "declaring-datasets.md").read_text()
    code = docs.partition("```python\n# resources/copybook.py\n")[2].partition("```")[0]
    bank.declare(
        "format: fixed, reader: readers_of_the_bank:accounts, options: {encoding: cp037}",
        "location: landing/accounts.dat, schema: {columns: {number: bigint, balance: 'decimal(11,2)'}}",
        "control: {location: landing/accounts.ctl, totals: {balance: 'BALANCE=([-\\d.]+)'}}",
    )
    (bank.root / "readers_of_the_bank.py").write_text(code)
    content = b"".join(f"{number:08d}".encode("cp037") + packed(balance) for number, _, balance in ROWS)
    bank.land(content)
    bank.control(content)
    assert bank.version().row_count == 3
    bank.land(content[:-1])
    assert "record 3 has 13 bytes instead of 14" in bank.problem()
