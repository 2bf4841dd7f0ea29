"""The schema of a declaration: attributes of a dataset, external dataset or process, and nothing derived.

Every field has a description, which becomes the editor's JSON schema.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import dagster as dg
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from headrace.catalog.locators import FILES_STORE
from headrace.catalog.schema import known_classes
from headrace.connections.dialects import NAME as SQL_NAME
from headrace.connections.relations import FETCH_SIZE
from headrace.cron import Timezone
from headrace.dagster_internals import is_valid_owner, normalize_tags
from headrace.declarations.checks import ColumnCheckItem
from headrace.declarations.cron import Cron
from headrace.durations import Duration
from headrace.files.formats import FORMATS
from headrace.plugins import UnknownPlugin
from headrace.stores.capabilities import Capability
from headrace.stores.registry import STORES
from headrace.stores.writes import VersionFormat

FUNCTION = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"  # module:function
NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def _valid_owner(owner: str) -> str:
    if not is_valid_owner(owner):
        raise ValueError(f"{owner!r} is not a valid owner; write an e-mail address or team:<name>")
    return owner


def _valid_tags(tags: dict[str, str]) -> dict[str, str]:
    try:
        normalize_tags(tags, strict=True)
    except dg.DagsterInvalidDefinitionError as error:  # no ValueError, so it would stop every declaration
        raise ValueError(str(error)) from error
    return tags


def _text(value: object) -> object:
    """Convert a Spark or reader option to text; YAML reads `true` and `8` as other types."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Key = Annotated[str, Field(pattern=rf"^{NAME}/{NAME}$")]
CalendarName = Annotated[str, Field(pattern=r"^\S+$", max_length=200)]
Name = Annotated[str, Field(pattern=rf"^{NAME}$")]
Owner = Annotated[str, AfterValidator(_valid_owner)]
TagText = Annotated[str, Field(pattern=r"^[\w.-]{0,63}$")]


Tags = Annotated[dict[str, str], AfterValidator(_valid_tags)]
ConnectionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
OptionText = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | bool | int | float)]


class Part(dg.Model):
    """Base of parts of a declaration: immutable, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Window(Part):
    """The input's same partition and those before it."""

    window: Annotated[
        int, Field(ge=1, description="Number of partitions, including the same one: 7 is the last week.")
    ]


class Offset(Part):
    """The input's partition some steps away."""

    offset: Annotated[int, Field(description="Steps from the same partition; -1 is the one before.")]


class Input(Part):
    """One input. A plain string is short for `{dataset: ...}`."""

    dataset: Annotated[
        str,
        Field(
            pattern=rf"^({NAME}/)?{NAME}$", description="Key of the dataset; its own domain can be omitted."
        ),
    ]
    alias: Annotated[
        Name | None,
        Field(
            alias="as",
            description="Name in the SQL, or the function's parameter. Default: the dataset's name.",
        ),
    ] = None
    version: Annotated[
        str | None, Field(description="Read the version with this tag instead of the published one.")
    ] = None
    as_of: Annotated[
        str | None,
        Field(description="Read the version published at this time (ISO 8601, UTC by default)."),
    ] = None
    partitions: Annotated[
        Literal["same", "all", "last", "previous"] | Offset | Window,
        Field(
            description="Partitions read for a partition: same, all, last, previous, an offset or a window."
        ),
    ] = "same"

    @model_validator(mode="after")
    def _one_choice_of_version(self) -> Input:
        if self.version and self.as_of:
            raise ValueError("`version` and `as_of` cannot be combined")
        return self


def _input_from_key(value: object) -> object:
    return {"dataset": value} if isinstance(value, str) else value


InputItem = Annotated[Input, BeforeValidator(_input_from_key, json_schema_input_type=str | Input)]


class ParallelReading(Part):
    """Parts of a table that Spark reads at the same time. The bounds divide the rows; none is left out."""

    column: Annotated[
        str, Field(pattern=f"^{SQL_NAME}$", description="A number, date or timestamp of each row, indexed.")
    ]
    lower: Annotated[OptionText, Field(description="About its smallest value.")]
    upper: Annotated[OptionText, Field(description="About its largest value.")]
    partitions: Annotated[int, Field(ge=2, le=1000, description="Number of parts, each a connection.")]


