"""The store of databases: writes each version to a table of its own, and reads these and other programs' tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Check, Column, Version
from headrace.catalog.schema import sensitive
from headrace.checks.audit import Audit, failed_counts, plan
from headrace.checks.evaluation import evaluated
from headrace.checks.partition import belonging, partition_counts, partition_result
from headrace.checks.readback import PARTITION, summary_aggregates, summary_of
from headrace.checks.readback import summaries as summaries_of
from headrace.checks.summary import Bounds, Summary, statistics
from headrace.connections.connection import Connection, connection
from headrace.connections.database import Database
from headrace.connections.failures import StatementFailed, explained
from headrace.connections.opening import opened
from headrace.connections.relations import OBSERVED, Source, State, is_readable, rows_of
from headrace.spark.errors import CorruptInput, StoreUnavailable
from headrace.spark.failures import explained as explained_by_spark
from headrace.spark.java_sql import summer_zone
from headrace.spark.quoting import quoted
from headrace.stores.columns import conformed, merged_columns
from headrace.stores.data_files.first_rows import rows_as_text
from headrace.stores.jdbc.merging import copy_without, row_count
from headrace.stores.jdbc.place import Place
from headrace.stores.jdbc.tables import (
    NUMBER,
    NUMBER_OPTION,
    ROWS,
    SET_ASIDE,
    VersionTable,
    append,
    bounds_query,
    by_table,
    definition,
    rows,
    tables_of,
)
from headrace.stores.protocol import Row, StoredTag
from headrace.stores.tags import new_tag
from headrace.stores.writes import MAX_SEGMENTS, MergedInto, OutputFormat, PartitionWrite, WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


_NO_SCHEMA = "3F000"  # PostgreSQL's SQLSTATE
_IS_THERE = ("23505", "42P06")  # its SQLSTATEs for a schema that another run has created meanwhile


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
        appended_to: Version | None = None,
        merged_into: MergedInto | None = None,
    ) -> list[WrittenVersion]:
        """Write the frame to a new table, which all partitions of the write share, and run the checks on it.

        appended_to: see `AppendingStore`; its tables are read again for the statistics and checks. merged_into: see
        `MergingStore`; the database copies the rows that stay. What the database cannot hold is refused before the
        table is created. Raises SchemaMismatch, InvalidCheck, StoreUnavailable, StatementFailed, and CorruptInput if
        the version that is continued has not the rows that were written.
        """
        place = self._place(dataset, output.location if output is not None else None)
        place.require_names()
        conforming = conformed(df, columns, dataset)
        audit = plan(checks, conforming)
        numbers = tuple(range(len(partition.keys))) if partition is not None else None
        table = VersionTable(place.schema, place.table(tag), audit.quarantined is not None, numbers)
        create = definition(dataset, place.connection, table, conforming)
        frame = df.select(*(quoted(column.name) for column in conforming))
        audit.require_valid(frame)
        if place.connection.driver is not None:
            self._require_zone(dataset, conforming)
        self._hidden |= sensitive(conforming)
        with opened(place.connection, lambda: self._session) as database:
            _create(database, create, place.schema)
        options = output.options if output is not None else {}
        kept = 0
        with explained(place.connection, str(place.locator(tag)), self._hidden):
            if merged_into is not None:
                kept = self._copy(merged_into, place, table, conforming)
            observed = _append(frame, audit, place.connection, table, options, partition)
        # A new connection: an idle one may have been closed meanwhile.
        with opened(place.connection, lambda: self._session) as database:
            stored = _stored_rows(database, table, kept + observed["written"])
            earlier = tables_of(place.connection, appended_to) if appended_to is not None else []
            byte_size = sum(self._byte_size(database, each) for each in (*earlier, table))
            is_addition = appended_to is not None or merged_into is not None
            known = (
                _summary(database, (*earlier, table), audit)
                if is_addition
                else summary_of(observed, audit.types)
            )
        keys: Sequence[str | None] = partition.keys if partition is not None else (None,)
        accepted, aside = (
            self._written_rows(place.connection, (*earlier, table), conforming, keys, set_aside=side)
            if table.sets_aside or not side
            else None
            for side in (False, True)
        )
        assert accepted is not None  # noqa: S101 - not set aside
        counts = failed_counts(observed)
        if is_addition:
            counts = {row.check.name: 0 for row in audit.rows if known and audit.proven(row, {}, known)}
        summaries = _summaries(audit, keys, known, accepted)
        if appended_to is not None:
            found = sum(each.row_count for each in summaries.values())
            _require_unchanged(appended_to, found - observed["written"])
        set_aside = (
            _row_counts(aside, keys, stored - sum(each.row_count for each in summaries.values()))
            if aside is not None
            else dict.fromkeys(keys, 0)
        )
        locator = place.locator(tag)
        quarantine = f"{locator} WHERE {SET_ASIDE} = 1"
        results = evaluated(audit, summaries, accepted, aside, quarantine, counts)
        of_partitions = [] if partition is None else [partition_result(audit, observed)]
        return [
            WrittenVersion(
                partition=key,
                location=str(locator),
                row_count=summary.row_count,
                columns=conforming,
                statistics=statistics(summary, sensitive(conforming)),
                check_results=(*results[key], *of_partitions),
                # Databases know the size of the table: each partition has its part of the rows.
                byte_size=byte_size
                if partition is None
                else byte_size * (summary.row_count + set_aside[key]) // max(stored, 1),
                read_options={
                    **({ROWS: "accepted"} if table.sets_aside else {}),
                    **({NUMBER_OPTION: str(number)} if partition is not None else {}),
                },
                quarantine_location=quarantine if set_aside[key] else None,
                quarantine_rows=set_aside[key],
                locator=locator,
                appended_to=() if appended_to is None else appended_to.segments,
            )
            for number, (key, summary) in enumerate(summaries.items())
        ]

    def can_append(self, version: Version, output: OutputFormat, columns: Sequence[Column]) -> bool:
        """Return True for a version behind the same view with the same columns, unless it has been appended to often.

        A table in which rows may be set aside is not appended to.
        """
        place = self._place(version.dataset, output.location)
        return (
            len(version.segments) < MAX_SEGMENTS
            and version.locator == place.locator(version.tag)
            and not version.metadata.get("options")
            and [(each.name, each.type) for each in version.columns]
            == [(each.name, each.type) for each in columns]
        )

    def can_merge(self, version: Version, output: OutputFormat, columns: Sequence[Column]) -> bool:
        """Return True for a version to which rows can be appended, where equal means the same as in Spark."""
        place = self._place(version.dataset, output.location)
        return place.connection.dialect.bounds is not None and self.can_append(version, output, columns)

    def read(self, versions: Sequence[Version]) -> DataFrame:
        """Return the rows of the versions. Raises CorruptInput for a table that has changed since it was observed."""
        columns = merged_columns(versions)
        observed = [version for version in versions if version.metadata.get("database") is not None]
        frames = [self._observed(version) for version in observed]
        written: dict[str, list[Version]] = {}
        for version in versions:
            if version not in observed:
                written.setdefault(getattr(version.locator, "connection", ""), []).append(version)
        for name, some in written.items():
            database = self._connection(name)
            for table, [first, *_] in by_table(database, some).items():
                self._hidden |= sensitive(first.columns)
                own = {column.name for column in first.columns}
                wanted = [column for column in columns if column.name in own]
                frames.append(rows(self._session, database, table, wanted))
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    def set_aside(self, version: Version, location: str) -> DataFrame:
        """Return the version's quarantined rows, which are in the same table."""
        database = self._connection(getattr(version.locator, "connection", ""))
        [table] = tables_of(database, version)  # one that sets rows aside is never appended to
        return rows(self._session, database, table, version.columns, set_aside=True)

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
        with opened(place.connection, lambda: self._session) as database:
            return place.tags(database)

    def stored(self, dataset: str, tag: str, base_uri: str | None = None) -> StoredTag:
        """Return the table of a tag, and its size. Raises StoreUnavailable."""
        place = self._place(dataset, base_uri)
        with opened(place.connection, lambda: self._session) as database:
            size = self._byte_size(database, VersionTable(place.schema, place.table(tag), sets_aside=False))
        return StoredTag(str(place.locator(tag)), size)

    def delete(self, dataset: str, tag: str, base_uri: str | None = None) -> None:
        """Drop the table of a tag. Raises ValueError for an invalid tag, StoreUnavailable, StatementFailed."""
        place = self._place(dataset, base_uri)
        name = place.table(tag)
        with opened(place.connection, lambda: self._session) as database:
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

    def _copy(
        self, merged_into: MergedInto, place: Place, table: VersionTable, columns: Sequence[Column]
    ) -> int:
        """Copy the rows that stay to a table, and return their number.

        The keys are in a table with a tag of its own meanwhile: if the run dies, that is garbage as any other.
        """
        names = merged_into.replaced.columns
        keys = VersionTable(place.schema, place.table(new_tag()), sets_aside=False)
        of_keys = [column for column in columns if column.name in names]
        earlier = tables_of(place.connection, merged_into.version)
        with opened(place.connection, lambda: self._session) as database:
            database.execute(definition(place.dataset, place.connection, keys, of_keys))
        try:
            append(merged_into.replaced, place.connection, keys, {})
            with opened(place.connection, lambda: self._session) as database:
                # The statement would copy without an error what another program has left of them.
                _require_unchanged(merged_into.version, row_count(database, earlier))
                return copy_without(database, earlier, keys, table, columns, names)
        finally:
            with opened(place.connection, lambda: self._session) as database:
                database.execute(f"DROP TABLE {database.dialect.relation((keys.schema, keys.name))}")

    def _observed(self, version: Version) -> DataFrame:
        """Return the rows of another program's table, as it was when it was observed."""
        self._hidden |= sensitive(version.columns)
        source = Source.of(version.metadata["database"])
        known = State(**version.metadata[OBSERVED])
        place = self._connection(source.connection)
        with opened(place, lambda: self._session) as database:
            if known.snapshot is None and not is_readable(database, source, known):
                raise CorruptInput(
                    f"{version.dataset} version {version.tag} cannot be read: {version.location} had "
                    f"{known.rows:,} rows "
                    + (f"up to {source.watermark} {known.watermark} " if known.watermark is not None else "")
                    + "when it was observed, and has changed since. Run `headrace observe`, and read the version that "
                    "it publishes."
                )
        columns = {column.name: column.type for column in version.columns}
        return rows_of(self._session, source, known, columns)

    def _connection(self, name: str) -> Connection:
        self._used[name] = connection(name)
        return self._used[name]

    def _byte_size(self, database: Database, table: VersionTable) -> int:
        query = database.dialect.table_bytes
        return int(str(database.value(query, [table.schema, table.name]) or 0)) if query is not None else 0

    def _written_rows(
        self,
        connection: Connection,
        tables: Sequence[VersionTable],
        columns: Sequence[Column],
        keys: Sequence[str | None],
        *,
        set_aside: bool,
    ) -> DataFrame:
        """Return the rows of a write, with their partition key in the column PARTITION.

        tables: the one of the write, after those of the version that it was appended to.
        """
        from pyspark.sql import functions as F

        if len(keys) == 1:
            key = F.lit(keys[0]).cast("string")
            frames = [rows(self._session, connection, each, columns, set_aside=set_aside) for each in tables]
            return reduce(lambda one, other: one.union(other), frames).withColumn(PARTITION, key)
        [table] = tables
        numbered = [*columns, Column(NUMBER, "int")]
        key = F.element_at(F.array(*map(F.lit, keys)), F.col(NUMBER) + 1)
        frame = rows(self._session, connection, table, numbered, set_aside=set_aside)
        return frame.withColumn(PARTITION, key).drop(NUMBER)


