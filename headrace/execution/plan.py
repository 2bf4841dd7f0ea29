"""The plan of a process: everything a run needs to know, resolved and validated, independent of YAML.

Built once at load by `planning.py`, executed by `run.py`. Nothing here imports Spark, so that loading a thousand
declarations stays cheap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import dagster as dg

from headrace.catalog.column_lineage import ColumnLineage
from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.dagster_internals import FreshnessPolicy
from headrace.execution.notices import Notice
from headrace.spark.engine import DEFAULT_ENGINE

if TYPE_CHECKING:
    import logging

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class TransformContext:
    """What a transform may look at besides its input frames.

    parameters: what SQL sees as :partition_keys, :partition_key (where no run has several), :partition_start,
    :partition_end (of a range, the first start and the last end); empty when the dataset is not partitioned.
    """

    spark: SparkSession
    log: logging.Logger
    partition_keys: tuple[str, ...]
    parameters: Mapping[str, Any]


class Transform(Protocol):
    """The computation of a process.

    Takes the input frames by alias; returns the output frames by dataset key. Raises SqlError or TransformError naming
    file and line when the code itself is wrong.
    """

    def __call__(self, context: TransformContext, inputs: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
        """The output frames by dataset key."""
        ...


class PartitionColumn(Protocol):
    """Yields, for a frame's row, the partition key that it belongs to, as an SQL expression of a string."""

    def __call__(self, frame: DataFrame) -> str:
        """The key of each row of the frame."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """How a process is partitioned: Dagster's definition, the column that tells a row's partition, ranges or not.

    ranges: several partitions may be computed by one Spark job (Dagster's single-run backfill policy), because the
    author says that each row comes out the same either way.
    """

    definition: dg.PartitionsDefinition[str]
    column: PartitionColumn | None
    ranges: bool

    def __post_init__(self) -> None:
        if self.ranges and self.column is None:
            raise ValueError("a range run needs the column that tells a row's partition")


@dataclass(frozen=True, slots=True)
class InputPlan:
    """One input: the dataset, the name that the transform knows it by, and how its version is chosen.

    place: file, line and field where it is declared, or first named where the inputs are read from the code.
    """

    dataset: str
    alias: str
    version_tag: str | None = None
    as_of: datetime | None = None
    mapping: dg.PartitionMapping | None = None  # None: Dagster's default for the two partitionings
    place: tuple[Path, int, str | None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """One output dataset: its record, how it is written, and whether a breaking schema change may be published.

    record.columns, when not empty, binds: the frame must have these names and types, in any order. record.checks holds
    every check that a run reports, those that follow from the declaration (`not_null` of a column that is not nullable,
    `partition` where a column tells the partition) among them. notices: external notifications of each published
    version. lineage: what the declaration states of where columns come from.
    """

    record: DatasetRecord
    options: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None  # the URI below which versions lie; None: the settings' warehouse
    store: str = FILES_STORE
    allow_breaking: bool = False
    freshness: FreshnessPolicy | None = None
    notices: tuple[Notice, ...] = ()
    lineage: tuple[ColumnLineage, ...] = ()

    @property
    def key(self) -> dg.AssetKey:
        """The dataset's asset key."""
        return dg.AssetKey.from_user_string(self.record.key)


@dataclass(frozen=True, slots=True)
class ProcessTrigger:
    """The processes elsewhere whose end starts a run: all of them have to have ended for the same partition.

    names: of jobs, or process keys. instance: their scheduler, None for whichever. with_inputs: the inputs of that
    partition have to be published as well.
    """

    names: tuple[str, ...]
    instance: str | None = None
    with_inputs: bool = False


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """One process: record, inputs, outputs, transform, partitions and the Spark settings of its runs.

    language: what the transform is written in. references: the files and lines that a reader of Dagster's UI is led to.
    condition, started_by: what starts it, by Dagster's conditions or by processes elsewhere.
    """

    record: ProcessRecord
    inputs: Sequence[InputPlan]
    outputs: Sequence[OutputPlan]
    transform: Transform
    partitions: PartitionPlan | None = None
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    engine: str = DEFAULT_ENGINE
    retry: dg.RetryPolicy | None = None
    condition: dg.AutomationCondition[Any] | None = None
    started_by: ProcessTrigger | None = None
    language: Literal["sql", "python"] = "sql"
    references: Sequence[tuple[Path, int]] = ()


PARTITION = "{partition}"  # stands for the partition's key in an external dataset's location


@dataclass(frozen=True, slots=True)
class ExternalPlan:
    """A dataset that something else writes.

    location: where its files land, as declared; options: for Spark's reader of them; marker: the name of the file
    without which a directory is not complete. produced_by: the processes elsewhere that write it, as declared.
    """

    record: DatasetRecord
    partitions: dg.PartitionsDefinition[str] | None = None
    location: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    marker: str | None = None
    produced_by: Sequence[str] = ()
    freshness: FreshnessPolicy | None = None
    references: Sequence[tuple[Path, int]] = ()


Plan = ProcessPlan | ExternalPlan
