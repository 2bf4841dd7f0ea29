"""Column lineage of one output: values, their JSON form, and OpenLineage's columnLineage facet."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from headrace.access.sensitivity import Public, Sensitive

PRODUCER = "https://github.com/headrace/headrace"
SCHEMA_URL = (
    "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
)
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
WHOLE = ""  # in place of a column: the whole dataset


class How(StrEnum):
    """Direct: values come from the source. Indirect: they only depend on it."""

    DIRECT = "DIRECT"
    INDIRECT = "INDIRECT"


class Subtype(StrEnum):
    """Kind of dependency: the first three are DIRECT, the others INDIRECT."""

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"
    JOIN = "JOIN"
    FILTER = "FILTER"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"
    WINDOW = "WINDOW"
    CONDITIONAL = "CONDITIONAL"


DIRECT = frozenset({Subtype.IDENTITY, Subtype.TRANSFORMATION, Subtype.AGGREGATION})


class Origin(StrEnum):
    """Source of the lineage: Spark's analysed plan, the SQL text, the transform's author, or another producer."""

    PLAN = "PLAN"
    SQL = "SQL"
    DECLARED = "DECLARED"
    REPORTED = "REPORTED"


@dataclass(frozen=True, slots=True, order=True)
class ColumnSource:
    """A dependency of an output on a column of an input.

    input: the dataset's key. column: `a`, or `a.b.c` for a struct field; '' for the whole dataset. masking: the
    source's values cannot be recovered (a hash, a mask, a count). expression: readable SQL.
    """

    input: Public[str]
    column: Public[str]
    type: How
    subtype: Subtype
    masking: bool = False
    expression: Annotated[str, Sensitive.SOURCE] = ""

    def __post_init__(self) -> None:
        """Raise ValueError if the subtype does not belong to the type."""
        if (self.subtype in DIRECT) is not (self.type is How.DIRECT):
            raise ValueError(f"{self.input}.{self.column}: {self.subtype} is not a subtype of {self.type}")


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The lineage of one output column.

    column: `a`, one per column; additionally `a.b` for each field of a struct whose fields are traced separately. A
    part with a dot is in backquotes. No sources and not unknown: a literal, a row count, anything independent of input
    columns. unknown: the reason; `sources` then has the possible sources. confidence: 0 to 1.
    """

    column: Public[str]
    sources: tuple[ColumnSource, ...] = ()
    unknown: Public[str | None] = None
    confidence: float = 1.0
    origin: Origin = Origin.PLAN


class Flow(NamedTuple):
    """Values of a column flow into another, or may if certain is False. source: '' for any column of the input."""

    input: str
    source: str
    target: str
    certain: bool


@dataclass(frozen=True, slots=True)
class LineageOfOutput:
    """The lineage of all columns of one output.

    whole: what row selection depends on (joins, filters, groups, order), all INDIRECT. note: a remark on how this was
    determined, e.g. that time ran out.
    """

    columns: tuple[ColumnLineage, ...] = ()
    whole: tuple[ColumnSource, ...] = ()
    note: Public[str | None] = None

    def coverage(self) -> tuple[int, int]:
        """Return the number of known columns and of all columns; struct fields do not count."""
        whole = [each for each in self.columns if not is_field(each.column)]
        return sum(each.unknown is None for each in whole), len(whole)

    def possible(self, inputs: Collection[str]) -> "LineageOfOutput":
        """Return the same, with all columns of these inputs as possible sources of unknown columns."""
        anything = tuple(
            ColumnSource(each, WHOLE, How.DIRECT, Subtype.TRANSFORMATION) for each in sorted(inputs)
        )
        columns = tuple(
            replace(each, sources=anything) if each.unknown is not None and not each.sources else each
            for each in self.columns
        )
        return replace(self, columns=columns)

    def flows(self) -> frozenset[Flow]:
        """Return the columns whose values flow into columns of the output: direct sources that are not masked."""
        return frozenset(
            Flow(
                source.input,
                parts(source.column)[0] if source.column else WHOLE,
                parts(column.column)[0],
                column.unknown is None,
            )
            for column in self.columns
            for source in column.sources
            if column.unknown is not None or (source.type is How.DIRECT and not source.masking)
        )

    def inputs(self) -> frozenset[str]:
        """Return all inputs that occur."""
        named = {source.input for column in self.columns for source in column.sources}
        return frozenset(named | {source.input for source in self.whole})


