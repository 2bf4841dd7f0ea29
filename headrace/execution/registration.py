"""Register declarations, and update the manifests of datasets whose partitions this withdraws or restores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from headrace.catalog import registry
from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.errors import CatalogError
from headrace.spark.errors import ResourceError
from headrace.stores.files.manifests import update_manifests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(
    engine: Engine,
    datasets: Sequence[DatasetRecord],
    processes: Sequence[ProcessRecord],
    session: Callable[[], SparkSession],
) -> list[str]:
    """Register the declarations like `registry.register`. Returns a warning for each dataset whose manifests could not
    be updated; the registration stands.
    """
    warnings = []
    for dataset in registry.register(engine, datasets, processes):
        try:
            update_manifests(engine, dataset, session)
        except (CatalogError, ResourceError) as error:
            warnings.append(
                f"The partitions of {dataset} changed, but not all of its manifests could be updated, so external "
                f"readers may still find former versions: {error} After fixing that, run "
                f"`headrace manifests {dataset}`."
            )
    return warnings


def no_session() -> SparkSession:
    """Refuse to start Spark. Raises ResourceError."""
    raise ResourceError("The warehouse is not on this machine's filesystem, and Spark is not started here.")
