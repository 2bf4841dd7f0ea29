"""Classify run failures: expected exceptions, which of them a retry may cure, and their messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from headrace.access.redaction import redacted
from headrace.errors import CatalogError, CatalogUnavailable
from headrace.execution.partitions import NoUpstreamPartition, RangeRefused
from headrace.execution.plan import ProcessPlan
from headrace.execution.problems import SqlError, TransformError
from headrace.spark.errors import ResourceError, SparkUnavailable, WarehouseUnavailable


class SchemaChangeRefused(Exception):
    """The frame's schema breaks the published version's, and the declaration does not allow that."""


# What trying again may cure; the other errors of these families say the same thing each time.
PASSING = (CatalogUnavailable, SparkUnavailable, WarehouseUnavailable)
FINAL = (
    CatalogError,
    NoUpstreamPartition,
    RangeRefused,
    ResourceError,
    SchemaChangeRefused,
    SqlError,
    TransformError,
)


def explained_errors() -> tuple[type[Exception], ...]:
    """Our own exceptions, those of Spark's analysis, which name columns and no values, and what a person words."""
    from pyspark.errors import AnalysisException, ParseException

    return (*PASSING, *FINAL, AnalysisException, ParseException, dg.Failure, dg.RetryRequested)


@contextmanager
def raising_failures() -> Iterator[None]:
    """Raise whatever stops a run as Dagster's Failure: one message for a person, retried only where that may help."""
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
    """Add to what stops a run where its process is declared, unless it names a place itself or lies outside of it."""
    try:
        yield
    except (dg.Failure, GeneratorExit):
        raise
    except Exception as error:
        says_where = isinstance(error, (SchemaChangeRefused, SqlError, TransformError)) or hasattr(
            error, "__notes__"
        )
        if not says_where and not isinstance(error, PASSING):
            error.add_note(f"{plan.record.key} is declared at {plan.record.metadata['declared_at']}")
        raise
