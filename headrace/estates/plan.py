"""The plan of a scan: what was found and what storing it would change, for review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.autosys import Change, Finding
from headrace.autosys.rescan import SourceFile


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan finds, and what storing it would change; jobs by name, other processes by key.

    instance: of the jobs; '' where there are none in the files. known: the processes that scans have found before, of
    what these files describe. taken_over: those of `added` that were heard of before. returned: retired ones that are
    there again. kept: those that are not there and stay, since what could not be read may be theirs. errors: what was
    lost, doubts: what is doubtful of descriptions and listings, each by file and line. warnings: of all files.
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
        """Whether more than half of what was known is not there: the files may be incomplete."""
        return 2 * len(self.removed) > self.known

    @property
    def counts(self) -> Mapping[str, int]:
        """The figures that the catalog keeps of a scan."""
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
