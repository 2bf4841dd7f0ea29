"""The store of databases: writes each version to a table of its own, and reads these and other programs' tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Check, CheckResult, Column, Version
from headrace.catalog.schema import sensitive
from headrace.checks.audit import Audit, plan
from headrace.checks.evaluation import evaluated
from headrace.checks.readback import PARTITION, summary_aggregates, summary_of
from headrace.checks.summary import Summary, statistics
from headrace.connections.connection import Connection, connection
from headrace.connections.database import Database, opened
from headrace.connections.failures import explained
from headrace.connections.relations import OBSERVED, Source, State, is_readable, rows_of
from headrace.spark.errors import CorruptInput, StoreUnavailable
from headrace.spark.failures import explained as explained_by_spark
from headrace.spark.java_sql import summer_zone
from headrace.spark.quoting import quoted
from headrace.stores.columns import conformed, merged_columns
from headrace.stores.data_files.first_rows import rows_as_text
from headrace.stores.jdbc.place import Place
from headrace.stores.jdbc.tables import (
    ROWS,
    SET_ASIDE,
    VersionTable,
    append,
    definition,
    of_version,
    rows,
)
from headrace.stores.protocol import Row, StoredTag
from headrace.stores.writes import OutputFormat, PartitionWrite, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class JdbcStore:
    """Writes versions to `schema.view__<time>_<random>_<dataset>`; a base URI is `connection:schema.view`."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._used: dict[str, Connection] = {}
        self._hidden: frozenset[str] = frozenset()  # columns whose values may not be in messages

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
        """Write the frame to a new table, and run the checks on it.

        What the database cannot hold is refused before the table is created. Raises SchemaMismatch, InvalidCheck,
        StoreUnavailable, StatementFailed.
        """
        if partition is not None:
            raise ValueError("a database has no partitions of a dataset, as the store's capabilities say")
        place = self._place(dataset, output.location if output is not None else None)
        place.require_names()
        conforming = conformed(df, columns, dataset)
        audit = plan(checks, conforming)
        table = VersionTable(place.schema, place.table(tag), audit.quarantined is not None)
        create = definition(dataset, place.connection, table, conforming)
        frame = df.select(*(quoted(column.name) for column in conforming))
        audit.require_valid(frame)
        self._require_zone(dataset, conforming)
        self._hidden |= sensitive(conforming)
        with opened(place.connection, self._session) as database:
            database.execute(create)
        options = output.options if output is not None else {}
        with explained(place.connection, str(place.locator(tag)), self._hidden):
            observed = _append(frame, audit, place.connection, table, options)
        # A new connection: an idle one may have been closed meanwhile.
        with opened(place.connection, self._session) as database:
            relation = place.connection.dialect.relation((table.schema, table.name))
            stored = int(str(database.value(f"SELECT COUNT(*) FROM {relation}")))  # noqa: S608 - quoted
            if stored != observed["written"]:
                raise StoreUnavailable(
                    f"{place.locator(tag)} has {stored:,} rows, and {observed['written']:,} were written: Spark "
                    "repeated a task that had succeeded. Run again, without speculative execution (spark.speculation)."
                )
            byte_size = self._byte_size(database, table)
        summary = summary_of(observed, audit.types)
        locator = place.locator(tag)
        quarantine = f"{locator} WHERE {SET_ASIDE} = 1"
        aside = stored - summary.row_count
        return [
            WrittenVersion(
                partition=None,
                location=str(locator),
                row_count=summary.row_count,
                columns=conforming,
                statistics=statistics(summary, sensitive(conforming)),
                check_results=tuple(
                    self._results(audit, place.connection, table, conforming, observed, quarantine)
                ),
                byte_size=byte_size,
                read_options={ROWS: "accepted"} if table.sets_aside else {},
                quarantine_location=quarantine if aside else None,
                quarantine_rows=aside,
                locator=locator,
            )
        ]

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """Return the rows of the versions. Raises CorruptInput for a table that has changed since it was observed."""
        columns = merged_columns(versions)
        frames = [self._rows(version, columns) for version in versions]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    def set_aside(self, version: Version, location: str) -> DataFrame:
        """Return the version's quarantined rows, which are in the same table."""
        database = self._connection(getattr(version.locator, "connection", ""))
        return rows(self._session, database, of_version(database, version), version.columns, set_aside=True)

    def first_rows(self, version: Version, count: int) -> list[Row]:
        """Return up to `count` rows as text."""
        with self.explained(f"reading {version.dataset}"):
            return rows_as_text(self.read([version]), count)

    @contextmanager
    def explained(self, target: str, *, wholly: bool = False) -> Iterator[None]:
        """Convert Spark's exceptions, and those of the databases that were used."""
        with explained_by_spark(target, wholly=wholly), ExitStack() as stack:
            for each in self._used.values():
                stack.enter_context(explained(each, target, self._hidden))
            yield

    def tags(self, dataset: str, base_uri: str | None = None) -> list[str]:
        """Return the tags with a table; none of another program's. Raises StoreUnavailable."""
        if base_uri is None:
            return []
        place = self._place(dataset, base_uri)
        with opened(place.connection, self._session) as database:
            return place.tags(database)

    def stored(self, dataset: str, tag: str, base_uri: str | None = None) -> StoredTag:
        """Return the table of a tag, and its size. Raises StoreUnavailable."""
        place = self._place(dataset, base_uri)
        with opened(place.connection, self._session) as database:
            size = self._byte_size(database, VersionTable(place.schema, place.table(tag), sets_aside=False))
        return StoredTag(str(place.locator(tag)), size)

    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        """Drop the table of a tag. Raises ValueError for an invalid tag, StoreUnavailable, StatementFailed."""
        place = self._place(dataset, base_uri)
        name = place.table(tag)
        with opened(place.connection, self._session) as database:
            if name in database.relations(place.schema, name):
                database.execute(f"DROP TABLE {place.connection.dialect.relation((place.schema, name))}")

    def _place(self, dataset: str, base_uri: str | None) -> Place:
        place = Place.of(dataset, base_uri)
        self._used[place.connection.name] = place.connection
        return place

    def _require_zone(self, dataset: str, columns: Sequence[Column]) -> None:
        """Raise StoreUnavailable if times without zone could change: drivers take them for ones of Java's zone."""
        timed = [column.name for column in columns if column.type.startswith("timestamp")]
        if timed and (zone := summer_zone(self._session)) is not None:
            raise StoreUnavailable(
                f"{dataset}: {', '.join(timed)} cannot be written exactly, as Spark's Java is in the zone {zone}, in "
                "which some times do not exist. Set -Duser.timezone=UTC in spark.driver.extraJavaOptions and "
                "spark.executor.extraJavaOptions."
            )

    def _rows(self, version: Version, columns: Sequence[Column]) -> DataFrame:
        self._hidden |= sensitive(version.columns)
        own = {column.name: column.type for column in version.columns}
        source = version.metadata.get("database")
        if source is not None:
            return self._observed(version, Source.of(source), own)
        locator = version.locator
        database = self._connection(getattr(locator, "connection", ""))
        wanted = [column for column in columns if column.name in own]
        return rows(self._session, database, of_version(database, version), wanted)

    def _observed(self, version: Version, source: Source, columns: dict[str, str]) -> DataFrame:
        """Return the rows of another program's table, as it was when it was observed."""
        known = State(**version.metadata[OBSERVED])
        place = self._connection(source.connection)
        with opened(place, self._session) as database:
            if known.snapshot is None and not is_readable(database, source, known):
                raise CorruptInput(
                    f"{version.dataset} version {version.tag} cannot be read: {version.location} had "
                    f"{known.rows:,} rows "
                    + (f"up to {source.watermark} {known.watermark} " if known.watermark is not None else "")
                    + "when it was observed, and has changed since. Run `headrace observe`, and read the version that "
                    "it publishes."
                )
        return rows_of(self._session, source, known, columns)

    def _connection(self, name: str) -> Connection:
        self._used[name] = connection(name)
        return self._used[name]

    def _byte_size(self, database: Database, table: VersionTable) -> int:
        query = database.dialect.table_bytes
        return int(str(database.value(query, [table.schema, table.name]) or 0)) if query is not None else 0

    def _results(
        self,
        audit: Audit,
        place: Connection,
        table: VersionTable,
        columns: Sequence[Column],
        observed: Mapping[str, Any],
        quarantine: str,
    ) -> list[CheckResult]:
        """Return the results of the checks, reading the table for those that the write's counts do not decide."""
        from pyspark.sql import functions as F

        counts = {
            name.removeprefix("check:"): int(count)
            for name, count in observed.items()
            if name.startswith("check:")
        }
        accepted, aside = (
            rows(self._session, place, table, columns, set_aside=side).withColumn(
                PARTITION, F.lit(None).cast("string")
            )
            if table.sets_aside or not side
            else None
            for side in (False, True)
        )
        assert accepted is not None  # noqa: S101 - not set aside
        summaries: dict[str | None, Summary] = {None: summary_of(observed, audit.types)}
        return evaluated(audit, summaries, accepted, aside, quarantine, counts)[None]


def _append(
    frame: DataFrame, audit: Audit, place: Connection, table: VersionTable, options: Mapping[str, str]
) -> dict[str, Any]:
    """Append the rows, and return the counts made meanwhile.

    Keys of the result: `written`; `check:<name>`; the names of readback.summary_aggregates.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    quarantined = audit.quarantined
    everything = F.lit(True)
    accepted = everything if quarantined is None else ~quarantined
    counts = {
        f"check:{name}": count for name, count in audit.counts(everything, accepted, provable=False).items()
    }
    counts |= summary_aggregates(audit.types, accepted)
    observation = Observation()
    frame = frame.observe(
        observation,
        F.count(F.lit(1)).alias("written"),
        *(count.alias(name) for name, count in counts.items()),
    )
    if quarantined is not None:
        frame = frame.withColumn(SET_ASIDE, F.when(quarantined, F.lit(1)).otherwise(F.lit(0)))
    append(frame, place, table, options)
    return dict(observation.get)
