"""What other programs find in each store, and what they may do to it: without Headrace's code."""

# ruff: noqa: S608 - names of the tests' own

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from fsspec.implementations.local import LocalFileSystem
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession
from s3fs import S3FileSystem
from sqlalchemy.engine import make_url

from headrace.settings import settings
from tests.platform.s3.server import REGION

Rows = list[dict[str, Any]]


class Outside(Protocol):
    """A store as other programs see it."""

    def output(self, name: str) -> str:
        """Return the `output` of a dataset in the store of this name."""
        return f"{{store: {name}}}"

    def base_uri(self, dataset: str) -> str | None:
        """Return where the dataset's versions are; None for the warehouse."""
        return None

    def value(self, value: Any) -> Any:
        """Return what other programs find for a value."""
        return value

    def column(self, name: str) -> str:
        """Return what other programs find for a column's name, in lower case if SQL's case does not matter."""
        return name

    def rows(self, dataset: str) -> Rows:
        """Read the published rows."""
        ...

    def bounds(self, dataset: str) -> dict[str, Any]:
        """Return the largest values of columns in the log of the table."""
        ...

    def drop(self, dataset: str) -> None:
        """Drop the store's reference to what is published."""
        ...

    def intrude(self, dataset: str) -> None:
        """Write a row, as if the table were this program's."""
        ...

    def restore(self, dataset: str) -> None:
        """Undo the write."""
        ...


def warehouse() -> Path:
    return Path(settings().warehouse_uri.removeprefix("file://"))


def endpoint() -> str:
    """The address of the S3 service of the test."""
    return settings().spark.conf["spark.hadoop.fs.s3a.endpoint"]


def filesystem() -> tuple[Any, str]:
    """The filesystem of the warehouse, and its path there."""
    if settings().warehouse_uri.startswith("s3a:"):
        files = S3FileSystem(endpoint_url=endpoint(), use_listings_cache=False)
        return files, settings().warehouse_uri.removeprefix("s3a://")
    return LocalFileSystem(), str(warehouse())


class Files(Outside):
    """Manifests, and Parquet files that they list."""

    def rows(self, dataset: str) -> Rows:
        files, root = filesystem()
        found: Rows = []
        for manifest_path in sorted(files.ls(f"{root}/{dataset}/_published", detail=False)):
            manifest = json.loads(files.cat_file(manifest_path))
            for each in manifest["files"]:
                with files.open(each["path"].removeprefix("file:").removeprefix("s3a://"), "rb") as file:
                    parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
                    found += parquet.read().to_pylist()
        return found

    def bounds(self, dataset: str) -> dict[str, Any]:
        raise NotImplementedError("a manifest has no bounds")

    def drop(self, dataset: str) -> None:
        files, root = filesystem()
        files.rm(f"{root}/{dataset}/_published", recursive=True)

    def intrude(self, dataset: str) -> None:
        raise NotImplementedError("a manifest is a file, which the next update replaces")

    restore = intrude


class Iceberg(Outside):
    """pyiceberg, as docs/stores.md shows it."""

    def catalog(self) -> SqlCatalog:
        url = make_url(str(settings().database_url)).set(drivername="postgresql+psycopg")
        uri = url.update_query_dict({"options": "-csearch_path=iceberg"})
        storage = (
            {"s3.endpoint": endpoint(), "s3.region": REGION}
            if settings().warehouse_uri.startswith("s3a:")
            else {}
        )
        return SqlCatalog("default", uri=uri.render_as_string(hide_password=False), **storage)

    def rows(self, dataset: str) -> Rows:
        with closing(self.catalog()) as catalog:
            found: Rows = catalog.load_table(tuple(dataset.split("/"))).scan().to_arrow().to_pylist()
            return found

    def bounds(self, dataset: str) -> dict[str, Any]:
        with closing(self.catalog()) as catalog:
            table = catalog.load_table(tuple(dataset.split("/")))
            [file, *_] = table.inspect.files().to_pylist()
            metrics = file["readable_metrics"]
            return {
                name: each["upper_bound"] for name, each in metrics.items() if each["upper_bound"] is not None
            }

    def drop(self, dataset: str) -> None:
        with closing(self.catalog()) as catalog:
            catalog.drop_table(tuple(dataset.split("/")))

    def intrude(self, dataset: str) -> None:
        with closing(self.catalog()) as catalog:
            table = catalog.load_table(tuple(dataset.split("/")))
            table.append(table.scan(limit=1).to_arrow())

    def restore(self, dataset: str) -> None:
        with closing(self.catalog()) as catalog:
            table = catalog.load_table(tuple(dataset.split("/")))
            before = table.history()[-2].snapshot_id
            table.manage_snapshots().set_current_snapshot(snapshot_id=before).commit()


