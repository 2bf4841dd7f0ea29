"""`headrace erase` over many versions of a dataset, compared with Spark's read, filter and write of each of them.

Two shapes: all versions of one dataset, of which the last is published and rewritten, and the others are deleted; and a
partition for each version, all of them published and rewritten. Each version has one row to erase.
Run: python -m benchmarks.erasure [--versions N] [--rows N] [--store delta]
"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from typer.testing import CliRunner

from benchmarks.workspace import Workspace, report, timed, workspace
from headrace.catalog.records import DatasetRecord
from headrace.cli import app
from headrace.registration.declarations import register


def main(
    versions: Annotated[int, typer.Option(min=2, help="Versions of each dataset.")] = 100,
    rows: Annotated[int, typer.Option(min=2, help="Rows of each version.")] = 100_000,
    store: Annotated[str, typer.Option(help="files, iceberg or delta.")] = "files",
) -> None:
    """Measure and print milliseconds per version."""
    with workspace() as work:
        for shape in ("versions", "partitions"):
            metadata = {"store": store} if store != "files" else {}
            record = DatasetRecord(f"bench/{shape}", "parquet", metadata=metadata)
            register(work.engine, [record])
            _measure(work, record, versions, rows)


def _measure(work: Workspace, record: DatasetRecord, count: int, rows: int) -> None:
    is_partitioned = record.key.endswith("partitions")
    places = [
        work.publish(
            record,
            work.spark.range(rows, numPartitions=2).selectExpr("id", "sha1(CAST(id AS STRING)) AS name"),
            partition=f"p{number}" if is_partitioned else None,
        ).location
        for number in range(count)
    ]

    def bare(_: int) -> None:
        for number, place in enumerate(places):
            rest = work.spark.read.parquet(place).where("NOT id = 7")
            rest.write.mode("overwrite").parquet(str(work.home / "bare" / record.key / str(number)))

    def headrace(_: int) -> None:
        command = ["erase", record.key, "--where", "id = 7", "--reason", "benchmark", "--yes", "--json"]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        erased = json.loads(result.stdout)["versions"]
        assert len(erased) == count
        assert [each["action"] for each in erased].count("rewrite") == (count if is_partitioned else 1)

    bare(0)  # warms up Spark
    taken = {name: [timed(way, 0)] for name, way in (("bare", bare), ("headrace", headrace))}
    per_version = {name: [(wall * 1000 / count, cpu * 1000 / count)] for name, [(wall, cpu)] in taken.items()}
    report(
        f"{count} {record.key.removeprefix('bench/')} of {rows:,} rows, for each version", per_version, "ms"
    )


if __name__ == "__main__":
    typer.run(main)
