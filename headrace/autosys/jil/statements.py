"""The statements of a JIL file, each with its attributes in the order written."""

from dataclasses import dataclass
from typing import NamedTuple

from headrace.autosys.findings import Finding


class Attribute(NamedTuple):
    """`name: value` as it stands at `line` of its statement's file.

    value: the text with the quotes of a wholly quoted value and the escapes of colons taken away, otherwise verbatim.
    soft: written as a comment (`#owner: ...`), which is how a dump shows what only a superuser may set. file: where
    it is from when that is not the file of its statement, as after an update from another.
    """

    name: str
    value: str
    line: int = 0
    soft: bool = False
    file: str = ""


@dataclass(slots=True, eq=False)
class Statement:
    """One subcommand with what belongs to it.

    action: insert, update, delete, override, rename or modify. kind: what it acts on (job, box, machine, ...).
    rest: words after the name on its line that are not attributes, such as the `delete` of `override_job: NAME delete`.
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
        """What the statement says whatever place it is read from: equal exactly when two statements mean the same."""
        said = tuple((each.name, each.value, each.soft) for each in self.attributes)
        return (self.action, self.kind, self.name, self.rest, said)

    def get(self, name: str) -> str | None:
        """The value of the last attribute of that name; None when there is none."""
        for attribute in reversed(self.attributes):
            if attribute.name == name:
                return attribute.value
        return None


@dataclass(frozen=True, slots=True)
class Jil:
    """What was read from one file: its statements in order, and what could not be taken or looks doubtful."""

    statements: tuple[Statement, ...]
    findings: tuple[Finding, ...]
