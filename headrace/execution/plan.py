"""The plan of a process: everything a run needs to know, resolved and validated, independent of YAML.

Built once at load by `planning.py`, executed by `run.py`. Nothing here imports Spark, so that loading a thousand
declarations is fast, or Dagster, which the HTTP service does not need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from headrace.catalog.column_lineage import ColumnLineage
from headrace.catalog.locators import FILES_STORE
from headrace.catalog.records import DatasetRecord, ProcessRecord
from headrace.connections.relations import Source
from headrace.execution.control_totals import ControlTotals
from headrace.execution.notices import Notice
from headrace.spark.engine import DEFAULT_ENGINE

if TYPE_CHECKING:
    import logging

    import dagster as dg
    from pyspark.sql import DataFrame, SparkSession

    from headrace.dagster_internals import FreshnessPolicy


@dataclass(frozen=True, slots=True)
class TransformContext:
    """The context of a transform, in addition to its input frames.

    parameters: the SQL parameters :partition_keys, :partition_key (if no run has several), :partition_start,
    :partition_end (for a range, the first start and the last end); empty for an unpartitioned dataset.
    """

    spark: SparkSession
    log: logging.Logger
    partition_keys: tuple[str, ...]
    parameters: Mapping[str, Any]


class Transform(Protocol):
    """The computation of a process.

    Takes the input frames by alias; returns the output frames by dataset key. Raises SqlError or TransformError naming
    file and line if the code is invalid.
    """

    def __call__(self, context: TransformContext, inputs: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
        """Return the output frames by dataset key."""
        ...


class PartitionColumn(Protocol):
    """Computes a row's partition key, as an SQL expression of a string."""

    def __call__(self, frame: DataFrame) -> str:
        """Return the key expression for rows of the frame."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """Partitioning of a process: Dagster's definition, the partition column, and whether ranges are allowed.

    ranges: several partitions may be computed by one Spark job (Dagster's single-run backfill policy), because the
    author declares that each row is the same either way.
    """

    definition: dg.PartitionsDefinition[str]
    column: PartitionColumn | None
    ranges: bool

    def __post_init__(self) -> None:
        if self.ranges and self.column is None:
            raise ValueError("a range run needs the column with a row's partition")


@dataclass(frozen=True, slots=True)
class InputPlan:
    """One input: the dataset, its name in the transform, and how its version is chosen.

    place: file, line and field of its declaration, or of its first use if the inputs are read from the code.
    """

    dataset: str
    alias: str
    version_tag: str | None = None
    as_of: datetime | None = None
    mapping: dg.PartitionMapping | None = None  # None: Dagster's default for the two partitionings
    is_own: bool = False  # `self`: the previous version or partition of the dataset that reads it
    place: tuple[Path, int, str | None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class IncrementalPlan:
    """How a dataset grows from the new rows of one input.

    input: its alias. watermark: a column of an input without partitions. partition: an SQL expression over the result
    of the input partition of a row. compare: empty for all columns except the keys. unstored: columns of the result
    that only `delete_when` reads.
    """

    mode: Literal["append", "merge", "scd2"]
    input: str
    watermark: str | None = None
    partition: str | None = None
    keys: tuple[str, ...] = ()
    order_by: str | None = None
    delete_when: str | None = None
    compare: tuple[str, ...] = ()
    valid_from: str = "valid_from"
    valid_to: str = "valid_to"
    unstored: frozenset[str] = frozenset()

    @property
    def described(self) -> dict[str, Any]:
        """Everything that the rows of a version depend on, as JSON: versions made otherwise cannot be continued."""
        return {
            "mode": self.mode,
            "watermark": self.watermark,
            "partition": self.partition,
            "keys": list(self.keys),
            "order_by": self.order_by,
            "delete_when": self.delete_when,
            "compare": list(self.compare),
            "valid_from": self.valid_from,
            "valid_to": self.valid_to,
        }


@dataclass(frozen=True, slots=True)
class ExtractPlan:
    """Files for other systems: the function that writes them (`module:function`), and the folder of their tags."""

    writer: str
    location: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """One output dataset: its record, how it is written, and whether a breaking schema change may be published.

    record.columns, if not empty, is binding: the frame must have these names and types, in any order. record.checks
    contains every check of a run, including implied ones (`not_null` of a non-nullable column, `partition` with a
    partition column). notices: external notifications of each published version. adds_partitions: the columns whose
    values are keys of dynamic partitions, by the name of these. lineage: declared column lineage.
    """

    record: DatasetRecord
    options: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None  # the base URI of its versions; None: the configured warehouse
    store: str = FILES_STORE
    allow_breaking: bool = False
    freshness: FreshnessPolicy | None = None
    notices: tuple[Notice, ...] = ()
    adds_partitions: Mapping[str, str] = field(default_factory=dict)
    lineage: tuple[ColumnLineage, ...] = ()
    extract: ExtractPlan | None = None

    @property
    def key(self) -> dg.AssetKey:
        """The dataset's asset key."""
        import dagster as dg

        return dg.AssetKey.from_user_string(self.record.key)


@dataclass(frozen=True, slots=True)
class ProcessTrigger:
    """External processes whose completion starts a run: all of them must have completed for the same partition.

    names: of jobs, or process keys. instance: their scheduler, None for any. with_inputs: the inputs of that partition
    must be published as well.
    """

    names: tuple[str, ...]
    instance: str | None = None
    with_inputs: bool = False


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """One process: record, inputs, outputs, transform, partitions and the Spark settings of its runs.

    language: the language of the transform. references: files and lines linked in Dagster's UI. condition, started_by:
    its triggers, by Dagster's conditions or by external processes. own: the input `self`. incremental: how its only
    output grows; None if each run computes everything.
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
    own: InputPlan | None = None
    incremental: IncrementalPlan | None = None

    @property
    def keeps_history(self) -> bool:
        """True if a version is made from the one before, and so depends on earlier runs."""
        return self.incremental is not None or (self.own is not None and self.partitions is None)


FULL_REFRESH_TAG = "headrace/full_refresh"  # of a run, `true`: without the versions before
PARTITION = "{partition}"  # placeholder for the partition key in an external dataset's location


@dataclass(frozen=True, slots=True)
class ExternalPlan:
    """A dataset written by another system.

    location: where its files land, as declared; options: for Spark's reader; marker: the file without which a directory
    is incomplete; reader: `module:function`, if Spark does not read the format; control: what the sender states;
    source: the table or query of a database that it is instead. produced_by: the external processes that write it, as
    declared.
    """

    record: DatasetRecord
    partitions: dg.PartitionsDefinition[str] | None = None
    location: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    marker: str | None = None
    reader: str | None = None
    control: ControlTotals | None = None
    source: Source | None = None
    produced_by: Sequence[str] = ()
    freshness: FreshnessPolicy | None = None
    references: Sequence[tuple[Path, int]] = ()


Plan = ProcessPlan | ExternalPlan
