"""The plan of a scan: its contents and changes, for review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.autosys import Change, Finding
from headrace.autosys.rescan import SourceFile
from headrace.severity import Severity

MAX_STORED = 1000  # processes of one kind of change, and findings, of a scan


@dataclass(frozen=True, slots=True)
class Plan:
    """The contents of a scan, and the changes of storing it; jobs by name, other processes by key.

    instance: of the jobs; '' if the files contain none. known: the scanned processes of the kinds in these files.
    taken_over: those of `added` that were unscanned or adopted. returned: retired ones that reappeared. kept: missing
    ones that stay, since a statement that could not be parsed may be theirs. findings: of all files, the most severe
    first. doubts: warnings in descriptions and listings.
    """

    instance: str
    files: tuple[SourceFile, ...]
    processes: int
    known: int
    added: tuple[str, ...]
    taken_over: tuple[str, ...]
    returned: tuple[str, ...]
    changed: Mapping[str, tuple[Change, ...]]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    findings: tuple[Finding, ...]
    doubts: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings because of which something is lost."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return sum(each.severity is Severity.WARNING for each in self.findings)

    @property
    def retires_majority(self) -> bool:
        """True if more than half of the known processes are missing: the files may be incomplete."""
        return 2 * len(self.removed) > self.known

    @property
    def counts(self) -> Mapping[str, int]:
        """The figures that the catalog stores for a scan."""
        return {
            "processes": self.processes,
            "added": len(self.added),
            "taken_over": len(self.taken_over),
            "returned": len(self.returned),
            "changed": len(self.changed),
            "removed": len(self.removed),
            "kept": len(self.kept),
            "errors": len(self.errors),
            "warnings": self.warnings,
        }

    @property
    def changes(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the first MAX_STORED processes of each kind of change, which the catalog stores for a scan."""
        return {
            name: tuple(names)[:MAX_STORED]
            for name, names in (
                ("added", self.added),
                ("returned", self.returned),
                ("changed", self.changed),
                ("removed", self.removed),
                ("kept", self.kept),
            )
        }

    def facts(self) -> dict[str, object]:
        """Return what a scan changes, as JSON values."""
        return {
            "instance": self.instance,
            "files": [file._asdict() for file in self.files],
            "counts": self.counts,
            "added": self.added,
            "taken_over": self.taken_over,
            "returned": self.returned,
            "changed": self.changed,
            "removed": self.removed,
            "kept": self.kept,
            "errors": self.errors,
            "doubts": self.doubts,
            "warnings": self.warnings,
        }