class DatabaseSource(Part):
    """A table or query of a database."""

    connection: Annotated[ConnectionName, Field(description="A connection of the settings.")]
    table: Annotated[
        str | None,
        Field(
            pattern=rf"^{SQL_NAME}(\.{SQL_NAME}){{0,2}}$",
            description="`schema.table`, as the database's SQL has it; odd names in double quotes.",
        ),
    ] = None
    query: Annotated[
        str | None,
        Field(description="A SELECT in the database's SQL, or the name of a .sql file in the same folder."),
    ] = None
    watermark: Annotated[
        str | None,
        Field(
            pattern=f"^{SQL_NAME}$",
            description="A column whose greatest value grows with new rows, indexed: a number or a time of change.",
        ),
    ] = None
    read: Annotated[
        ParallelReading | None, Field(description="How Spark reads it in parts. Default: by one connection.")
    ] = None
    fetch_size: Annotated[int, Field(ge=1, description="Number of rows for each round trip.")] = FETCH_SIZE

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.table is None) == (self.query is None):
            raise ValueError("`database` has either `table` or `query`")
        return self


class Step(Part):
    """A named sub-step whose frame is passed on and not stored."""

    name: Annotated[Name, Field(description="Its name in later steps and outputs.")]
    sql: Annotated[
        str | None, Field(description="A SELECT, or the name of a .sql file in the same folder.")
    ] = None
    python: Annotated[
        str | None, Field(description="`file.py:function`, its parameters naming what it reads.")
    ] = None

    @model_validator(mode="after")
    def _one_code(self) -> Step:
        if (self.sql is None) == (self.python is None):
            raise ValueError("a step has either `sql` or `python`")
        return self


class Output(Part):
    """Where and how a version is written."""

    store: Annotated[
        str,
        Field(
            description="The store that holds the versions: `files`, `iceberg`, `delta`, `jdbc`, or one that a package "
            "adds."
        ),
    ] = FILES_STORE

    format: Annotated[
        str | None,
        Field(
            description="One of the store's formats. Of `files`: parquet, csv, json, orc. Default: the store's first.",
            examples=list(FORMATS),
        ),
    ] = None
    options: Annotated[dict[str, OptionText], Field(description="Options of Spark's writer.")] = Field(
        default_factory=dict
    )
    location: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z][a-z0-9+.-]*://",
            description="Base URI of the versions (s3a://bucket/sales). Default: the configured warehouse.",
        ),
    ] = None

    connection: Annotated[
        ConnectionName | None, Field(description="Of `jdbc`: the database, a connection of the settings.")
    ] = None
    table: Annotated[
        str | None,
        Field(
            pattern=rf"^{SQL_NAME}\.{SQL_NAME}$",
            description="Of `jdbc`: the view that readers use, `schema.table`. Default: `domain.name`.",
        ),
    ] = None

    @field_validator("store")
    @classmethod
    def _known_store(cls, store: str) -> str:
        try:
            STORES.require(store)
        except UnknownPlugin as error:
            raise ValueError(str(error)) from error
        return store

    @field_validator("format")
    @classmethod
    def _known_format(cls, format: str | None, info: ValidationInfo) -> str | None:
        if "store" in info.data and format is not None:
            formats = STORES.get(info.data["store"]).formats
            if format not in formats:
                raise ValueError(f"unknown format {format!r}; choose one of {', '.join(sorted(formats))}")
        return format

    @model_validator(mode="after")
    def _known_compression(self) -> Output:
        given = {name.lower(): value for name, value in self.options.items()}.get("compression")
        known = self.written_as[1].compressions
        if given is not None and given.lower() not in known:
            name = self.written_as[0]
            raise ValueError(f"{name} has no compression {given!r}; choose one of {', '.join(known)}")
        return self

    @model_validator(mode="after")
    def _in_a_database(self) -> Output:
        in_database = Capability.CONNECTION in STORES.get(self.store).capabilities
        if in_database and (self.connection is None or self.location is not None):
            raise ValueError(f"the store {self.store!r} needs `connection`, and has no `location`")
        if not in_database and (self.connection is not None or self.table is not None):
            raise ValueError(
                f"the store {self.store!r} has no `connection` and no `table`; choose `store: jdbc`"
            )
        return self

    def base_uri(self, key: str) -> str | None:
        """Return the base of the versions of the dataset with this key; None: the configured warehouse."""
        if self.connection is None:
            return self.location
        return f"{self.connection}:{self.table or key.replace('/', '.')}"

    @property
    def written_as(self) -> tuple[str, VersionFormat]:
        """The format of the versions, by name: the declared one, or the store's default."""
        formats = STORES.get(self.store).formats
        name = self.format or next(iter(formats))
        return name, formats[name]


Ranges = Annotated[
    bool, Field(description="A row is the same whether its partition is computed alone or with others.")
]


