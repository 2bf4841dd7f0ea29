"""Tables and queries of databases: how Spark reads them, and the state by which a version of them is known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headrace.connections.arrow import fetched
from headrace.connections.connection import Connection, connection
from headrace.connections.database import Database, Value
from headrace.connections.dialects import literal
from headrace.connections.failures import explained
from headrace.spark.errors import SchemaMismatch
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

OBSERVED = "observed"  # in a version's metadata: the state of its source
_ALIAS = "headrace"  # of the query from which Spark reads
FETCH_SIZE = 10_000  # rows for each round trip; PostgreSQL's driver otherwise keeps all of them in memory


@dataclass(frozen=True, slots=True)
class ParallelRead:
    """Partitions of a read by a column; the bounds only divide the rows, and leave none out."""

    column: str
    lower: str
    upper: str
    partitions: int

    def conditions(self, column: str) -> list[str]:
        """Return the condition of each partition, which Spark's JDBC source makes itself. column: quoted."""
        lower, upper = _bound(self.lower), _bound(self.upper)
        cuts = [_cut(lower, upper, number, self.partitions) for number in range(1, self.partitions)]
        if not cuts:
            return []
        between = [f"{column} >= {low} AND {column} < {high}" for low, high in pairwise(cuts)]
        return [f"{column} < {cuts[0]} OR {column} IS NULL", *between, f"{column} >= {cuts[-1]}"]


@dataclass(frozen=True, slots=True)
class Source:
    """A table, or a query, behind a named connection. watermark: a column whose greatest value grows with new rows."""

    connection: str
    table: str | None = None
    query: str | None = None
    watermark: str | None = None
    read: ParallelRead | None = None
    fetch_size: int = FETCH_SIZE

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Source:
        """Return the source in a version's metadata."""
        read = metadata.get("read")
        return cls(**{**metadata, "read": ParallelRead(**read) if read else None})

    @property
    def metadata(self) -> dict[str, Any]:
        """The source as JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def relation(self, database: Connection, snapshot: str | None = None) -> str:
        """Return the SQL for what comes after FROM, as of a snapshot where the database has them."""
        dialect = database.dialect
        if self.table is None:
            return f"({str(self.query).rstrip().rstrip(';')}) {_ALIAS}"
        name = dialect.relation(dialect.parts(self.table))
        return dialect.as_of.format(relation=name, snapshot=int(snapshot)) if snapshot is not None else name


@dataclass(frozen=True, slots=True)
class State:
    """The state of a source by which its versions are known. snapshot: where the database has them."""

    rows: int
    watermark: str | None = None
    snapshot: str | None = None


def greatest(database: Database, source: Source) -> str | None:
    """Return the greatest watermark as text. Raises StatementFailed, StoreUnavailable."""
    query = f"SELECT MAX({_watermark(database, source)}) FROM {source.relation(database.connection)}"  # noqa: S608
    return _text(database.value(query))


def state(database: Database, source: Source) -> State:
    """Return the present state of a source; rows that are added meanwhile belong to a later one."""
    dialect = database.dialect
    taken = dialect.snapshot if source.table is not None else None
    snapshot = str(database.value(taken)) if taken is not None else None
    relation = source.relation(database.connection, snapshot)
    if source.watermark is None:
        return State(_count(database, relation), snapshot=snapshot)
    value = database.value(f"SELECT MAX({_watermark(database, source)}) FROM {relation}")  # noqa: S608
    return State(_count(database, relation, source, value), _text(value), snapshot)


def is_readable(database: Database, source: Source, known: State) -> bool:
    """Return True if the rows of an earlier state can still be separated from later ones, by their number.

    An update that leaves the watermark and the number of rows as they were is not noticed.
    """
    relation = source.relation(database.connection)
    if source.watermark is None:
        return _count(database, relation) == known.rows
    value = database.value(f"SELECT MAX({_watermark(database, source)}) FROM {relation}")  # noqa: S608
    if known.watermark is None:
        return value is None and _count(database, relation) == known.rows
    return value is not None and (
        _count(database, relation, source, _like(known.watermark, value)) == known.rows
    )


def columns_of(session: SparkSession, source: Source) -> dict[str, tuple[str, str]]:
    """Return the columns by a dataset's names for them: each with its name in the database and Spark's type."""
    place = connection(source.connection)
    with explained(place, str(source.table or "the query")):
        found = _loaded(session, place, source.relation(place), source.fetch_size)
        return {
            place.dialect.dataset_column(field.name): (field.name, field.dataType.simpleString())
            for field in found.schema.fields
        }


def rows_of(session: SparkSession, source: Source, known: State, columns: Mapping[str, str]) -> DataFrame:
    """Return the rows of a state of the source: these columns, by a dataset's names, as these types of Spark's.

    Spark asks the database for the columns and rows that a query needs. Raises StoreUnavailable, StatementFailed.
    """
    from pyspark.sql import functions as F

    place = connection(source.connection)
    present = columns_of(session, source)
    names = {name: own for name, (own, _) in present.items()}
    frame = selected(session, place, source.relation(place, known.snapshot), names, source)
    if source.watermark is not None and known.watermark is not None and known.snapshot is None:
        name = _named(names, place, source.watermark)
        value = F.col(quoted(name))
        frame = frame.where(value.isNull() | (value <= F.lit(known.watermark).cast(present[name][1])))
    by_name = {name.lower(): (name, type) for name, (_, type) in present.items()}

    def column(name: str, type: str) -> Column:
        if name.lower() not in by_name:
            return F.lit(None).cast(type).alias(name)
        own, found = by_name[name.lower()]
        return as_type(F.col(quoted(own)), found, type).alias(name)

    return frame.select(*(column(name, type) for name, type in columns.items()))


def selected(
    session: SparkSession,
    place: Connection,
    relation: str,
    names: Mapping[str, str],
    source: Source | None = None,
) -> DataFrame:
    """Return the columns of a relation of the database, by the names that the frame has for them."""
    dialect = place.dialect
    columns = ", ".join(f"{dialect.quoted(own)} AS {dialect.quoted(name)}" for name, own in names.items())
    query = f"(SELECT {columns} FROM {relation}) {_ALIAS}"  # noqa: S608
    read = source.read if source is not None else None
    if read is not None:
        read = replace(read, column=_named(names, place, read.column))
    with explained(place, relation):
        return _loaded(session, place, query, source.fetch_size if source else FETCH_SIZE, read)


def as_type(value: Column, found: str, wanted: str) -> Column:
    """Return a value that was read from a database as a dataset's type; a time without zone is in UTC."""
    from pyspark.sql import functions as F

    if found == wanted:
        return value
    if (found, wanted) == ("timestamp_ntz", "timestamp"):
        return F.convert_timezone(F.lit("UTC"), F.current_timezone(), value).cast("timestamp")
    return value.cast(wanted)


