"""Checks as declared, and as the records that a run reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import dagster as dg
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from sqlglot import parse_one
from sqlglot.errors import SqlglotError

from headrace.catalog.records import Check
from headrace.checks.custom_checks import CHECKS
from headrace.checks.drift_check import DriftCheck
from headrace.checks.predicates import plain_parameter
from headrace.plugins import UnknownPlugin
from headrace.severity import Severity

Scalar = bool | int | float | str


class CheckFields(dg.Model):
    """Common fields of all checks, in addition to the rule."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z_]\w*$", description="Name of the check. Default: from column and rule."),
    ] = None
    severity: Annotated[
        Literal["error", "warning"],
        Field(description="`error` stops the publish; `warn` is recorded and shown."),
    ] = "error"
    description: Annotated[str | None, Field(description="The reason for the rule.")] = None

    @model_validator(mode="after")
    def _one_rule(self) -> CheckFields:
        rules = [name for name in self.rules() if getattr(self, name) is not None]
        if len(rules) != 1:
            known = ", ".join(self.rules())
            raise ValueError(f"a check has exactly one rule ({known}), this has {', '.join(rules) or 'none'}")
        return self

    @classmethod
    def rules(cls) -> tuple[str, ...]:
        """Return the fields that are rules."""
        return tuple(name for name in cls.model_fields if name not in _NO_RULES)

    @property
    def rule(self) -> str:
        """The rule of this check."""
        return next(name for name in self.rules() if getattr(self, name) is not None)


_NO_RULES = ("name", "severity", "quarantine", "description")


def _in_order(lower_name: str, lower: object, upper_name: str, upper: object) -> None:
    """Raise ValueError for two comparable bounds with nothing between them."""
    for kind in (int | float, str):
        if isinstance(lower, kind) and isinstance(upper, kind) and lower > upper:  # type: ignore[operator]
            raise ValueError(f"no value is between {lower_name} {lower} and {upper_name} {upper}")


class Range(dg.Model):
    """Bounds of a value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_value: Annotated[Scalar, Field(description="Lower bound.")]
    max_value: Annotated[Scalar, Field(description="Upper bound.")]
    include_min: Annotated[bool, Field(description="Whether the lower bound is allowed.")] = True
    include_max: Annotated[bool, Field(description="Whether the upper bound is allowed.")] = True

    @model_validator(mode="after")
    def _something_between(self) -> Range:
        _in_order("min_value", self.min_value, "max_value", self.max_value)
        return self


class Length(dg.Model):
    """Bounds of a text's length, in characters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_value: Annotated[int | None, Field(description="Shortest allowed.")] = None
    max_value: Annotated[int | None, Field(description="Longest allowed.")] = None
    exact_value: Annotated[int | None, Field(description="The only allowed length.")] = None

    @model_validator(mode="after")
    def _some_length(self) -> Length:
        if self.min_value is None and self.max_value is None and self.exact_value is None:
            raise ValueError("str_length has `min_value`, `max_value` or `exact_value`")
        _in_order("min_value", self.min_value, "max_value", self.max_value)
        return self


