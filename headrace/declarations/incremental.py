"""How a dataset grows: the declaration of `incremental`, and the plan that a run follows.

Each run takes in only what is new of one input; `execution/incremental/` does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import dagster as dg
from pydantic import Field, model_validator
from sqlglot import exp, parse_one

from headrace.catalog.records import Check, DatasetRecord
from headrace.declarations.checks import Expression
from headrace.declarations.declaration import Name, Part
from headrace.execution.plan import IncrementalPlan, InputPlan
from headrace.sources.origin import Origin

Keys = Annotated[list[Name], Field(min_length=1)]
_KEY_CHECK = "keys_once"
# The fields of each mode, besides `mode` and `input`.
_FIELDS = {
    "append": {"watermark", "partition"},
    "merge": {"watermark", "keys", "order_by", "delete_when"},
    "scd2": {"keys", "compare", "valid_from", "valid_to"},
}


class Incremental(Part):
    """Each run adds what is new of one input to the published version, instead of computing everything."""

    mode: Annotated[
        Literal["append", "merge", "scd2"],
        Field(
            description="append: new rows are added. merge: new rows replace those with the same keys. scd2: the "
            "result is the present state, and the dataset its history, with the time in which each row was valid."
        ),
    ]
    input: Annotated[
        Name | None,
        Field(description="The input with the new rows, by its name in the code. Default: the only input."),
    ] = None
    watermark: Annotated[
        Name | None,
        Field(
            description="Column of an input without partitions, greater in new rows than in all rows before "
            "(`loaded_at`). Partitioned inputs are taken in by partition."
        ),
    ] = None
    partition: Annotated[
        Expression | None,
        Field(
            description="append: the partition of the input that a row comes from, as a column of the result or an SQL "
            "expression over them (`date_trunc('month', day)`)."
        ),
    ] = None
    keys: Annotated[Keys | None, Field(description="merge, scd2: columns that identify a row.")] = None
    order_by: Annotated[
        Name | None,
        Field(
            description="merge: of several rows with the same keys, the one with the greatest value stays."
        ),
    ] = None
    delete_when: Annotated[
        Expression | None,
        Field(
            description="merge: SQL expression over the result that is true for a row which deletes its keys "
            "(`op = 'D'`)."
        ),
    ] = None
    compare: Annotated[
        Keys | None,
        Field(
            description="scd2: a row is new if one of these columns changes. Default: all except the keys."
        ),
    ] = None
    valid_from: Annotated[
        Name, Field(description="scd2: column with the time from which a row is valid.")
    ] = "valid_from"
    valid_to: Annotated[
        Name,
        Field(
            description="scd2: column with the time at which it ceases to be (exclusive); null while valid."
        ),
    ] = "valid_to"

    @model_validator(mode="after")
    def _fields_of_its_mode(self) -> Incremental:
        written = self.model_fields_set - {"mode", "input"}
        if foreign := sorted(written - _FIELDS[self.mode]):
            raise ValueError(f"`{foreign[0]}` does not belong to `mode: {self.mode}`")
        if self.mode == "append" and (self.watermark is None) == (self.partition is None):
            raise ValueError(
                "`mode: append` needs `partition` for an input with partitions, `watermark` for one without, "
                "and never both"
            )
        if self.mode != "append" and self.keys is None:
            raise ValueError(f"`mode: {self.mode}` needs `keys`")
        if self.mode == "merge" and self.order_by is None:
            raise ValueError("`mode: merge` needs `order_by`, which decides between rows with the same keys")
        return self


def incremental_plan(
    declared: Incremental,
    inputs: Sequence[InputPlan],
    record: DatasetRecord,
    origin: Origin,
    *,
    partitioned: bool,
) -> IncrementalPlan:
    """Return the plan of `declared`, checked against the rest of the declaration. Raises DeclarationError."""
    if partitioned:
        raise origin.error(
            ("incremental",),
            "a partitioned dataset is computed partition by partition, and cannot be incremental",
            "Remove `partitions` or `incremental`; the input `self` reads the partition before.",
        )
    if declared.mode == "scd2":
        _without_own_check(record, origin)
    item = _input(declared, inputs, origin)
    known = {column.name for column in record.columns}
    added = [declared.valid_from, declared.valid_to] if declared.mode == "scd2" else []
    used = {
        "keys": declared.keys or (),
        "order_by": [declared.order_by] if declared.order_by else (),
        "compare": declared.compare or (),
        "valid_to": added,
    }
    for field, names in used.items():
        for name in names if known else ():
            if name not in known:
                raise origin.error(
                    ("incremental", field),
                    f"{name!r} is not among the columns of the schema",
                    f"The schema has: {', '.join(sorted(known))}.",
                )
    return IncrementalPlan(
        mode=declared.mode,
        input=item.alias,
        watermark=declared.watermark,
        partition=declared.partition,
        keys=tuple(declared.keys or ()),
        order_by=declared.order_by,
        delete_when=declared.delete_when,
        compare=tuple(declared.compare or ()),
        valid_from=declared.valid_from,
        valid_to=declared.valid_to,
        unstored=_columns(declared.delete_when) - known if known else frozenset(),
    )


def growing_record(record: DatasetRecord, plan: IncrementalPlan) -> DatasetRecord:
    """Return the record with the mode, and with the check that a state has each key once, which its history needs."""
    record = replace(record, metadata={**record.metadata, "incremental": plan.mode})
    if plan.mode != "scd2":
        return record
    keys = ", ".join(plan.keys)
    check = Check(
        name=_KEY_CHECK,
        kind="unique",
        parameters={"columns": [*plan.keys, plan.valid_from]},
        description=f"The result has one row for each {keys}.",
    )
    return replace(record, checks=(*record.checks, check))


def _without_own_check(record: DatasetRecord, origin: Origin) -> None:
    if any(check.name == _KEY_CHECK for check in record.checks):
        raise origin.error(
            ("checks",), f"`mode: scd2` has its own check {_KEY_CHECK}", "Give yours a different `name`."
        )


def _input(declared: Incremental, inputs: Sequence[InputPlan], origin: Origin) -> InputPlan:
    found = [item for item in inputs if declared.input in (None, item.alias)]
    if len(found) != 1:
        names = ", ".join(item.alias for item in inputs) or "none"
        raise origin.error(
            ("incremental", "input") if declared.input else ("incremental",),
            f"no input is named {declared.input!r}" if declared.input else "`input` is missing",
            f"Name the input with the new rows; the inputs are: {names}.",
        )
    (item,) = found
    if item.version_tag or item.as_of or not isinstance(item.mapping, dg.AllPartitionMapping | None):
        raise origin.error(
            ("incremental",),
            f"the input {item.alias!r} is limited to some versions or partitions",
            "Remove `version`, `as_of` and `partitions` of the input: what is new of it is chosen by each run.",
        )
    return item


def _columns(expression: str | None) -> frozenset[str]:
    if expression is None:
        return frozenset()
    return frozenset(column.name for column in parse_one(expression, dialect="spark").find_all(exp.Column))