def _loaded(
    session: SparkSession,
    place: Connection,
    table: str,
    fetch_size: int,
    read: ParallelRead | None = None,
) -> DataFrame:
    """Return the rows of a table or query. read: by a column of it, which all rows have."""
    if place.driver is None:
        return fetched(
            session, place, table, read.conditions(place.dialect.quoted(read.column)) if read else ()
        )
    options = (
        {
            "partitionColumn": read.column,
            "lowerBound": read.lower,
            "upperBound": read.upper,
            "numPartitions": str(read.partitions),
        }
        if read
        else {}
    )
    reader = session.read.format("jdbc").options(
        **place.spark_options,
        dbtable=table,
        fetchsize=str(fetch_size),
        preferTimestampNTZ="true",
        **options,
    )
    return reader.load()


def _bound(text: str) -> int | Decimal | dt.datetime:
    """Return a bound of a parallel read: a number, or a date or time. Raises SchemaMismatch."""
    try:
        number = Decimal(text)
        return int(number) if number == number.to_integral_value() else number
    except InvalidOperation:
        pass
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise SchemaMismatch(
            f"the bound {text!r} of `read` is neither a number nor a date or time"
        ) from error


def _cut(lower: Any, upper: Any, number: int, partitions: int) -> str:  # noqa: ANN401 - two of _bound
    """Return SQL for the value at which a partition begins."""
    if isinstance(lower, int) and isinstance(upper, int):
        return str(lower + (upper - lower) * number // partitions)
    value = lower + (upper - lower) * number / partitions
    return literal(value.isoformat(" ")) if isinstance(value, dt.datetime) else format(value, "f")


def _own(place: Connection, column: str) -> str:
    """Return the database's name of a column as it is declared."""
    return place.dialect.parts(column)[-1]


def _named(names: Mapping[str, str], place: Connection, column: str) -> str:
    """Return a dataset's name of a column as it is declared. Raises SchemaMismatch if there is none."""
    own = _own(place, column)
    if own not in names.values():
        raise SchemaMismatch(
            f"The connection {place.name} finds no column {column}; there are {', '.join(names.values())}. Correct "
            "`watermark`, or the `column` of `read`."
        )
    return next(name for name, each in names.items() if each == own)


def _watermark(database: Database, source: Source) -> str:
    return database.dialect.quoted(_own(database.connection, str(source.watermark)))


def _count(database: Database, relation: str, source: Source | None = None, until: Value = None) -> int:
    if source is None or until is None:
        return int(str(database.value(f"SELECT COUNT(*) FROM {relation}")))  # noqa: S608
    watermark = _watermark(database, source)
    query = f"SELECT COUNT(*) FROM {relation} WHERE {watermark} <= ? OR {watermark} IS NULL"  # noqa: S608
    return int(str(database.value(query, [until])))


def _text(value: Value) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def _like(text: str, value: Value) -> Value:
    """Return the value of a text that `_text` made of one of the same column."""
    match value:
        case dt.datetime():
            return dt.datetime.fromisoformat(text)
        case dt.date():
            return dt.date.fromisoformat(text)
        case Decimal() | int():
            return Decimal(text)
        case float():
            return float(text)
    return text
