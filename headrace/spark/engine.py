"""The engine that computes a dataset: a Dagster resource that provides a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_ENGINE = "spark"


class SparkEngine(Protocol):
    """A resource of the project (`resources/`), by the name in a declaration's `engine`."""

    @property
    def session(self) -> SparkSession:
        """The running session, started if there is none. Raises SparkUnavailable with a remedy."""
        ...

    @property
    def is_remote(self) -> bool:
        """True with Spark Connect, where the JVM cannot be reached."""
        ...
