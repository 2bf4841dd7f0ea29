"""Findings of reading an estate: rule, severity, location and suggested fix."""

from dataclasses import dataclass
from typing import NamedTuple

from headrace.severity import Severity


class Problem(NamedTuple):
    """A problem of an attribute's value, without its place."""

    attribute: str
    message: str
    severity: Severity
    hint: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a linter's report.

    rule: its stable name, such as `jil/stray-line`, by which reports group and silence it. line: from 1; 0 for a
    finding about a whole file. subject: the job or other object. attribute: the field.
    """

    rule: str
    severity: Severity
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
        return f"{place}: {self.severity.lower()}: {about + ': ' if about else ''}{self.message}{hint} [{self.rule}]"