def _require_unchanged(version: Version, found: int) -> None:
    """Raise CorruptInput if the tables of a version have not as many rows as were written."""
    if version.row_count is not None and found != version.row_count:
        raise CorruptInput(
            f"{version.dataset} version {version.tag} cannot be continued: {version.location} had "
            f"{version.row_count:,} rows when it was written and has {found:,} now, so another program has changed it. "
            f"Roll back to an earlier version, or compute the dataset from nothing: `headrace materialize "
            f"{version.dataset} --full-refresh`."
        )


def _create(database: Database, statement: str, schema: str) -> None:
    """Create a table, and its schema where the database says that it is missing."""
    try:
        database.execute(statement)
    except StatementFailed as error:
        if error.state != _NO_SCHEMA:
            raise
        try:
            database.execute(f"CREATE SCHEMA IF NOT EXISTS {database.dialect.quoted(schema)}")
        except StatementFailed as refused:
            if refused.state not in _IS_THERE:
                raise
        database.execute(statement)


def _stored_rows(database: Database, table: VersionTable, written: int) -> int:
    """Return the number of rows in a table. Raises StoreUnavailable if it is not that of the rows written."""
    stored = row_count(database, [table])
    if stored != written:
        raise StoreUnavailable(
            f"{database.connection.name}:{table.schema}.{table.name} has {stored:,} rows, and {written:,} were "
            "written: Spark repeated a task that had succeeded. Run again, without speculative execution "
            "(spark.speculation)."
        )
    return stored


