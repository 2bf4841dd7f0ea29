"""Versions as Spark frames for display, with sensitive columns masked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.cli.common.errors import CommandError
from headrace.stores.files.predicates import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlalchemy import Engine

    from headrace.catalog.records import Version
    from headrace.stores.files.store import FilesStore
    from headrace.stores.store import OpenStores


# Options of Spark's to_json: times to the microsecond (the default cuts them to milliseconds), and nulls included.
TO_THE_MICROSECOND = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
AS_JSON = {"ignoreNullFields": "false", **TO_THE_MICROSECOND}


def session() -> SparkSession:
    """Start Spark and return this process's session."""
    from headrace.spark.session import SparkResource

    return SparkResource().session


def files_store() -> FilesStore:
    """Return the files store of the configured warehouse, on this process's Spark session."""
    from headrace.settings import settings
    from headrace.stores.files.store import FilesStore

    return FilesStore(session(), settings().warehouse_uri)


def store() -> OpenStores:
    """Return the stores of the project, on this process's Spark session."""
    from headrace.settings import settings
    from headrace.stores.store import OpenStores

    return OpenStores(session(), settings().warehouse_uri)


def tagged(engine: Engine, dataset: str, tag: str, partition: str | None) -> list[Version]:
    """Return the versions with this tag, one per partition, including blocked and superseded ones. Raises
    UnknownVersion.
    """
    from headrace.catalog.queries import version_lineage
    from headrace.catalog.sensitivity import marked
    from headrace.catalog.versions import by_ids
    from headrace.database.connection import transaction

    nodes = version_lineage(engine, dataset, depth=0, tag=tag, partition=partition).nodes
    with transaction(engine) as cursor:
        found = by_ids(cursor, [node.version.version_id for node in nodes])
    return sorted(marked(engine, list(found.values())), key=lambda version: version.partition or "")


def masked(frame: DataFrame, hidden: frozenset[str]) -> DataFrame:
    """Replace values of the hidden columns with MASK; nulls stay null."""
    from pyspark.sql import functions as F

    from headrace.execution.metadata import MASK

    masks = {
        name: F.when(F.col(quoted(name)).isNotNull(), F.lit(MASK)) for name in frame.columns if name in hidden
    }
    return frame.withColumns(masks) if masks else frame  # Spark Connect does not accept an empty set


def chosen(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Select the named columns in that order; all columns if none is named. Raises CommandError."""
    if unknown := [name for name in columns if name not in frame.columns]:
        raise CommandError(
            f"no such column: {', '.join(unknown)}; the columns are {', '.join(frame.columns)}"
        )
    return frame.select(*[quoted(name) for name in columns]) if columns else frame


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Convert the rows to JSON values: times in ISO 8601 and UTC, lists and objects as such."""
    from pyspark.sql import functions as F

    everything = F.struct(*[F.col(quoted(name)) for name in frame.columns])
    lines = frame.select(F.to_json(everything, AS_JSON).alias("line")).collect()
    return [json.loads(row.line) for row in lines]
