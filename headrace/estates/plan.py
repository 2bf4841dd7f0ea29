"""The plan of a scan: its contents and changes, for review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.autosys import Change, Finding
from headrace.autosys.rescan import SourceFile


@dataclass(frozen=True, slots=True)
class Plan:
    """The contents of a scan, and the changes of storing it; jobs by name, other processes by key.

    instance: of the jobs; '' if the files contain none. known: the scanned processes of the kinds in these files.
    taken_over: those of `added` that were unscanned or adopted. returned: retired ones that reappeared. kept: missing
    ones that stay, since a statement that could not be parsed may be theirs. errors, doubts: findings in descriptions
    and listings, by file and line. warnings: of all files.
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
    errors: tuple[Finding, ...]
    doubts: tuple[Finding, ...]
    warnings: int

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
