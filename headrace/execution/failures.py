"""Classify run failures: expected exceptions, which of them are retried, and their messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from headrace.access.redaction import redacted
from headrace.errors import CatalogError, CatalogUnavailable
from headrace.execution.partitions import NoUpstreamPartition, RangeRefused
from headrace.execution.plan import ProcessPlan
from headrace.execution.problems import GrowthChanged, NotIncremental, SqlError, TransformError
from headrace.spark.errors import ResourceError, SparkUnavailable, StoreUnavailable


class SchemaChangeRefused(Exception):
    """The frame's schema is a breaking change of the published version's, and the declaration does not allow that."""


# Errors that a retry may fix; other errors of these families are deterministic.
PASSING = (CatalogUnavailable, SparkUnavailable, StoreUnavailable)
FINAL = (
    CatalogError,
    GrowthChanged,
    NotIncremental,
    NoUpstreamPartition,
    RangeRefused,
    ResourceError,
    SchemaChangeRefused,
    SqlError,
    TransformError,
)


def explained_errors() -> tuple[type[Exception], ...]:
    """Return Headrace's own exceptions and Spark's analysis errors, which name columns and no values."""
    from pyspark.errors import AnalysisException, ParseException

    return (*PASSING, *FINAL, AnalysisException, ParseException, dg.Failure, dg.RetryRequested)


@contextmanager
def raising_failures() -> Iterator[None]:
    """Raise any error of a run as Dagster's Failure: one readable message, retried only if that may help."""
    try:
        yield
    except (dg.Failure, GeneratorExit):
        raise
    except Exception as error:
        name = type(error).__name__
        ours = isinstance(error, (*PASSING, *FINAL))
        raise dg.Failure(
            description=redacted(
                "\n".join([str(error) if ours else f"{name}: {error}", *getattr(error, "__notes__", ())])
            ),
            metadata={"reason": name},
            allow_retries=isinstance(error, PASSING) or not ours,
        ) from error


@contextmanager
def with_location(plan: ProcessPlan) -> Iterator[None]:
    """Add the place of the process's declaration to errors that do not name a place."""
    try:
        yield
    except (dg.Failure, GeneratorExit):
        raise
    except Exception as error:
        names_place = isinstance(error, (SchemaChangeRefused, SqlError, TransformError)) or hasattr(
            error, "__notes__"
        )
        if not names_place and not isinstance(error, PASSING):
            error.add_note(f"{plan.record.key} is declared at {plan.record.metadata['declared_at']}")
        raise
