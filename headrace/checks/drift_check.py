"""The declaration of a `drift` check, and whether it fits the columns of its dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from headrace.catalog.records import Column
from headrace.catalog.schema import sensitive
from headrace.profiles.drift import DEFAULT_THRESHOLD, Method, methods_of


class DriftCheck(BaseModel):
    """How far the values of a column may move from those of an earlier version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    column: Annotated[str, Field(description="The column.")]
    method: Annotated[
        Method,
        Field(description="`ks`, for numbers and times, or `psi`, for texts as well: docs/profiles.md."),
    ]
    threshold: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="Greatest value that passes. Default: 0.1 for ks, 0.2 for psi.",
        ),
    ] = None
    against: Annotated[
        Literal["previous", "previous_partition", "other_partitions"],
        Field(
            description="The published version of the same partition, of the one before it, or of all others."
        ),
    ] = "previous"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the check's record."""
        threshold = self.threshold or DEFAULT_THRESHOLD[self.method]
        return {"method": self.method, "threshold": threshold, "against": self.against}

    def misfit(self, columns: Mapping[str, Column]) -> tuple[str, str] | None:
        """Return why these columns have no values that the method can compare, and advice; None if they have."""
        column = columns.get(self.column)
        if column is None:
            return (
                f"{self.column!r} is not among the columns of the schema",
                f"The schema has: {', '.join(sorted(columns))}.",
            )
        if sensitive([column]):
            return f"{self.column!r} is sensitive, so that its values are not profiled", "Remove the check."
        known = methods_of(column.type)
        if self.method not in known:
            problem = f"{self.column!r} is {column.type}, which {self.method} cannot compare"
            return (
                problem,
                f"Use `method: {known[0]}`." if known else "Name another column, or remove the check.",
            )
        return None
