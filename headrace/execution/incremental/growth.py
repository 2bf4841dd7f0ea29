"""The rows of a new version: those of the previous one, and what the run takes in, by the declared mode.

A store with the capability APPEND gets only the rows of mode `append` that are new, and one with MERGE those of mode
`merge`; otherwise, and on other stores, the version is written completely.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headrace.catalog.records import Version
from headrace.errors import VersionExpired
from headrace.execution.incremental import history, merging
from headrace.execution.incremental.intake import Intake
from headrace.execution.incremental.taken import TakenIn
from headrace.execution.plan import IncrementalPlan, OutputPlan
from headrace.execution.problems import NotIncremental
from headrace.nouns import counted
from headrace.spark.errors import CorruptInput
from headrace.spark.quoting import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Addition:
    """Rows that come after those of a version.

    replaced: keys (columns) whose rows in that version are no longer there, some repeatedly; None: all rows stay.
    """

    to: Version
    rows: DataFrame
    replaced: DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """The rows of a new version.

    frame: all of them. added: only those that come after the rows of the previous version, if it is known which stay.
    taken_in, computed: the input's rows that the transform got, and its result, which have the
    column lineage of the dataset. taken: the record of what the version has taken in. read: the versions that its rows
    come from, apart from those of other inputs.
    """

    frame: DataFrame
    taken_in: DataFrame
    computed: DataFrame
    taken: TakenIn
    read: tuple[Version, ...]
    added: Addition | None = None


@dataclass(frozen=True, slots=True)
class Growing:
    """A run of a dataset that grows.

    read: reads versions of one dataset. compute: the transform, from the input's rows to those of the dataset. starts:
    when the time partitions of the input start.
    """

    plan: IncrementalPlan
    output: OutputPlan
    intake: Intake
    read: Callable[[Sequence[Version]], DataFrame]
    compute: Callable[[DataFrame], DataFrame]
    starts: Mapping[str, datetime]
    log: logging.Logger

    def grow(self) -> Growth:
        """Compute the rows of the new version. Raises NotIncremental for a missing column, watermark or time."""
        growth = {"append": self._append, "merge": self._merge, "scd2": self._continue_history}[
            self.plan.mode
        ]()
        if self.intake.previous is not None or self.output.record.columns:
            return growth
        return replace(growth, frame=_nullable(growth.frame))

    def _append(self) -> Growth:
        plan, intake = self.plan, self.intake
        taken_in, watermark = self._new_rows()
        computed, previous = self.compute(taken_in), self._previous()
        rows = computed
        if plan.partition is not None:
            self._require(computed, plan.partition, "partition")
            rows = computed.where(_belongs(plan.partition, intake.new))
            previous = previous.where(_apart(plan.partition, intake)) if previous is not None else None
        return Growth(
            aligned(previous, rows),
            taken_in,
            computed,
            replace(intake.taken, watermark=watermark),
            self._continued(intake.new.values()),
            self._addition(previous, rows),
        )

    def _addition(self, previous: DataFrame | None, rows: DataFrame) -> Addition | None:
        """Return the rows with the types that they have together with the previous ones, if all of these stay."""
        if self.intake.previous is None or previous is None or self.intake.replaced:
            return None
        return Addition(self.intake.previous, aligned(previous.where("FALSE"), rows))

    def _merge(self) -> Growth:
        plan, intake = self.plan, self.intake
        taken_in, watermark = self._new_rows()
        computed, previous = self.compute(taken_in), self._previous()
        for column in plan.keys:
            self._require(computed, quoted(column), "keys")
        self._require(computed, quoted(plan.order_by or ""), "order_by")
        order = merging.order(computed, plan, intake.taken.latest)
        read = self._continued(intake.new.values())
        affected = candidates = merging.prepared(computed, plan)
        if previous is not None and (intake.replaced or not order.is_later):
            # Rows that were deleted or replaced before may count again: the affected keys are decided from all rows.
            candidates = merging.prepared(self.compute(self.read(list(intake.present.values()))), plan)
            read = self._continued([*intake.present.values(), *intake.replaced.values()])
            if not intake.replaced:
                candidates = merging.with_kept(candidates, previous)
            elif (replaced := self._replaced_rows()) is not None:
                affected = affected.unionByName(merging.prepared(self.compute(replaced), plan))
            else:
                previous, read = None, tuple(intake.present.values())
        stored = [name for name in computed.columns if name not in plan.unstored]
        taken = replace(intake.taken, watermark=watermark, latest=order.latest)
        if previous is None or intake.previous is None:
            return Growth(merging.winners(candidates, plan, stored), taken_in, computed, taken, read)
        rows = merging.winners(merging.deciding(candidates, affected, plan), plan, stored)
        # As the dataset writes them: Spark finds a column whatever the case of a declared name, a store does not.
        declared = {key.lower() for key in plan.keys}
        before = previous.where("FALSE")
        keys = [quoted(name) for name in stored if name.lower() in declared]
        addition = Addition(
            intake.previous,
            aligned(before, rows),
            # With the types that keys have in both, as the rows.
            aligned(before.select(*keys), affected.select(*keys)),
        )
        frame = merging.merged(previous, affected, rows, plan)
        return Growth(frame, taken_in, computed, taken, read, addition)

    def _continue_history(self) -> Growth:
        """Replay the states from the first that changed."""
        plan, intake = self.plan, self.intake
        at = {
            name: self.starts.get(name) or self._time_of(name, version)
            for name, version in {**intake.replaced, **intake.present}.items()
        }
        first = min(at[name] for name in {*intake.new, *intake.replaced})
        replayed = sorted(
            (name for name in intake.present if intake.previous is None or at[name] >= first),
            key=lambda name: at[name],
        )
        versions = [intake.present[name] for name in replayed]
        inputs = [self.read([version]) for version in versions] or [self._no_rows()]
        states = [self.compute(each) for each in inputs]
        computed = states[0]
        for field, columns in {"keys": plan.keys, "compare": plan.compare}.items():
            for column in columns:
                self._require(computed, quoted(column), field)
        for field, column in {"valid_from": plan.valid_from, "valid_to": plan.valid_to}.items():
            if column in computed.columns:
                raise NotIncremental(
                    f"{self.output.record.key}: the result has a column {column}, which `mode: scd2` adds. Rename "
                    f"it, or set `{field}` to another name."
                )
        type_ = {each.name: each.type for each in self.output.record.columns}.get(
            plan.valid_from, "timestamp"
        )
        frame = history.replay(
            self._previous(),
            states[: len(versions)],
            [history.instant(at[name], type_) for name in replayed],
            history.instant(first, type_),
            plan,
            computed.columns,
        )
        return Growth(frame, inputs[0], computed, intake.taken, self._continued(versions))

    def _time_of(self, partition: str, version: Version) -> datetime:
        """Return the time of a state without partitions. Raises NotIncremental for a partition of no known time."""
        if not partition:
            return version.created_at
        raise NotIncremental(
            f"{self.output.record.key}: the input {self.plan.input!r} has the published partition {partition}, whose "
            "time its present declaration does not give. Declare the input with its former partitions, or under "
            "another key."
        )

    def _previous(self) -> DataFrame | None:
        return self.read([self.intake.previous]) if self.intake.previous is not None else None

    def _continued(self, versions: Iterable[Version]) -> tuple[Version, ...]:
        """Return the versions, with the one that is continued."""
        return (*([self.intake.previous] if self.intake.previous is not None else []), *versions)

    def _no_rows(self) -> DataFrame:
        """Return the columns of the input: if partitions were only removed, the transform gets no rows."""
        return self.read(list(self.intake.present.values())).where("FALSE")

    def _new_rows(self) -> tuple[DataFrame, str | None]:
        """Return the input's rows that were not taken in, and the watermark after them."""
        from pyspark.sql import functions as F

        plan, before = self.plan, self.intake.taken.watermark
        if plan.watermark is None:
            new = list(self.intake.new.values())
            return self.read(new) if new else self._no_rows(), before
        rows = self.read(list(self.intake.present.values()))
        types = dict(rows.dtypes)
        if plan.watermark not in types:
            raise NotIncremental(
                f"the input {plan.input!r} has no column {plan.watermark!r}, which `watermark` names; it has: "
                f"{', '.join(rows.columns)}"
            )
        name = quoted(plan.watermark)
        if before is not None:
            rows = rows.where(
                f"{name} IS NULL OR {name} > CAST({literal(before)} AS {types[plan.watermark]})"
            )
        found: Any = rows.agg(F.max(name).cast("string"), F.count_if(F.col(name).isNull())).first()
        if found[1]:
            raise NotIncremental(
                f"{counted(found[1], 'row')} of the input {plan.input!r} without a value of {plan.watermark!r}, which "
                "`watermark` names: no run would take them in. Correct the input, or name another column."
            )
        return rows, found[0] if found[0] is not None else before

    def _replaced_rows(self) -> DataFrame | None:
        """Return the rows of replaced versions; None if they expired, or another system removed their files."""
        present = {version.location for version in self.intake.present.values()}
        overwritten = [each.location for each in self.intake.replaced.values() if each.location in present]
        try:
            if not overwritten:
                return self.read(list(self.intake.replaced.values()))
        except (CorruptInput, VersionExpired) as error:
            overwritten = [str(error)]
        self.log.info("all keys are decided again, since an earlier version is gone: %s", overwritten[0])
        return None

    def _require(self, frame: DataFrame, expression: str, field: str) -> None:
        from pyspark.errors import AnalysisException

        try:
            frame.selectExpr(expression)
        except AnalysisException as error:
            raise NotIncremental(
                f"{self.output.record.key}: `incremental.{field}` names {expression.strip('`')}, which is not in the "
                f"result; it has: {', '.join(frame.columns)}"
            ) from error