def _summary(database: Database, tables: Sequence[VersionTable], audit: Audit) -> Summary | None:
    """Return the summary of the rows of all the tables; None if only Spark knows."""
    query = bounds_query(database.dialect, tables, audit.types)
    return summary_of(database.query(query)[0], audit.types) if query is not None else None


def _summaries(
    audit: Audit, keys: Sequence[str | None], known: Summary | None, accepted: DataFrame
) -> dict[str | None, Summary]:
    """Return the summaries of the accepted rows by partition. known: that of all of them."""
    if len(keys) == 1 and known is not None:
        return {keys[0]: known}
    found = summaries_of(accepted, audit.types)
    empty = Summary(0, {name: Bounds(0, 0) for name in audit.types})
    return {key: found.get(key, empty) for key in keys}


def _row_counts(frame: DataFrame, keys: Sequence[str | None], total: int) -> dict[str | None, int]:
    """Return the number of a frame's rows by partition; total: of all."""
    if total == 0 or len(keys) == 1:
        return dict.fromkeys(keys, total)
    found = {row[PARTITION]: row["count"] for row in frame.groupBy(PARTITION).count().collect()}
    return {key: found.get(key, 0) for key in keys}


def _append(
    frame: DataFrame,
    audit: Audit,
    place: Connection,
    table: VersionTable,
    options: Mapping[str, str],
    partition: PartitionWrite | None,
) -> dict[str, Any]:
    """Append the rows of the partitions, and return the counts made meanwhile.

    Keys of the result: `written`; those of `failed_counts` and checks.partition, and of readback.summary_aggregates.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    quarantined = audit.quarantined
    belongs, counts = F.lit(True), []
    if partition is not None and partition.key is not None:
        belongs = F.expr(belonging(f"({partition.key})", partition.keys))
        counts = partition_counts(f"({partition.key})", partition.keys)
    accepted = belongs if quarantined is None else belongs & ~quarantined
    observation = Observation()
    frame = frame.observe(
        observation,
        F.count_if(belongs).alias("written"),
        *counts,
        *audit.counts(belongs, accepted, provable=False),
        *(count.alias(name) for name, count in summary_aggregates(audit.types, accepted).items()),
    )
    if partition is not None:
        frame = frame.where(belongs).withColumn(NUMBER, _number(partition))
    if quarantined is not None:
        frame = frame.withColumn(SET_ASIDE, F.when(quarantined, F.lit(1)).otherwise(F.lit(0)))
    append(frame, place, table, options)
    return dict(observation.get)


def _number(partition: PartitionWrite) -> SparkColumn:
    """Return the number of a row's partition, from 0."""
    from pyspark.sql import functions as F

    if partition.key is None:
        return F.lit(0)
    keys = F.array(*map(F.lit, partition.keys))
    return (F.array_position(keys, F.expr(f"({partition.key})")) - 1).cast("int")