class Custom(dg.Model):
    """A check of an installed package, by an entry point of the group `headrace.checks`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Annotated[str, Field(description="The name of the check.")]
    parameters: Annotated[dict[str, Any], Field(description="Its parameters.")] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_installed(self) -> Custom:
        try:
            CHECKS.get(self.kind).validate(self.parameters)
        except UnknownPlugin as error:
            raise ValueError(str(error)) from error
        return self


class ColumnCheck(CheckFields):
    """A rule for the values of one column. Null values pass every rule but `not_null`."""

    quarantine: Annotated[
        bool, Field(description="Quarantine the failing rows instead of blocking the version.")
    ] = False
    not_null: Annotated[Literal[True] | None, Field(description="No value is null.")] = None
    unique: Annotated[Literal[True] | None, Field(description="Values are unique.")] = None
    equal_to: Annotated[Scalar | None, Field(description="The only allowed value.")] = None
    not_equal_to: Annotated[Scalar | None, Field(description="A value that is not allowed.")] = None
    greater_than: Annotated[Scalar | None, Field(description="Lower bound, excluded.")] = None
    greater_than_or_equal_to: Annotated[Scalar | None, Field(description="Lower bound, included.")] = None
    less_than: Annotated[Scalar | None, Field(description="Upper bound, excluded.")] = None
    less_than_or_equal_to: Annotated[Scalar | None, Field(description="Upper bound, included.")] = None
    in_range: Annotated[Range | None, Field(description="Both bounds.")] = None
    isin: Annotated[list[Scalar] | None, Field(min_length=1, description="The allowed values.")] = None
    notin: Annotated[list[Scalar] | None, Field(min_length=1, description="Values that are not allowed.")] = (
        None
    )
    str_matches: Annotated[
        str | None, Field(description="Regular expression (Java's) that matches at the beginning.")
    ] = None
    str_contains: Annotated[
        str | None, Field(description="Regular expression (Java's) found anywhere in the text.")
    ] = None
    str_startswith: Annotated[str | None, Field(description="The beginning of the text.")] = None
    str_endswith: Annotated[str | None, Field(description="The end of the text.")] = None
    str_length: Annotated[Length | None, Field(description="Length of the text.")] = None
    custom: Annotated[Custom | None, Field(description="A check of an installed package.")] = None

    @model_validator(mode="after")
    def _row_by_row(self) -> ColumnCheck:
        if self.quarantine and self.unique:
            raise ValueError("`unique` is about several rows; only a check of single rows can quarantine")
        return self


class RowCount(dg.Model):
    """Bounds of the number of rows (of each partition, if partitioned)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: Annotated[int | None, Field(ge=0, description="Fewest rows.")] = None
    max: Annotated[int | None, Field(ge=0, description="Most rows.")] = None

    @model_validator(mode="after")
    def _some_bound(self) -> RowCount:
        if self.min is None and self.max is None:
            raise ValueError("row_count has `min`, `max` or both")
        _in_order("min", self.min, "max", self.max)
        return self


def _expression(sql: str | None) -> str | None:
    if sql is not None:
        try:
            parse_one(sql, dialect="spark")
        except SqlglotError as error:
            raise ValueError(f"{sql!r} is not a SQL expression") from error
    return sql


Expression = Annotated[str, AfterValidator(_expression)]


class References(dg.Model):
    """Values that exist in an input."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: Annotated[list[str], Field(min_length=1, description="Columns of the dataset.")]
    to: Annotated[str, Field(description="The input, by its name in the code.")]
    keys: Annotated[
        list[str] | None,
        Field(description="The columns of the input, in the same order. Default: equal names."),
    ] = None

    @model_validator(mode="after")
    def _pairs(self) -> References:
        if self.keys is not None and len(self.keys) != len(self.columns):
            raise ValueError("`columns` and `keys` have the same number of columns")
        return self


class Reconcile(dg.Model):
    """A total that equals that of an input."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    input: Annotated[str, Field(alias="with", description="The input, by its name in the code.")]
    sum: Annotated[
        Expression | None,
        Field(description="Column or SQL expression that is added up. Default: the rows are counted."),
    ] = None
    of: Annotated[
        Expression | None, Field(description="The same of the input, if it is called otherwise there.")
    ] = None
    tolerance: Annotated[float, Field(ge=0, description="Greatest difference that is allowed.")] = 0