class Delta(Outside):
    """deltalake, as docs/stores.md shows it."""

    def table(self, dataset: str) -> DeltaTable:
        if settings().warehouse_uri.startswith("s3a:"):
            storage = {"aws_endpoint_url": endpoint(), "aws_allow_http": "true", "aws_region": REGION}
            return DeltaTable(f"{settings().warehouse_uri}/{dataset}/delta", storage_options=storage)
        return DeltaTable(str(warehouse() / dataset / "delta"))

    def rows(self, dataset: str) -> Rows:
        found: Rows = pa.table(self.table(dataset).to_pyarrow_table()).to_pylist()
        return found

    def bounds(self, dataset: str) -> dict[str, Any]:
        [largest, *_] = pa.table(self.table(dataset).get_add_actions()).column("max").to_pylist()
        return {name: value for name, value in largest.items() if value is not None}

    def drop(self, dataset: str) -> None:
        files, root = filesystem()
        files.rm(f"{root}/{dataset}/delta/_delta_log", recursive=True)

    def intrude(self, dataset: str) -> None:
        table = self.table(dataset)
        write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")

    def restore(self, dataset: str) -> None:
        table = self.table(dataset)
        table.restore(table.version() - 1)


class Ledger(Outside):
    """The SQLite file of Acme's store."""

    def _all(self, statement: str, values: Sequence[str]) -> list[Any]:
        with closing(sqlite3.connect(warehouse() / "ledger.sqlite")) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def rows(self, dataset: str) -> Rows:
        found = self._all(
            "SELECT line FROM rows JOIN published USING (dataset, tag) WHERE dataset = ? AND accepted",
            [dataset],
        )
        return [json.loads(line) for (line,) in found]

    def bounds(self, dataset: str) -> dict[str, Any]:
        raise NotImplementedError("its table of references has no bounds")

    def drop(self, dataset: str) -> None:
        self._all("DELETE FROM published WHERE dataset = ?", [dataset])

    def intrude(self, dataset: str) -> None:
        raise NotImplementedError("its table of references has no rows of data")

    restore = intrude


class Database(Outside):
    """A view of a database, by the SQL of any program."""

    name: str

    def run(self, *statements: str) -> list[tuple[list[str], list[Any]]]:
        """Run statements, and return the last one's rows, each with the columns' names."""
        raise NotImplementedError

    def output(self, name: str) -> str:
        return f"{{store: jdbc, connection: {self.name}}}"

    def base_uri(self, dataset: str) -> str | None:
        return f"{self.name}:{dataset.replace('/', '.')}"

    def column(self, name: str) -> str:
        return name.lower() if name.isascii() and name.isidentifier() else name

    def rows(self, dataset: str) -> Rows:
        view = dataset.replace("/", ".")
        return [
            {self.column(name): value for name, value in zip(names, values, strict=True)}
            for names, values in (self.run(f"SELECT * FROM {view}") if self.exists(dataset) else ())
        ]

    def exists(self, dataset: str) -> bool:
        raise NotImplementedError

    def bounds(self, dataset: str) -> dict[str, Any]:
        raise NotImplementedError("a view has no bounds")

    def drop(self, dataset: str) -> None:
        self.run(f"DROP VIEW {dataset.replace('/', '.')}")

    def intrude(self, dataset: str) -> None:
        view = dataset.replace("/", ".")
        self.run(
            f"CREATE TABLE {view}_kept AS SELECT * FROM {view} WITH NO DATA",
            f"INSERT INTO {view}_kept SELECT * FROM {view}",
            f"INSERT INTO {view}_kept SELECT * FROM {view} WHERE id = 0",
            f"DROP VIEW {view}",
            f"CREATE TABLE {view} AS SELECT * FROM {view}_kept WITH NO DATA",
            f"INSERT INTO {view} SELECT * FROM {view}_kept",
        )

    def restore(self, dataset: str) -> None:
        self.run(f"DROP TABLE {dataset.replace('/', '.')}")