def parts(column: str) -> list[str]:
    """Split a path into names: `a.b` is a and b, "`odd.name`.b" is odd.name and b."""
    return [quoted.replace("``", "`") or plain for quoted, plain in _PART.findall(column)]


def is_field(column: str) -> bool:
    """Return True for a struct field, which is not a column itself."""
    return len(_PART.findall(column)) > 1


def unknown(columns: Sequence[str], reason: str, origin: Origin = Origin.PLAN) -> LineageOfOutput:
    """Return unknown lineage for these columns, with the reason."""
    return LineageOfOutput(
        tuple(ColumnLineage(column, unknown=reason, confidence=0.0, origin=origin) for column in columns),
        note=reason,
    )


def as_json(lineage: LineageOfOutput) -> dict[str, Any]:
    """Encode as JSON: compact, since it is stored with every version. `from_json` reads it."""
    content: dict[str, Any] = {"columns": [_column(column) for column in lineage.columns]}
    if lineage.whole:
        content["whole"] = [_source(source) for source in lineage.whole]
    if lineage.note:
        content["note"] = lineage.note
    return content


def from_json(content: Mapping[str, Any]) -> LineageOfOutput:
    """Decode the result of `as_json`. Raises KeyError or ValueError for anything else."""
    return LineageOfOutput(
        tuple(
            ColumnLineage(
                column=each["column"],
                sources=tuple(map(_read_source, each.get("sources", ()))),
                unknown=each.get("unknown"),
                confidence=each.get("confidence", 1.0),
                origin=Origin(each["origin"]),
            )
            for each in content["columns"]
        ),
        tuple(map(_read_source, content.get("whole", ()))),
        content.get("note"),
    )


def facet(lineage: LineageOfOutput, named: Callable[[str], tuple[str, str]]) -> dict[str, Any]:
    """Return the columnLineage facet (spec 1-2-0). named: namespace and name of an input.

    Fields that the spec lacks are in `headrace`: why a column is unknown, the confidence, the origin; and the note.
    """
    content: dict[str, Any] = {
        "_producer": PRODUCER,
        "_schemaURL": SCHEMA_URL,
        "fields": {column.column: _field(column, named) for column in lineage.columns},
    }
    if lineage.whole:
        content["dataset"] = _input_fields(lineage.whole, named)
    if lineage.note:
        content["headrace"] = {"note": lineage.note}
    return content


def _column(column: ColumnLineage) -> dict[str, Any]:
    content: dict[str, Any] = {"column": column.column, "origin": column.origin.value}
    if column.sources:
        content["sources"] = [_source(source) for source in column.sources]
    if column.unknown is not None:
        content["unknown"] = column.unknown
    if column.confidence != 1.0:
        content["confidence"] = column.confidence
    return content


def _source(source: ColumnSource) -> dict[str, Any]:
    content: dict[str, Any] = {
        "input": source.input,
        "column": source.column,
        "type": source.type.value,
        "subtype": source.subtype.value,
    }
    if source.masking:
        content["masking"] = True
    if source.expression:
        content["expression"] = source.expression
    return content


def _read_source(content: Mapping[str, Any]) -> ColumnSource:
    return ColumnSource(
        input=content["input"],
        column=content["column"],
        type=How(content["type"]),
        subtype=Subtype(content["subtype"]),
        masking=content.get("masking", False),
        expression=content.get("expression", ""),
    )


def _field(column: ColumnLineage, named: Callable[[str], tuple[str, str]]) -> dict[str, Any]:
    ours: dict[str, Any] = {"origin": column.origin.value, "confidence": column.confidence}
    if column.unknown is not None:
        ours["unknown"] = column.unknown
    return {"inputFields": _input_fields(column.sources, named), "headrace": ours}


def _input_fields(
    sources: Sequence[ColumnSource], named: Callable[[str], tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return one entry per column of an input, with all of its transformations."""
    entries: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for source in sources:
        entries.setdefault((source.input, source.column), []).append(
            {
                "type": source.type.value,
                "subtype": source.subtype.value,
                "description": source.expression,
                "masking": source.masking,
            }
        )
    return [
        {"namespace": namespace, "name": name, "field": column, "transformations": done}
        for (key, column), done in entries.items()
        for namespace, name in [named(key)]
    ]
