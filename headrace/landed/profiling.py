"""Profile versions that other systems wrote by a sample of their rows, which is not stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from headrace.catalog.records import Version
from headrace.catalog.schema import sensitive
from headrace.catalog.sensitivity import marked
from headrace.checks.profiling import is_profiled, profile_aggregates, sketches_of
from headrace.checks.summary import statistics
from headrace.context import current_context
from headrace.execution.plan import ExternalPlan
from headrace.execution.profiling.measuring import PROFILE
from headrace.profiles.measures import measures
from headrace.publishing.sketches import record_profile
from headrace.queries.profiles import profiled
from headrace.spark.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SEED = 1  # of the sample, so that an equal version has an equal profile


def unprofiled(
    engine: Engine, external: Sequence[ExternalPlan], published: Iterable[Version]
) -> Iterator[tuple[ExternalPlan, Version]]:
    """Yield the published versions that have no profile, of those datasets that have a full one."""
    default = current_context().settings.profile
    plans = {
        plan.record.key: plan for plan in external if plan.record.metadata.get(PROFILE, default) == "full"
    }
    versions = [
        version
        for version in published
        if version.dataset in plans and version.expired_at is None and version.locator is not None
    ]
    known = profiled(engine, [version.version_id for version in versions]) if versions else set()
    for version in versions:
        if version.version_id not in known and version.row_count != 0 and version.columns:
            yield plans[version.dataset], version


def profile_sample(engine: Engine, version: Version) -> None:
    """Measure a sample of the version's rows, and store what it shows.

    Raises the errors of reading a version: SparkUnavailable, StoreUnavailable, CorruptInput, SchemaMismatch.
    """
    from pyspark.sql import functions as F

    from headrace.checks.readback import summary_aggregates, summary_of
    from headrace.spark.session import reader_session
    from headrace.stores.store import OpenStores

    [version] = marked(engine, [version])
    hidden = sensitive(version.columns)
    types = {column.name: column.type for column in version.columns}
    shown = {name: type_ for name, type_ in types.items() if name not in hidden and is_profiled(type_)}
    stores = OpenStores(reader_session(), current_context().settings.warehouse_uri)
    with stores.explained(version.dataset):
        frame, is_sample = _sample(stores.read([version]), version.row_count)
        summarised = summary_aggregates(types, F.lit(True)).items()
        [row] = (
            frame.select(*map(quoted, types))
            .agg(*(each.alias(name) for name, each in summarised), *profile_aggregates(shown))
            .collect()
        )
    answer = row.asDict()
    sketches = sketches_of(answer, shown, sampled=is_sample)
    found: dict[str, dict[str, Any]] = statistics(summary_of(answer, types), hidden)
    for name, each in found.items():
        if is_sample:
            each["null_count"] = _extrapolated(each["null_count"], answer["rows"], version.row_count)
        if name in sketches:
            each |= measures(sketches[name])
    record_profile(engine, version.version_id, found, sketches)


def _sample(frame: DataFrame, row_count: int | None) -> tuple[DataFrame, bool]:
    """Return about as many rows as the setting says, and whether the frame has more."""
    wanted = current_context().settings.profile_sample_rows
    if row_count is None:
        return frame.limit(wanted), True
    if row_count <= wanted:
        return frame, False
    return frame.sample(fraction=wanted / row_count, seed=_SEED), True


def _extrapolated(nulls: int, sampled: int, rows: int | None) -> int:
    """Return how many nulls all the rows have if they are as those of the sample."""
    return nulls if rows is None or not sampled else round(nulls * rows / sampled)
