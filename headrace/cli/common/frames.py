"""Spark frames of versions for commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cli.common.errors import CommandError
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlalchemy import Engine

    from headrace.catalog.records import Version
    from headrace.stores.store import OpenStores


def session() -> SparkSession:
    """Start Spark and return this process's session."""
    from headrace.spark.session import SparkResource

    return SparkResource().session


def open_stores() -> OpenStores:
    """Return the stores of the project, on this process's Spark session."""
    from headrace.settings import settings
    from headrace.stores.store import OpenStores

    return OpenStores(session(), settings().warehouse_uri)


def tagged(engine: Engine, dataset: str, tag: str, partition: str | None) -> list[Version]:
    """Return the versions with this tag, one per partition, including blocked and superseded ones. Raises
    UnknownVersion.
    """
    from headrace.catalog.sensitivity import marked
    from headrace.catalog.versions import by_ids
    from headrace.database.connection import transaction
    from headrace.queries import version_lineage

    nodes = version_lineage(engine, dataset, depth=0, tag=tag, partition=partition).nodes
    with transaction(engine) as cursor:
        found = by_ids(cursor, [node.version.version_id for node in nodes])
    return sorted(marked(engine, list(found.values())), key=lambda version: version.partition or "")


def chosen(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Select the named columns in that order; all columns if none is named. Raises CommandError."""
    if unknown := [name for name in columns if name not in frame.columns]:
        raise CommandError(
            f"no such column: {', '.join(unknown)}; the columns are {', '.join(frame.columns)}"
        )
    return frame.select(*[quoted(name) for name in columns]) if columns else frame
