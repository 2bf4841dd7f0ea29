"""Additions of Acme's package: a store in a database, a read-only store, a check, a channel, an exporter, a source."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from psycopg import Cursor
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlalchemy import Engine

from headrace.access.sensitivity import MASK
from headrace.alerts.records import RenderedNotification
from headrace.catalog.locators import RelationLocator, SnapshotLocator
from headrace.catalog.records import Check, CheckResult, CheckStatus, Column, Version
from headrace.catalog.schema import sensitive
from headrace.checks.audit import plan
from headrace.checks.evaluation import evaluated
from headrace.checks.readback import PARTITION, summaries
from headrace.checks.summary import Summary, statistics
from headrace.gates import Candidate, Moment
from headrace.job_reports.completions.parsing import read_completions
from headrace.queries.rows import PublishedRow
from headrace.spark.errors import StoreUnavailable
from headrace.spark.quoting import quoted
from headrace.stores.capabilities import Capability
from headrace.stores.columns import conformed, merged_columns, schema_text
from headrace.stores.display import AS_JSON, TO_THE_MICROSECOND
from headrace.stores.protocol import JsonRow, Reference, Row, StoredTag
from headrace.stores.tags import begun
from headrace.stores.writes import OutputFormat, PartitionWrite, VersionFormat, WrittenVersion

SENT: list[tuple[str, str]] = []
TABLES = """
CREATE TABLE IF NOT EXISTS rows (dataset TEXT, tag TEXT, accepted INTEGER, line TEXT);
CREATE TABLE IF NOT EXISTS published (dataset TEXT PRIMARY KEY, tag TEXT);
"""


def database(warehouse_uri: str) -> Path:
    """The SQLite file in the warehouse."""
    return Path(urlsplit(warehouse_uri).path) / "ledger.sqlite"


@contextmanager
def connected(file: Path) -> Iterator[sqlite3.Connection]:
    """A transaction on the ledger."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.executescript(TABLES)
            yield connection
    except sqlite3.Error as error:
        raise StoreUnavailable(f"The ledger {file} cannot be used: {error}.") from error


class Ledger:
    """Rows as JSON lines in a table of a database; a version is a snapshot of its dataset's rows."""

    def __init__(self, session: SparkSession, file: Path) -> None:
        self._session = session
        self._file = file
        with connected(file):
            pass

    def write(
        self,
        df: DataFrame,
        *,
        dataset: str,
        tag: str,
        output: OutputFormat | None = None,
        columns: Sequence[Column] = (),
        checks: Sequence[Check] = (),
        partition: PartitionWrite | None = None,
    ) -> list[WrittenVersion]:
        if partition is not None:
            raise ValueError("the ledger has no partitions, as its capabilities say")
        columns = conformed(df, columns, dataset)
        audit = plan(checks, columns)
        frame = df.select(*(quoted(column.name) for column in columns))
        audit.require_valid(frame)
        aside = audit.quarantined
        accepted = F.lit(True) if aside is None else ~aside
        lines = frame.select(accepted.alias("accepted"), F.to_json(F.struct("*"), AS_JSON).alias("line"))
        with connected(self._file) as connection:
            connection.executemany(
                "INSERT INTO rows VALUES (?, ?, ?, ?)",
                ((dataset, tag, row.accepted, row.line) for row in lines.toLocalIterator()),
            )
        locator = SnapshotLocator(dataset, tag)
        kept, set_aside = (
            self._frame(locator, columns, side).withColumn(PARTITION, F.lit(None).cast("string"))
            for side in (True, False)
        )
        summary = summaries(kept, audit.types).get(None, Summary(0, {}))
        quarantine = f"{locator} (quarantined)"
        return [
            WrittenVersion(
                partition=None,
                location=str(locator),
                row_count=summary.row_count,
                columns=columns,
                statistics=statistics(summary, sensitive(columns)),
                check_results=tuple(evaluated(audit, {None: summary}, kept, set_aside, quarantine)[None]),
                byte_size=self.stored(dataset, tag).byte_size,
                quarantine_location=quarantine if aside is not None else None,
                quarantine_rows=set_aside.count() if aside is not None else 0,
                locator=locator,
            )
        ]

    def read(self, versions: Sequence[Version]) -> DataFrame:
        columns = merged_columns(versions)
        first, *others = [self._frame(version.locator, columns) for version in versions]
        for other in others:
            first = first.unionByName(other)
        return first

    def set_aside(self, version: Version, location: str) -> DataFrame:
        return self._frame(version.locator, version.columns, accepted=False)

    def first_rows(self, version: Version, count: int) -> list[Row]:
        texts: list[SparkColumn] = [
            F.col(quoted(c.name)).cast("string").alias(c.name) for c in version.columns
        ]
        frame = self._frame(version.locator, version.columns)
        return [row.asDict() for row in frame.limit(count).select(*texts).collect()]

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        yield  # `connected` converts the only exceptions of its own

    def tags(self, dataset: str, base_uri: str | None = None) -> list[str]:
        with connected(self._file) as connection:
            found = connection.execute("SELECT DISTINCT tag FROM rows WHERE dataset = ?", [dataset])
            return [tag for (tag,) in found]

    def stored(self, dataset: str, tag: str, base_uri: str | None = None) -> StoredTag:
        with connected(self._file) as connection:
            (size,) = connection.execute(
                "SELECT coalesce(sum(length(line)), 0) FROM rows WHERE (dataset, tag) = (?, ?)",
                [dataset, tag],
            ).fetchone()
        return StoredTag(str(SnapshotLocator(dataset, tag)), size)

    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        begun(tag)
        with connected(self._file) as connection:
            connection.execute("DELETE FROM rows WHERE (dataset, tag) = (?, ?)", [dataset, tag])

    def _frame(self, locator: object, columns: Sequence[Column], accepted: bool = True) -> DataFrame:
        lines = self._session.createDataFrame(
            [(line,) for line in lines_of(self._file, locator, accepted)], "line string"
        )
        parsed = F.from_json("line", schema_text(columns), TO_THE_MICROSECOND)
        return lines.select(parsed.alias("row")).select("row.*")


