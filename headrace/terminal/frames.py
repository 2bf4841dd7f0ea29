"""Spark frames of versions for commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.spark.quoting import quoted
from headrace.terminal.errors import CommandError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.stores.store import OpenStores


def session() -> SparkSession:
    """Start Spark and return this process's session."""
    from headrace.spark.session import SparkResource

    return SparkResource().session


def open_stores() -> OpenStores:
    """Return the stores of the project, on this process's Spark session."""
    from headrace.context import current_context
    from headrace.stores.store import OpenStores

    return OpenStores(session(), current_context().settings.warehouse_uri)


def chosen(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Select the named columns in that order; all columns if none is named. Raises CommandError."""
    if unknown := [name for name in columns if name not in frame.columns]:
        raise CommandError(
            f"no such column: {', '.join(unknown)}; the columns are {', '.join(frame.columns)}"
        )
    return frame.select(*[quoted(name) for name in columns]) if columns else frame
