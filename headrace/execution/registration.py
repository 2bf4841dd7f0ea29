"""Register declarations, and update the references to datasets whose partitions this withdraws or restores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.errors import CatalogError
from headrace.registration import declarations
from headrace.spark.errors import ResourceError
from headrace.stores.references import update_references

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(
    engine: Engine,
    datasets: Sequence[DatasetRecord],
    processes: Sequence[ProcessRecord],
    session: Callable[[], SparkSession],
) -> list[str]:
    """Register the declarations like `declarations.register`.

    Returns a warning for each dataset whose references could not all be updated; the registration stands.
    """
    warnings = []
    for dataset in declarations.register(engine, datasets, processes):
        try:
            update_references(engine, dataset, session)
        except (CatalogError, ResourceError) as error:
            warnings.append(
                f"The partitions of {dataset} changed, but not all of its references could be updated, so external "
                f"readers may still find former versions: {error} After fixing that, run "
                f"`headrace manifests {dataset}`."
            )
    return warnings


def no_session() -> SparkSession:
    """Refuse to start Spark. Raises ResourceError."""
    raise ResourceError("The store is not on this machine's filesystem, and Spark is not started here.")
