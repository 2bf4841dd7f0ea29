"""Column lineage declared for code that Spark's plan cannot see into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from headrace.catalog.column_lineage import ColumnLineage, ColumnSource, How, Origin, Subtype, is_field, parts
from headrace.declarations.declaration import NAME, Part
from headrace.execution.plan import InputPlan
from headrace.sources.origin import FieldPath
from headrace.sources.origin import Origin as Place

Source = Annotated[str, Field(pattern=rf"^({NAME}/)?{NAME}(\..+)?$")]


class StatedLineage(Part):
    """The sources of one column. A plain string or list is short for `{from: ...}`."""

    sources: Annotated[
        list[Source],
        Field(
            alias="from",
            description="Columns of inputs: `customers.birth_date`, or `customers` for all of it. Empty: none.",
        ),
    ]
    masking: Annotated[
        bool, Field(description="The result does not reveal the values: a hash, a mask, a count.")
    ] = False
    expression: Annotated[str, Field(description="A short description of the derivation.")] = ""


def _stated(value: object) -> object:
    if isinstance(value, str):
        return {"from": [value]}
    if isinstance(value, list):
        return {"from": value}
    if isinstance(value, dict) and isinstance(value.get("from"), str):
        return {**value, "from": [value["from"]]}
    return value


StatedItem = Annotated[
    StatedLineage, BeforeValidator(_stated, json_schema_input_type=str | list[str] | StatedLineage)
]


def stated_lineage(
    stated: Mapping[str, StatedLineage],
    inputs: Sequence[InputPlan],
    columns: Sequence[str],
    place: Place,
) -> tuple[ColumnLineage, ...]:
    """Convert to the catalog's form. columns: those of the schema, none if it is not declared.

    Raises DeclarationError for a column that is not in the schema, and for an unknown input.
    """
    keys = {name: item.dataset for item in inputs for name in (item.alias, item.dataset)}
    found = []
    for column, each in stated.items():
        at: FieldPath = ("lineage", column)
        if columns and parts(column)[0] not in columns:
            raise place.error(
                at,
                f"{column!r} is not among the columns of the schema",
                f"The schema has: {', '.join(columns)}.",
            )
        if is_field(column):
            raise place.error(at, f"{column!r} is a field of a column", "State it for the whole column.")
        sources = []
        for source in each.sources:
            name, _, of = source.partition(".")
            if name not in keys:
                raise place.error(
                    at, f"{name!r} is not an input", f"Inputs: {', '.join(sorted(keys)) or 'none'}."
                )
            sources.append(
                ColumnSource(
                    keys[name], of, How.DIRECT, Subtype.TRANSFORMATION, each.masking, each.expression
                )
            )
        found.append(ColumnLineage(column, tuple(sources), origin=Origin.DECLARED))
    return tuple(found)