class Time(Part):
    """Partitions by time."""

    type: Annotated[
        Literal["hourly", "daily", "weekly", "monthly"], Field(description="Length of a partition.")
    ]
    start: Annotated[
        str, Field(description="Start of the first partition: 2013-01-01, or 2013-01-01-00:00 if hourly.")
    ]
    end: Annotated[str | None, Field(description="The end of the partitions (exclusive). Default: none.")] = (
        None
    )
    timezone: Annotated[Timezone, Field(description="Time zone of the boundaries.")] = "UTC"
    end_offset: Annotated[int, Field(description="Number of partitions after the current time.")] = 0
    calendar: Annotated[
        str | None,
        Field(
            description="Only business days of this calendar are partitions (`daily` only): an exchange (XLON), a "
            "country or subdivision (GB, US-NY)."
        ),
    ] = None
    column: Annotated[
        str | None,
        Field(
            description="Date or timestamp column that determines a row's partition; checked on each write."
        ),
    ] = None
    ranges: Ranges = False


class Static(Part):
    """Partitions by a fixed list of keys."""

    type: Literal["static"]
    keys: Annotated[list[OptionText], Field(min_length=1, description="The partition keys.")]
    column: Annotated[
        str | None, Field(description="Column that holds a row's key; checked on each write.")
    ] = None
    ranges: Ranges = False


class Dynamic(Part):
    """Partitions by keys that become known over time: landed files, customers."""

    type: Literal["dynamic"]
    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z][a-z0-9_]*$",
            description="Name of the set of keys; datasets with the same name have the same partitions.",
        ),
    ]
    column: Annotated[
        str | None, Field(description="Column that holds a row's key; checked on each write.")
    ] = None
    ranges: Ranges = False


Dimension = Annotated[Time | Static | Dynamic, Field(discriminator="type")]


class Multi(Part):
    """Partitions by two dimensions."""

    type: Literal["multi"]
    dimensions: Annotated[
        dict[Name, Dimension], Field(min_length=2, max_length=2, description="The two dimensions by name.")
    ]
    ranges: Ranges = False


Partitions = Annotated[Time | Static | Dynamic | Multi, Field(discriminator="type")]


class ColumnDeclaration(Part):
    """One column. A plain string is short for `{type: ...}`."""

    type: Annotated[
        str, Field(description="Spark type: bigint, decimal(10,2), array<string>, struct<a:int>.")
    ]
    nullable: Annotated[bool, Field(description="False adds a check that no value is null.")] = True
    description: Annotated[str | None, Field(description="What the column means.")] = None
    tags: Annotated[
        list[str],
        AfterValidator(known_classes),
        Field(
            description="`pii`, `sensitive`, `gdpr=personal`, `gdpr=special_category` and `subject=KIND`, of the "
            "identifier of a person, hide values."
        ),
    ] = Field(default_factory=list)
    checks: Annotated[list[ColumnCheckItem], Field(description="Checks on the column's values.")] = Field(
        default_factory=list
    )


def _column_from_type(value: object) -> object:
    return {"type": value} if isinstance(value, str) else value


ColumnItem = Annotated[
    ColumnDeclaration, BeforeValidator(_column_from_type, json_schema_input_type=str | ColumnDeclaration)
]


class Schema(Part):
    """The columns, listed or taken from a pandera model."""

    columns: Annotated[dict[str, ColumnItem], Field(description="Columns by name.")] = Field(
        default_factory=dict
    )
    model: Annotated[str | None, Field(description="`file.py:Model`, a pandera.pyspark DataFrameModel.")] = (
        None
    )

    @model_validator(mode="after")
    def _one_source(self) -> Schema:
        if bool(self.columns) == (self.model is not None):
            raise ValueError("a schema has either `columns` or `model`")
        return self


class PartitionOf(Part):
    """The partition of a deadline, by its day. `yesterday` and `today` are short for 1 and 0 days before."""

    days_before: Annotated[int, Field(ge=0, description="Number of days before the day of the deadline.")] = 1
    business: Annotated[bool, Field(description="Count only days on which the calendar is open.")] = False
    format: Annotated[str, Field(description="The format of the partition key.", examples=["%Y-%m-%d"])] = (
        "%Y-%m-%d"
    )


def _partition_of(value: object) -> object:
    words = {"today": 0, "yesterday": 1}
    if isinstance(value, str) and value in words:
        return {"days_before": words[value]}
    return {"days_before": 1, "business": True} if value == "previous_business_day" else value


