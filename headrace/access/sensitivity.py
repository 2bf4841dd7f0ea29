"""Sensitivity of fields, declared on their types; `catalog.masking` applies it when a row is made for a caller.

A field of text, or of JSON, says what it holds: `Public[str]`, a key (`DatasetKey`, `ProcessKey`, `SubjectKey`), or
`Annotated[str, Sensitive.LOCATION]`. One that says nothing is hidden from callers without `read-sensitive`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

MASK: Final = "***"  # stands for a value that the caller may not see

_T = TypeVar("_T")


class Sensitive(StrEnum):
    """Kind of sensitive data in a field, which decides when it is hidden."""

    LOCATION = "LOCATION"  # hidden if the dataset has sensitive columns
    METADATA = "METADATA"  # free JSON, such as addresses and options of readers; as LOCATION
    STATISTICS = (
        "STATISTICS"  # by column: the values of sensitive columns are hidden, their null counts are not
    )
    VALUES = "VALUES"  # by column: those of sensitive columns are hidden
    SAMPLE = "SAMPLE"  # as LOCATION
    CHECK = "CHECK"  # the values a check compares with or found; hidden if it is about a sensitive column
    SOURCE = "SOURCE"  # code and SQL; always hidden
    ERROR = "ERROR"  # messages of programs; always hidden
    FACET = "FACET"  # of no known schema; always hidden
    UNDECLARED = "UNDECLARED"  # a field whose type says nothing; always hidden


class PublicField(Enum):
    """Markers of public fields: which dataset, version, process or column the row is about."""

    TEXT = "text"
    DATASET = "dataset"
    PROCESS = "process"
    SUBJECT = "subject"  # a dataset or a process
    COLUMN = "column"
    VERSION = "version"  # of the dataset: its columns are judged by its own lineage
    NESTED = "nested"  # the row is about what this nested row is about
    FOREIGN_JSON = "json"  # sensitive fields in it are known by name
    FACET_CONTENT = "facet content"  # of the OpenLineage facet `name`; of the spec if `modelled`
    MODELLED_FACETS = "facets"  # contents of OpenLineage facets of the spec, by name


@dataclass(frozen=True, slots=True)
class SensitiveIf:
    """A field that is sensitive in some rows only."""

    kind: Sensitive
    condition: Callable[[Any], bool]


Public = Annotated[_T, PublicField.TEXT]
DatasetKey = Annotated[str, PublicField.DATASET]
ProcessKey = Annotated[str, PublicField.PROCESS]
SubjectKey = Annotated[str, PublicField.SUBJECT]
VersionId = Annotated[UUID, PublicField.VERSION]