class DatasetCheck(CheckFields):
    """A rule for complete rows or for the dataset."""

    quarantine: Annotated[
        bool, Field(description="Quarantine the failing rows instead of blocking the version.")
    ] = False
    unique: Annotated[
        list[str] | None, Field(min_length=1, description="Columns that together identify a row.")
    ] = None
    unique_across_partitions: Annotated[
        list[str] | None,
        Field(
            min_length=1,
            description="Columns that together identify a row among all partitions, the published ones included.",
        ),
    ] = None
    row_count: Annotated[RowCount | None, Field(description="The number of rows.")] = None
    sql: Annotated[
        Expression | None, Field(description="SQL expression that is true, or null, for a good row.")
    ] = None
    references: Annotated[
        References | None, Field(description="Columns whose values, if they are not null, exist in an input.")
    ] = None
    reconcile: Annotated[Reconcile | None, Field(description="A total that equals that of an input.")] = None
    drift: Annotated[DriftCheck | None, Field(description="How far the values of a column may move.")] = None

    @model_validator(mode="after")
    def _row_by_row(self) -> DatasetCheck:
        if self.quarantine and self.sql is None:
            raise ValueError("only a check of single rows (`sql`) can quarantine")
        return self


def _check_from_name(value: object) -> object:
    return {value: True} if value in ("not_null", "unique") else value


ColumnCheckItem = Annotated[
    ColumnCheck,
    BeforeValidator(_check_from_name, json_schema_input_type=Literal["not_null", "unique"] | ColumnCheck),
]


def column_checks(column: str, checks: Sequence[ColumnCheck], nullable: bool) -> Iterator[Check]:
    """Yield the records of a column's checks; a non-nullable column gets `not_null` unless it has one."""
    if not nullable and not any(check.not_null for check in checks):
        yield Check(name=f"{column}_not_null", kind="not_null", column=column)
    for check in checks:
        yield Check(
            name=check.name or f"{column}_{check.custom.kind if check.custom else check.rule}",
            kind=check.custom.kind if check.custom else check.rule,
            column=column,
            parameters=_column_parameters(column, check),
            severity=Severity[check.severity.upper()],
            quarantine=check.quarantine,
            description=check.description,
        )


def dataset_checks(checks: Sequence[DatasetCheck]) -> Iterator[Check]:
    """Yield the records of the checks on the dataset itself."""
    for check in checks:
        yield Check(
            name=check.name or _default_name(check),
            kind=check.rule,
            column=check.drift.column if check.drift else None,
            parameters=_dataset_parameters(check),
            severity=Severity[check.severity.upper()],
            quarantine=check.quarantine,
            description=check.description,
        )


def partition_check(columns: Sequence[str]) -> Check:
    """Return the check that rows belong to the partition that they are written to."""
    verb = "is" if len(columns) == 1 else "are"
    return Check(
        name="partition",
        kind="partition",
        column=columns[0] if len(columns) == 1 else None,
        parameters={"columns": list(columns)},
        description=f"{' and '.join(columns)} of every row {verb} in the written partition.",
    )


def _column_parameters(column: str, check: ColumnCheck) -> Mapping[str, Any]:
    value = getattr(check, check.rule)
    if check.rule == "not_null":
        return {}
    if check.rule == "unique":
        return {"columns": [column]}
    if isinstance(value, Custom):
        return value.parameters
    if isinstance(value, dg.Model):
        return value.model_dump(exclude_none=True)
    return {plain_parameter(check.rule): value}


def _default_name(check: DatasetCheck) -> str:
    if check.references:
        return f"{'_'.join(check.references.columns)}_in_{check.references.to}"
    if check.drift:
        return f"{check.drift.column}_drift"
    if check.unique_across_partitions:
        return f"unique_{'_'.join(check.unique_across_partitions)}_across_partitions"
    return f"unique_{'_'.join(check.unique)}" if check.unique else check.rule


def _dataset_parameters(check: DatasetCheck) -> Mapping[str, Any]:
    if columns := check.unique or check.unique_across_partitions:
        return {"columns": list(columns)}
    if check.row_count:
        return check.row_count.model_dump(exclude_none=True)
    if check.references:
        keys = check.references.keys or check.references.columns
        return {"columns": check.references.columns, "to": check.references.to, "keys": keys}
    if check.reconcile:
        total = check.reconcile
        found = total.sum or "1"
        of = total.of or found
        return {"with": total.input, "sum": found, "of": of, "tolerance": total.tolerance}
    if check.drift:
        return check.drift.parameters
    return {"expression": check.sql}
