"""Findings of reading an estate: rule, severity, location and suggested fix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headrace.severity import Severity

_SECTIONS = {
    "Undefined names": ("estate/dangling", "estate/no-box"),
    "Orphans": ("estate/orphan",),
    "Cycles": ("estate/cycle",),
    "Dead jobs": ("estate/dead", "estate/held-up", "estate/by-hand"),
    "Jobs without an owner": ("estate/no-owner",),
}
_OTHER = "Other findings"
_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)


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


def by_section(found: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Group the findings by section, the most severe first, then by file and line."""
    title_of = {rule: title for title, rules in _SECTIONS.items() for rule in rules}
    sections: dict[str, list[Finding]] = {title: [] for title in (*_SECTIONS, _OTHER)}
    for finding in sorted(found, key=lambda each: (_SEVERITIES.index(each.severity), each.file, each.line)):
        sections[title_of.get(finding.rule, _OTHER)].append(finding)
    return {title: findings for title, findings in sections.items() if findings}
