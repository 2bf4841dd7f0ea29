"""Publishing to each store, compared with the bare library's own write of the same rows.

The shapes and their ten checks are those of `materialization`. Each way reads the same Parquet files with Spark and
transforms them. Then Headrace writes, audits and publishes a version in a store, with its reference for other programs;
the library writes what Spark computed:
files    df.write.parquet
iceberg  pyiceberg: Table.append(df.toArrow()) to a new table of a catalog in the same PostgreSQL
delta    deltalake: write_deltalake(df.toArrow())
catalog  ADBC's COPY of df.toArrow() to the same PostgreSQL (the store `jdbc` without a driver)
jdbc     df.write.jdbc to PostgreSQL, 10,000 rows a batch (the TCP connection is relayed by this process)
All take turns in the same run, after one warm-up. PostgreSQL's own CPU time is not counted.
Run: python -m benchmarks.stores [--rows N] [--rounds N] [--shapes orders,contacts] [--stores files,delta]
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Annotated

import typer
from adbc_driver_postgresql import dbapi
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import DataFrame

from benchmarks.materialization import SHAPES
from benchmarks.workspace import CONNECTION, Workspace, in_turns, removed, report, workspace
from headrace.catalog.records import DatasetRecord
from headrace.connections.connection import CATALOG
from headrace.database import embedded
from headrace.registration.declarations import register
from tests.paths import POSTGRESQL_DRIVER

DATABASES = {"catalog": CATALOG, "jdbc": CONNECTION}  # connections


def main(
    rows: Annotated[int, typer.Option(help="Rows of each shape.")] = 500_000,
    rounds: Annotated[int, typer.Option(help="Measured rounds.")] = 3,
    shapes: Annotated[str, typer.Option(help="Shapes, separated by commas.")] = ",".join(SHAPES),
    stores: Annotated[
        str, typer.Option(help="Stores, separated by commas.")
    ] = "files,iceberg,delta,catalog,jdbc",
) -> None:
    """Measure and print seconds and ratios."""
    with workspace() as work:
        postgres = work.postgres.connect()
        postgres.execute("CREATE SCHEMA bench; CREATE SCHEMA bare")
        postgres.close()
        for shape in shapes.split(","):
            raw = removed(work.home / "raw")
            SHAPES[shape].raw(work.spark, rows).write.parquet(raw)
            for store in stores.split(","):
                if store == "jdbc" and not POSTGRESQL_DRIVER.exists():
                    typer.echo(f"no {POSTGRESQL_DRIVER}: jdbc is left out")
                    continue
                _measure(work, shape, store, rows, rounds, raw)


def _measure(work: Workspace, shape: str, store: str, rows: int, rounds: int, raw: str) -> None:
    name = f"{shape}_{store}"
    metadata = {"store": store} if store != "files" else {}
    is_database = store in DATABASES
    if is_database:
        metadata = {"store": "jdbc", "warehouse": f"{DATABASES[store]}:bench.{name}"}
    record = DatasetRecord(f"bench/{name}", "table" if is_database else "parquet", metadata=metadata)
    register(work.engine, [record])
    bare = BARE[store]

    def frame() -> DataFrame:
        return SHAPES[shape].transform(work.spark.read.parquet(raw))

    def headrace(_: int) -> None:
        version = work.publish(record, frame(), SHAPES[shape].checks)
        assert version.row_count == rows - rows // 97

    taken = in_turns(
        {"bare": lambda number: bare(work, frame(), f"{name}_{number}"), "headrace": headrace}, rounds
    )
    report(f"{shape}, {rows:,} rows, {store}", taken)


def _files(work: Workspace, frame: DataFrame, name: str) -> None:
    frame.write.parquet(str(work.home / "bare" / name))


def _iceberg(work: Workspace, frame: DataFrame, name: str) -> None:
    uri = embedded.start(work.home).replace("postgresql://", "postgresql+psycopg://")
    rows = frame.toArrow()
    with closing(SqlCatalog("bare", uri=uri, warehouse=(work.home / "bare").as_uri())) as catalog:
        catalog.create_namespace_if_not_exists("bare")
        catalog.create_table(f"bare.{name}", rows.schema).append(rows)


def _delta(work: Workspace, frame: DataFrame, name: str) -> None:
    write_deltalake(str(work.home / "bare" / name), frame.toArrow())


def _catalog(work: Workspace, frame: DataFrame, name: str) -> None:
    with dbapi.connect(embedded.start(work.home)) as opened, opened.cursor() as cursor:
        cursor.adbc_ingest(f"bare_{name}", frame.toArrow(), mode="create")
        opened.commit()


def _jdbc(work: Workspace, frame: DataFrame, name: str) -> None:
    found = work.postgres.variables(jdbc=True)
    properties = {"user": found["USER"], "driver": "org.postgresql.Driver", "batchsize": "10000"}
    frame.write.jdbc(found["URL"], f"bare.{name}", properties=properties)


BARE: dict[str, Callable[[Workspace, DataFrame, str], None]] = {
    "files": _files,
    "iceberg": _iceberg,
    "delta": _delta,
    "catalog": _catalog,
    "jdbc": _jdbc,
}


if __name__ == "__main__":
    typer.run(main)
