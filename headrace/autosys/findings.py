"""What reading an estate has to say about it: each finding with its rule, its place and what to do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Gravity(StrEnum):
    """ERROR: something was lost, or contradicts itself. WARNING: probably not as meant. NOTE: worth knowing.

    What may be right once more files are read is no ERROR.
    """

    ERROR = "ERROR"
    WARNING = "WARNING"
    NOTE = "NOTE"


class Problem(NamedTuple):
    """What is wrong with the value of an attribute, wherever it stands."""

    attribute: str
    message: str
    gravity: Gravity
    hint: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a linter's report.

    rule: its stable name, such as `jil/stray-line`, by which reports group and silence it. line: from 1; 0 when the
    finding is about a file as a whole. subject: the job or other object concerned. attribute: the field concerned.
    """

    rule: str
    gravity: Gravity
    message: str
    file: str
    line: int
    subject: str | None = None
    attribute: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        about = ".".join(part for part in (self.subject, self.attribute) if part)
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}: {self.gravity.lower()}: {about + ': ' if about else ''}{self.message}{hint} [{self.rule}]"
