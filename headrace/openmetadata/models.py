"""The bodies that are sent, with OpenMetadata's limits: what it would refuse is refused here, with the field's name.

Its JSON schemas are the reference: the names are theirs, in camel case when dumped. Only fields that Headrace fills.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from headrace.openmetadata.names import MAX_FQN, MAX_NAME

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r'^[^>"\x00-\x1f]*$')
]  # of 2.0, whose names are the narrower ones
ColumnName = Annotated[str, StringConstraints(min_length=1, pattern=r'^[^>"\x00-\x1f]*$')]
Fqn = Annotated[str, StringConstraints(min_length=1, max_length=MAX_FQN)]


class Body(BaseModel):
    """Base of the bodies: immutable, dumped without what is not set."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    def dump(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Reference(Body):
    """A reference to an entity that is there."""

    id: str
    type: str


class Label(Body):
    """A tag, or a term of a glossary, on an entity or a column."""

    tagFQN: Fqn = Field(alias="tagFQN")
    source: Literal["Classification", "Glossary"] = "Classification"
    label_type: Literal["Manual", "Propagated", "Automated", "Derived", "Generated"] = "Automated"
    state: Literal["Suggested", "Confirmed"] = "Confirmed"


class Column(Body):
    """A column, or a field of a nested one."""

    name: ColumnName
    display_name: str | None = None
    data_type: str
    array_data_type: str | None = None
    data_length: int | None = None
    precision: int | None = None
    scale: int | None = None
    data_type_display: str | None = None
    description: str | None = None
    tags: tuple[Label, ...] | None = None
    constraint: Literal["NULL", "NOT_NULL", "UNIQUE", "PRIMARY_KEY"] | None = None
    children: tuple[Column, ...] | None = None


class Constraint(Body):
    """A constraint of a table."""

    constraint_type: Literal["UNIQUE", "PRIMARY_KEY"]
    columns: tuple[str, ...]


class Named(Body):
    """The fields of all entities."""

    name: Name
    display_name: str | None = None
    description: str | None = None


class Service(Named):
    """A database or pipeline service."""

    service_type: Literal["CustomDatabase", "CustomPipeline"]
    connection: dict[str, Any]


class Database(Named):
    """A database of a service."""

    service: Fqn


class Schema(Named):
    """A schema of a database."""

    database: Fqn


class Governed(Named):
    """The fields that stewards write as well."""

    owners: tuple[Reference, ...] | None = None
    tags: tuple[Label, ...] | None = None
    domains: tuple[str, ...] | None = None
    data_products: tuple[Fqn, ...] | None = None
    source_url: str | None = None


class Table(Governed):
    """A dataset."""

    database_schema: Fqn
    columns: tuple[Column, ...]
    table_type: Literal["Regular", "External", "Iceberg"] = "Regular"
    table_constraints: tuple[Constraint, ...] | None = None
    file_format: Literal["csv", "avro", "parquet", "json", "jsonl"] | None = None
    extension: dict[str, str]


class Task(Body):
    """A step of a process."""

    name: Name
    downstream_tasks: tuple[str, ...] | None = None


class Pipeline(Governed):
    """A process."""

    service: Fqn
    tasks: tuple[Task, ...]
    state: Literal["Active", "Inactive"] = "Active"


class Classification(Named):
    """A group of tags."""

    description: str


class Tag(Named):
    """A tag of a classification."""

    description: str
    classification: Fqn


class Domain(Named):
    """A domain."""

    description: str
    domain_type: Literal["Source-aligned", "Consumer-aligned", "Aggregate"] = "Consumer-aligned"


class DataProduct(Named):
    """A data product of a domain."""

    description: str
    domains: tuple[Fqn, ...]


class Definition(Named):
    """The definition of a kind of check."""

    name: ColumnName
    description: str
    entity_type: Literal["TABLE", "COLUMN"]
    test_platforms: tuple[Literal["Other"], ...] = ("Other",)


class Parameter(Body):
    """A parameter of a check, or a value of its result."""

    name: str
    value: str


class Case(Named):
    """A check of a dataset. The server makes the test suite of the table."""

    name: ColumnName
    test_definition: Fqn
    entity_link: str
    parameter_values: tuple[Parameter, ...] = ()


class Result(Body):
    """The result of a check on a version."""

    timestamp: int
    test_case_status: Literal["Success", "Failed", "Aborted", "Queued"]
    result: str
    test_result_value: tuple[Parameter, ...]
    passed_rows: int | None = None
    failed_rows: int | None = None


class TaskStatus(Body):
    """The status of a step of a run."""

    name: str
    execution_status: Literal["Successful", "Failed", "Skipped"]
    start_time: int
    end_time: int


class RunStatus(Body):
    """The status of a run."""

    timestamp: int
    execution_status: Literal["Successful", "Failed", "Skipped"]
    execution_id: str
    end_time: int
    task_status: tuple[TaskStatus, ...]
    error: dict[str, str] | None = None


class TableMeasures(Body):
    """Measures of a version as a whole."""

    timestamp: int
    column_count: int
    row_count: int | None = None
    size_in_byte: int | None = None


class ColumnMeasures(Body):
    """Measures of a column of a version."""

    name: str
    timestamp: int
    null_count: int | None = None
    null_proportion: float | None = None
    values_count: int | None = None
    distinct_count: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min: Any = None
    max: Any = None
    mean: float | None = None
    median: float | None = None
    first_quartile: float | None = None
    third_quartile: float | None = None


class SystemMeasures(Body):
    """The effect of a write on a table."""

    timestamp: int
    operation: Literal["WRITE", "INSERT"]
    rows_affected: int


class Profile(Body):
    """The profile of a version."""

    table_profile: TableMeasures
    column_profile: tuple[ColumnMeasures, ...] = ()
    system_profile: tuple[SystemMeasures, ...] = ()


class ColumnsLineage(Body):
    """A column and those that it is made from, by FQN."""

    from_columns: tuple[Fqn, ...]
    to_column: Fqn
    function: str | None = None


class EdgeDetails(Body):
    """How data flows along an edge."""

    source: str
    pipeline: Reference | None = None
    sql_query: str | None = None
    columns_lineage: tuple[ColumnsLineage, ...] = ()


class CustomProperty(Body):
    """A property of tables that Headrace fills."""

    name: Name
    display_name: str
    description: str
    property_type: Reference
