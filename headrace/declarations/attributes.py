"""Attributes shared by datasets, external datasets and processes, in groups."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import dagster as dg
from pydantic import ConfigDict, Field

from headrace.declarations.checks import DatasetCheck
from headrace.declarations.declaration import (
    FUNCTION,
    DatabaseSource,
    Extract,
    InputItem,
    Keep,
    Key,
    Name,
    OptionText,
    Output,
    Owner,
    Partitions,
    Retry,
    Schema,
    Sla,
    Step,
    Tags,
    TagText,
)
from headrace.declarations.incremental import Incremental
from headrace.declarations.notify import Notify
from headrace.declarations.stated_lineage import StatedItem
from headrace.declarations.trigger import TriggerItem
from headrace.execution.control_totals import ControlTotals
from headrace.spark.engine import DEFAULT_ENGINE

Migration = Literal["legacy", "shadow", "migrated", "retired"]


class DescriptiveAttributes(dg.Model):
    """Descriptive attributes."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    description: Annotated[str | None, Field(description="Content and audience.")] = None
    owner: Annotated[Owner | None, Field(description="E-mail address, or team:<name>.")] = None
    owners: Annotated[list[Owner], Field(description="Several owners, or additional ones.")] = Field(
        default_factory=list
    )
    tags: Annotated[Tags, Field(description="Labels, as key and value.")] = Field(default_factory=dict)
    classification: Annotated[
        TagText | None,
        Field(description="Its confidentiality, in your words; stored as the tag `classification`."),
    ] = None
    migration: Annotated[
        Migration | None,
        Field(
            description="Its migration state: `legacy`, `shadow`, `migrated` or `retired`; "
            "stored as the tag `migration`."
        ),
    ] = None
    metadata: Annotated[dict[str, Any], Field(description="Other metadata, as key and value.")] = Field(
        default_factory=dict
    )

    @property
    def all_owners(self) -> tuple[str, ...]:
        """The owners in order, without duplicates."""
        return tuple(dict.fromkeys([*([self.owner] if self.owner else []), *self.owners]))

    @property
    def all_tags(self) -> dict[str, str]:
        """The tags, including the classification and the migration state."""
        named = {"classification": self.classification, "migration": self.migration}
        return {**self.tags, **{name: value for name, value in named.items() if value}}


class DatasetAttributes(DescriptiveAttributes):
    """One dataset: its key, columns and SLA."""

    key: Annotated[
        Key, Field(description="`domain/name`: the dataset's name everywhere, and Dagster's asset key.")
    ]
    renamed_from: Annotated[
        Key | None,
        Field(
            description="Its former key: versions, lineage, SLA history and pins continue under the new one."
        ),
    ] = None
    table_schema: Annotated[
        Schema | None,
        Field(alias="schema", description="The columns. Default: those that the transform returns."),
    ] = None
    sla: Annotated[
        Sla | None,
        Field(description="The SLA; deadlines and ages also become Dagster's freshness policy."),
    ] = None

    profile: Annotated[
        Literal["basic", "full"] | None,
        Field(description="`full` also sketches the values of its columns. Default: the setting `profile`."),
    ] = None

    @property
    def domain(self) -> str:
        """The first half of the key."""
        return self.key.split("/")[0]

    @property
    def name(self) -> str:
        """The second half of the key."""
        return self.key.split("/")[1]


class Product(DatasetAttributes):
    """One output dataset of a process."""

    output: Annotated[Output, Field(description="The format, options and location of its files.")] = Output()
    checks: Annotated[list[DatasetCheck], Field(description="Checks on rows and on the dataset.")] = Field(
        default_factory=list
    )
    allow_breaking_schema_change: Annotated[
        bool,
        Field(
            description="Publish even if columns were removed or changed type since the published version."
        ),
    ] = False
    lineage: Annotated[
        dict[str, StatedItem],
        Field(
            description="Where columns come from, by column: `{score: [customers.birth_date]}`. For code that Spark's "
            "plan does not see into; it counts as declared."
        ),
    ] = Field(default_factory=dict)
    adds_partitions: Annotated[
        dict[str, str],
        Field(
            description="Sets of dynamic partitions to which a column adds its values after each publish: "
            "`{customers: customer_id}`."
        ),
    ] = Field(default_factory=dict)
    extract: Annotated[
        Extract | None,
        Field(description="Files for other systems in another format, written before it is published."),
    ] = None
    keep: Annotated[
        Keep | None,
        Field(description="Which versions stay; the others expire. Default: all stay."),
    ] = None
    notify: Annotated[
        list[Notify],
        Field(description="External systems to notify of a published version: flag files, Autosys events."),
    ] = Field(default_factory=list)


