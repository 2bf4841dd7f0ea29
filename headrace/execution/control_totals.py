"""The declaration of the totals that the sender of files states."""

from __future__ import annotations

import codecs
import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def _one_group(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    if groups != 1:
        raise ValueError(
            f"{pattern!r} has {groups} groups; write one, around the value, such as 'ROWS=(\\d+)'"
        )
    return pattern


def _known(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(f"{encoding!r} is not an encoding of Python, such as utf-8 or cp037") from error
    return encoding


Pattern = Annotated[str, AfterValidator(_one_group)]


class ControlTotals(BaseModel):
    """The totals that the sender of files states: regular expressions with one group, the value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    location: Annotated[
        str | None,
        Field(description="The control file, with `{partition}`. Default: the last line of each data file."),
    ] = None
    rows: Annotated[Pattern | None, Field(description="The number of rows.")] = None
    totals: Annotated[
        dict[str, Pattern], Field(description="The sum of a column, by column: an integer or a decimal.")
    ] = Field(default_factory=dict)
    checksum: Annotated[
        Pattern | None,
        Field(description="The data file's checksum in hexadecimal digits: MD5, or SHA-1 to SHA-512."),
    ] = None
    encoding: Annotated[
        str, AfterValidator(_known), Field(description="The encoding of the text, such as `cp037`.")
    ] = "utf-8"

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.rows is None and self.checksum is None and not self.totals:
            raise ValueError("`control` needs `rows`, `totals` or `checksum`")
        if self.checksum is not None and self.location is None:
            raise ValueError("a file cannot state its own `checksum`: give the `location` of a control file")
        return self

    @property
    def described(self) -> dict[str, Any]:
        """Everything declared, as JSON."""
        return self.model_dump(exclude_defaults=True)