class Derby(Database):
    """Derby within the JVM of Spark, over java.sql."""

    name = "derby"

    def run(self, *statements: str) -> list[tuple[list[str], list[Any]]]:
        jvm: Any = SparkSession.active()._jvm
        driver = jvm.org.apache.derby.iapi.jdbc.AutoloadedDriver()
        connection = driver.connect(settings().connections[self.name].url, jvm.java.util.Properties())
        statement = connection.createStatement()
        found: list[tuple[list[str], list[Any]]] = []
        for text in statements:
            if statement.execute(text):
                result = statement.getResultSet()
                shape = result.getMetaData()
                places = range(1, shape.getColumnCount() + 1)
                names = [shape.getColumnLabel(place) for place in places]
                while result.next():
                    found.append(
                        (names, [_of_java(result, place, shape.getColumnTypeName(place)) for place in places])
                    )
        connection.close()
        return found

    def exists(self, dataset: str) -> bool:
        schema, name = dataset.upper().split("/")
        query = (
            "SELECT 1 FROM SYS.SYSTABLES t JOIN SYS.SYSSCHEMAS s ON s.SCHEMAID = t.SCHEMAID "
            f"WHERE s.SCHEMANAME = '{schema}' AND t.TABLENAME = '{name}'"
        )
        return bool(self.run(query))

    def value(self, value: Any) -> Any:
        aware = isinstance(value, datetime) and value.tzinfo is not None
        return value.astimezone(UTC).replace(tzinfo=None) if aware else value  # Derby has no time zones


class Postgresql(Database):
    """PostgreSQL, by psycopg."""

    name = "postgresql"

    def run(self, *statements: str) -> list[tuple[list[str], list[Any]]]:
        with psycopg.connect(CONNINFO[0], autocommit=True) as connection:
            found: list[tuple[list[str], list[Any]]] = []
            for text in statements:
                cursor = connection.execute(text.encode())
                if cursor.description is not None:
                    names = [column.name for column in cursor.description]
                    found = [(names, list(row)) for row in cursor]
            return found

    def exists(self, dataset: str) -> bool:
        return self.run(f"SELECT to_regclass('{dataset.replace('/', '.')}')")[0][1] != [None]


CONNINFO: list[str] = []  # of the PostgreSQL of the test


def _of_java(result: Any, place: int, type: str) -> Any:
    match type:
        case "DATE":
            moment = result.getDate(place)
            return moment and date.fromisoformat(moment.toString())
        case "TIMESTAMP":
            moment = result.getTimestamp(place)
            return moment and datetime.fromisoformat(moment.toString())
        case "CLOB":
            return result.getString(place)
        case "BLOB":
            return result.getBytes(place)
        case _:
            return result.getObject(place)


DATABASES: dict[str, Database] = {"derby": Derby(), "postgresql": Postgresql()}
OUTSIDE: dict[str, Outside] = {
    "files": Files(),
    "iceberg": Iceberg(),
    "delta": Delta(),
    **DATABASES,
    "ledger": Ledger(),
}