def aligned(previous: DataFrame | None, rows: DataFrame) -> DataFrame:
    """Return the previous rows and the new ones, with the columns of the new ones; added columns are null before."""
    if previous is None:
        return rows
    names = list(map(quoted, rows.columns))
    kept = [quoted(name) for name in previous.columns if name in rows.columns]
    return previous.select(*kept).unionByName(rows, allowMissingColumns=True).select(*names)


def _apart(partition: str, intake: Intake) -> str:
    """Return the condition that a row is of no partition that is new, replaced or gone."""
    names = {*intake.new, *intake.replaced}
    return f"NOT coalesce(CAST(({partition}) AS STRING) IN ({', '.join(map(literal, sorted(names)))}), FALSE)"


def _belongs(partition: str, new: Mapping[str, Version]) -> str:
    """Return a condition that fails the run if a row is of another partition than those that it reads."""
    if not new:
        return "FALSE"
    keys = ", ".join(map(literal, sorted(new)))
    message = literal(
        "`incremental.partition` gives a row a partition that the run did not read: it must be the partition of the "
        "input from which the row comes."
    )
    return f"CASE WHEN CAST(({partition}) AS STRING) IN ({keys}) THEN TRUE ELSE raise_error({message}) END"


def _nullable(frame: DataFrame) -> DataFrame:
    """Return the frame with nullable columns, as those of any later version are, which has rows that were read."""
    from pyspark.sql.types import StructField, StructType

    schema = StructType([StructField(each.name, each.dataType, nullable=True) for each in frame.schema])
    return frame.sparkSession.createDataFrame([], schema).unionByName(frame)
