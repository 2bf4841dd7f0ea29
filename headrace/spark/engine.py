"""The engine that computes a dataset: a Dagster resource that gives a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_ENGINE = "spark"


class SparkEngine(Protocol):
    """A resource of the project (`resources/`) under the name that a declaration's `engine` has."""

    @property
    def session(self) -> SparkSession:
        """The running session, started now if there is none. Raises SparkUnavailable saying what to do."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether Spark runs behind Spark Connect, where its JVM cannot be reached."""
        ...
