"""The statements of a JIL file, each with its attributes in the order written."""

from dataclasses import dataclass
from typing import NamedTuple

from headrace.autosys.findings import Finding


class Attribute(NamedTuple):
    """`name: value` at `line` of its statement's file.

    value: the text with the quotes of a wholly quoted value and the escapes of colons removed, otherwise verbatim.
    soft: written as a comment (`#owner: ...`), which is how a dump shows attributes that only a superuser may set.
    file: its file if that is not the file of its statement, as after an update from another.
    """

    name: str
    value: str
    line: int = 0
    soft: bool = False
    file: str = ""


@dataclass(slots=True, eq=False)
class Statement:
    """One subcommand with its attributes.

    action: insert, update, delete, override, rename or modify. kind: its object type (job, box, machine, ...). rest:
    words after the name on its line that are not attributes, such as the `delete` of `override_job: NAME delete`.
    """

    action: str
    kind: str
    name: str
    attributes: list[Attribute]
    file: str
    line: int
    rest: str = ""

    @property
    def meaning(self) -> tuple[object, ...]:
        """The content of the statement, independent of its place: equal if and only if two statements mean the same."""
        attributes = tuple((each.name, each.value, each.soft) for each in self.attributes)
        return (self.action, self.kind, self.name, self.rest, attributes)

    def get(self, name: str) -> str | None:
        """Return the last value of the attribute; None if there is none."""
        for attribute in reversed(self.attributes):
            if attribute.name == name:
                return attribute.value
        return None


@dataclass(frozen=True, slots=True)
class Jil:
    """The contents of one file: its statements in order, and findings about invalid or doubtful lines."""

    statements: tuple[Statement, ...]
    findings: tuple[Finding, ...]