class RunLimits(Part):
    """Maximum and minimum run time."""

    max_run: Annotated[Duration | None, Field(description="Maximum run time.")] = None
    min_run: Annotated[
        Duration | None, Field(description="Minimum run time; a shorter run counts as a problem.")
    ] = None

    @model_validator(mode="after")
    def _longer(self) -> Self:
        if self.max_run is not None and self.min_run is not None and self.min_run >= self.max_run:
            raise ValueError("`min_run` is shorter than `max_run`")
        return self


class Sla(RunLimits):
    """The SLA of a dataset: deadline, maximum age, minimum size, and run times."""

    deadline: Annotated[Cron | None, Field(description="Cron expression of the deadlines.")] = None
    timezone: Annotated[Timezone, Field(description="Time zone of `deadline`.")] = "UTC"
    calendar: Annotated[
        CalendarName | None,
        Field(
            description="Only days on which this calendar is open have a deadline: an exchange (XLON), a country or "
            "subdivision (GB, US-NY), or a calendar of a scanned estate."
        ),
    ] = None
    partition: Annotated[
        PartitionOf | None,
        BeforeValidator(
            _partition_of,
            json_schema_input_type=Literal["today", "yesterday", "previous_business_day"] | PartitionOf,
        ),
        Field(description="The partition that must be published. Default: any."),
    ] = None
    within: Annotated[
        Duration | None,
        Field(
            description="How long before the deadline a version counts for it. Default: half of the time between "
            "two deadlines."
        ),
    ] = None
    warn_before: Annotated[Duration | None, Field(description="Warn this long before the deadline.")] = None
    max_age: Annotated[Duration | None, Field(description="Maximum age of the published version.")] = None
    warn_after: Annotated[
        Duration | None, Field(description="Warn when the published version reaches this age.")
    ] = None
    min_rows: Annotated[int | None, Field(ge=1, description="Minimum number of rows of a version.")] = None
    min_bytes: Annotated[int | None, Field(ge=1, description="Minimum size of a version in bytes.")] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        others = (self.max_run, self.min_run, self.min_rows, self.min_bytes)
        if self.deadline is not None and self.max_age is not None:
            raise ValueError("an sla has either `deadline` or `max_age`")
        if self.deadline is None and self.max_age is None and all(each is None for each in others):
            raise ValueError("an sla needs `deadline`, `max_age`, run times, rows or bytes")
        if self.deadline is None and (self.within or self.warn_before or self.calendar or self.partition):
            raise ValueError("`within`, `warn_before`, `calendar` and `partition` belong to a `deadline`")
        if self.warn_after is not None and (self.max_age is None or self.warn_after >= self.max_age):
            raise ValueError("`warn_after` belongs to a `max_age` and is shorter than it")
        if self.partition is not None and self.partition.business and self.calendar is None:
            raise ValueError("`partition: previous_business_day` needs a `calendar`")
        return self


class Keep(Part):
    """Which versions stay: those that any of these keeps, and those that are in use."""

    versions: Annotated[
        int | None, Field(ge=1, le=10_000, description="The newest ones, of each partition.")
    ] = None
    days: Annotated[
        int | None, Field(ge=1, le=10_000, description="Those that are not yet so many days old.")
    ] = None
    month_ends: Annotated[
        int | None, Field(ge=1, le=10_000, description="The last one of each of the last months, in UTC.")
    ] = None
    hold: Annotated[
        str | None, Field(min_length=1, description="Why nothing may be deleted, such as a legal case.")
    ] = None

    @model_validator(mode="after")
    def _something(self) -> Keep:
        if not any((self.versions, self.days, self.month_ends, self.hold)):
            raise ValueError("`keep` needs `versions`, `days`, `month_ends` or `hold`")
        return self


class Extract(Part):
    """Files for other systems, written beside each version in a format that Spark does not write."""

    writer: Annotated[
        str, Field(pattern=FUNCTION, description="`module:function` that writes a frame to a location.")
    ]
    location: Annotated[
        str, Field(description="Folder of the extracts, each in a folder of its own; with `{partition}`.")
    ]
    options: Annotated[dict[str, OptionText], Field(description="Passed to the writer.")] = Field(
        default_factory=dict
    )


class Retry(Part):
    """Retries of a failed run."""

    max_retries: Annotated[int, Field(ge=1, description="Maximum number of retries.")] = 1
    delay_seconds: Annotated[float, Field(ge=0, description="Delay before a retry.")] = 0
    backoff: Annotated[Literal["linear", "exponential"] | None, Field(description="How the delay grows.")] = (
        None
    )