class ExecutionAttributes(dg.Model):
    """Inputs, partitions and triggers of a process."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    inputs: Annotated[
        list[InputItem] | None,
        Field(description="Its inputs. Default: the names in the SQL, or the function's parameters."),
    ] = None
    python: Annotated[
        str | None, Field(description="`file.py:function`; its parameters name its inputs.")
    ] = None
    steps: Annotated[
        list[Step], Field(description="Intermediate steps, in order, whose results are not stored.")
    ] = Field(default_factory=list)
    partitions: Annotated[Partitions | None, Field(description="Its partitions. Default: none.")] = None
    engine: Annotated[
        str, Field(description="The Spark engine that computes it: the name of a resource of the project.")
    ] = DEFAULT_ENGINE
    spark: Annotated[dict[str, OptionText], Field(description="Spark settings while it runs.")] = Field(
        default_factory=dict
    )
    retry: Annotated[Retry | None, Field(description="Retries of a failed run. Default: none.")] = None
    trigger: Annotated[
        TriggerItem | None, Field(description="What starts it. Default: nothing (start it manually).")
    ] = None


class ComputationAttributes(ExecutionAttributes):
    """How a dataset is computed."""

    sql: Annotated[
        str | None, Field(description="A SELECT, or the name of a .sql file in the same folder.")
    ] = None
    incremental: Annotated[
        Incremental | None,
        Field(description="How it grows from version to version. Default: each run computes everything."),
    ] = None


class ProcessOutput(Product):
    """One output dataset of a process."""

    sql: Annotated[
        str | None,
        Field(description="A SELECT over steps and inputs, or the name of a .sql file in the same folder."),
    ] = None
    step: Annotated[Name | None, Field(description="The step that computes it.")] = None


class External(DatasetAttributes):
    """A dataset written by another system."""

    format: Annotated[
        str,
        Field(
            description="parquet, csv, json (an object a line) or orc; or whatever else it is (`fixed`, `db2`), which "
            "a `reader` reads, or whose versions another program registers."
        ),
    ] = "parquet"
    location: Annotated[
        str | None,
        Field(
            description="A file, or a directory of data files: a URI of any filesystem that Spark reads, or a path, "
            "below the state folder unless it begins with a slash. `{partition}` stands for the partition's key. "
            "Default: another program registers the versions."
        ),
    ] = None
    database: Annotated[
        DatabaseSource | None,
        Field(description="The table or query of a database that it is, instead of files."),
    ] = None
    marker: Annotated[
        str | None,
        Field(
            pattern=r"^[^/]+$",
            description="File that the writer puts into a directory when all others are complete (`_SUCCESS`); without "
            "it, the directory is not a version yet.",
        ),
    ] = None
    options: Annotated[dict[str, OptionText], Field(description="Options of Spark's reader.")] = Field(
        default_factory=dict
    )
    reader: Annotated[
        str | None,
        Field(
            pattern=FUNCTION,
            description="`module:function` that reads a format which Spark does not: it takes the session, the files' "
            "locations and the options, and returns a DataFrame.",
        ),
    ] = None
    control: Annotated[
        ControlTotals | None, Field(description="What the sender states about the files, and is compared.")
    ] = None
    produced_by: Annotated[
        list[str],
        Field(
            description="The jobs that write it (`LOAD_FLIGHTS`), or other processes by key (`DB2_SP/SALES.LOAD`)."
        ),
    ] = Field(default_factory=list)
    partitions: Annotated[Partitions | None, Field(description="Its partitions. Default: none.")] = None
