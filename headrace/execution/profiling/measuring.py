"""Measure the columns of an output while it is written, or where that is not possible by reading it back.

The store executes the frame once, so the frame itself carries the aggregates (Spark's observations), and stores know
nothing of profiles. An observation is of the version if it saw as many rows as were written: not of rows that were set
aside, nor of one of several partitions. Then the written rows are read once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from headrace.catalog.records import Column, Version
from headrace.catalog.schema import sensitive
from headrace.checks.profiling import ROWS, is_profiled, profile_aggregates, sketches_of
from headrace.context import current_context
from headrace.execution.input_checks import DRIFT
from headrace.execution.plan import OutputPlan
from headrace.profiles.measures import measures
from headrace.profiles.sketches import ColumnSketches, UnreadableSketch, merged
from headrace.queries.profiles import all_sketches
from headrace.spark.quoting import quoted
from headrace.stores.capabilities import Capability
from headrace.stores.registry import STORES
from headrace.stores.writes import WrittenVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

PROFILE = "profile"  # of a dataset's metadata
_NUMBER = "__headrace_number"  # of a frame among those that are read together
_TOGETHER = 50  # frames: the plan of a query grows with them


@dataclass(frozen=True, slots=True)
class Profiling:
    """The measuring of one write. columns: their types by name; observation: None if the rows are read back."""

    columns: Mapping[str, str]
    observation: Observation | None


def profiled_columns(output: OutputPlan, columns: Sequence[Column]) -> dict[str, str]:
    """Return the columns to measure with their types: all, or those of drift checks; never a sensitive one."""
    declared = output.record.metadata.get(PROFILE, current_context().settings.profile)
    drifting = {check.column for check in output.record.checks if check.kind == DRIFT}
    hidden = sensitive(columns)
    return {
        column.name: column.type
        for column in columns
        if column.name not in hidden
        and is_profiled(column.type)
        and (declared == "full" or column.name in drifting)
    }


def observing(
    frame: DataFrame, output: OutputPlan, columns: Sequence[Column], partitions: int, *, is_read: bool = False
) -> tuple[DataFrame, Profiling]:
    """Return the frame such that its columns are measured while it is written.

    partitions: their number. is_read: the version has other rows than those of the frame, and is read back.
    """
    measured = profiled_columns(output, columns)
    observed = (
        Capability.OBSERVED in STORES.get(output.store).capabilities and partitions == 1 and not is_read
    )
    if not measured or not observed:
        return frame, Profiling(measured, None)
    from pyspark.sql import Observation

    observation = Observation()
    return frame.observe(observation, *profile_aggregates(measured)), Profiling(measured, observation)


def seen(profiling: Profiling, rows: int) -> dict[str, ColumnSketches] | None:
    """Return what the write has measured; None if it was not of exactly so many rows."""
    if not profiling.columns:
        return {}
    if profiling.observation is None:
        return None
    answer = dict(profiling.observation.get)
    return sketches_of(answer, profiling.columns) if answer[ROWS] == rows else None


def read_back(frames: Sequence[DataFrame], columns: Mapping[str, str]) -> list[dict[str, ColumnSketches]]:
    """Measure the rows of each frame by reading them: many frames by one query."""
    from pyspark.sql import functions as F

    found: list[dict[str, ColumnSketches]] = []
    for start in range(0, len(frames), _TOGETHER):
        some = frames[start : start + _TOGETHER]
        numbered = [
            frame.select(*map(quoted, columns)).withColumn(_NUMBER, F.lit(number))
            for number, frame in enumerate(some)
        ]
        whole = reduce(lambda one, other: one.unionByName(other), numbered)
        rows = whole.groupBy(_NUMBER).agg(*profile_aggregates(columns)).collect()
        answers = {row[_NUMBER]: row.asDict() for row in rows}
        found += [
            sketches_of(answers[number] if number in answers else _of_no_rows(frame, columns), columns)
            for number, frame in enumerate(some)
        ]
    return found


def _of_no_rows(frame: DataFrame, columns: Mapping[str, str]) -> dict[str, Any]:
    [row] = frame.limit(0).agg(*profile_aggregates(columns)).collect()
    return dict(row.asDict())


def appended(engine: Engine, to: Version, added: Mapping[str, ColumnSketches]) -> dict[str, ColumnSketches]:
    """Return the sketches of a version with the added rows after it; columns that it has none of are not known."""
    known = all_sketches(engine, to.version_id) if added else {}
    found = {}
    for name, sketches in added.items():
        if name in known:
            try:
                found[name] = merged([known[name], sketches])
            except UnreadableSketch:
                continue  # as if the version had none
    return found


def with_sketches(written: WrittenVersion, sketches: Mapping[str, ColumnSketches]) -> WrittenVersion:
    """Return the version with the sketches, and with what they show in its statistics."""
    statistics: dict[str, Mapping[str, Any]] = dict(written.statistics)
    for name, each in sketches.items():
        statistics[name] = {**statistics.get(name, {}), **measures(each)}
    return replace(written, statistics=statistics, sketches=sketches)