def lines_of(file: Path, locator: object, accepted: bool = True) -> list[str]:
    """The lines of a snapshot."""
    assert isinstance(locator, SnapshotLocator)
    with connected(file) as connection:
        found = connection.execute(
            "SELECT line FROM rows WHERE (dataset, tag, accepted) = (?, ?, ?) ORDER BY rowid",
            [locator.table, locator.snapshot, accepted],
        )
        return [line for (line,) in found]


class LedgerType:
    capabilities = frozenset({Capability.ATOMIC_SWAP, Capability.TIME_TRAVEL})
    formats: Mapping[str, VersionFormat] = {"lines": VersionFormat()}

    def open(self, session: SparkSession, warehouse_uri: str) -> Ledger:
        return Ledger(session, database(warehouse_uri))

    def local_rows(
        self,
        versions: Sequence[Version],
        names: Sequence[str],
        hidden: frozenset[str],
        count: int,
        warehouse_uri: str,
    ) -> list[JsonRow] | None:
        lines = [line for version in versions for line in lines_of(database(warehouse_uri), version.locator)]
        rows = [json.loads(line) for line in lines[:count]]
        return [
            {name: MASK if name in hidden and row[name] is not None else row[name] for name in names}
            for row in rows
        ]

    def update_references(
        self,
        dataset: str,
        rows: Sequence[PublishedRow],
        withdrawn: Sequence[str | None],
        warehouse_uri: str,
        session: Callable[[], SparkSession],
    ) -> list[Reference]:
        file = database(warehouse_uri)
        with connected(file) as connection:
            known = dict(
                connection.execute("SELECT dataset, tag FROM published WHERE dataset = ?", [dataset])
            )
            if withdrawn:
                connection.execute("DELETE FROM published WHERE dataset = ?", [dataset])
            for row in rows:
                connection.execute(
                    "INSERT OR REPLACE INTO published VALUES (?, ?)", [dataset, row.version.tag]
                )
        return [
            Reference(dataset, None, row.version.tag, str(file), known.get(dataset) != row.version.tag)
            for row in rows
        ]


class Views:
    """Views of the session, which others write."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def write(self, df: DataFrame, *, dataset: str, **_: Any) -> list[WrittenVersion]:
        raise StoreUnavailable(f"{dataset} is a view, which others write.")

    def read(self, versions: Sequence[Version]) -> DataFrame:
        [locator] = [version.locator for version in versions]
        assert isinstance(locator, RelationLocator)
        return self._session.table(locator.relation)

    def set_aside(self, version: Version, location: str) -> DataFrame:
        raise StoreUnavailable("Nothing is set aside here.")

    def first_rows(self, version: Version, count: int) -> list[Row]:
        return [
            {name: None if value is None else str(value) for name, value in row.asDict().items()}
            for row in self.read([version]).limit(count).collect()
        ]

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        yield

    def tags(self, dataset: str, base_uri: str | None = None) -> list[str]:
        return []

    def stored(self, dataset: str, tag: str, base_uri: str | None = None) -> StoredTag:
        raise StoreUnavailable("Nothing is written here.")

    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        raise StoreUnavailable("Nothing is written here.")


class ViewsType:
    capabilities: frozenset[Capability] = frozenset()
    formats: Mapping[str, VersionFormat] = {"view": VersionFormat()}

    def open(self, session: SparkSession, warehouse_uri: str) -> Views:
        return Views(session)

    def local_rows(self, *_: object) -> None:
        return None

    def update_references(self, *_: object) -> list[Reference]:
        return []


class Even:
    types = ("int", "bigint")

    def validate(self, parameters: Mapping[str, Any]) -> None:
        if parameters:
            raise ValueError("even takes no parameters")

    def condition(self, value: SparkColumn, parameters: Mapping[str, Any]) -> SparkColumn:
        return value % 2 == 0


class Pager:
    def send(self, url: str, rendered: RenderedNotification) -> None:
        SENT.append((url, rendered.title))


class Csv:
    def write(self, engine: Engine, organisation: UUID, file: BinaryIO) -> str:
        file.write(b"kind,id\n")
        return "1 line"


class Sealed:
    """Refuses registrations in the domain `sealed`."""

    def concerns(self, moment: Moment) -> bool:
        return moment is Moment.REGISTRATION

    def results(self, cursor: Cursor[Any], candidates: Sequence[Candidate]) -> list[list[CheckResult]]:
        return [
            [CheckResult("acme:sealed", CheckStatus.FAIL, detail={"message": "the domain is sealed"})]
            if each.key.startswith("sealed/")
            else []
            for each in candidates
        ]


class Semicolons:
    """JOB;STATUS;RUN on each line."""

    def read(self, data: bytes, name: str, *, at: datetime, zone: ZoneInfo) -> Any:
        lines = [line.split(";") for line in data.decode().splitlines()]
        documents = [{"process": job, "status": status, "run": run} for job, status, run in lines]
        return read_completions(json.dumps(documents).encode(), name, name="", at=at, zone=zone)
