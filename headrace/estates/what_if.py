"""Read what-if files: lists of changes for a simulation."""

from __future__ import annotations

from pathlib import Path

from headrace.autosys.findings import Finding
from headrace.autosys.jil.text import decode
from headrace.estates.entries import line_of, lost, read_entries
from headrace.severity import Severity
from headrace.simulation.changes import Change, unknown_names
from headrace.simulation.playing import Scene


class InvalidWhatIf(ValueError):
    """A what-if file has errors; `findings` names each with file, line and field."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("\n".join(f"{each.file}:{each.line}: {_text(each)}" for each in findings))
        self.findings = findings


def read_changes(path: Path, scene: Scene) -> tuple[Change, ...]:
    """Return the changes in a file, in order. Raises InvalidWhatIf, also for names that the estate lacks; OSError."""
    text, findings = decode(path.read_bytes(), str(path))
    entries, wrong = read_entries(text, str(path), Change, "change")
    problems = [each for each in (*findings, *wrong) if each.severity is not Severity.INFO]
    for entry in entries:
        problems += [
            lost("unknown", message, str(path), line_of(entry.lines, field, entry.line), field=field)
            for field, message in unknown_names(entry.value, scene)
        ]
    if problems:
        raise InvalidWhatIf(sorted(problems, key=lambda each: each.line))
    return tuple(entry.value for entry in entries)


def _text(finding: Finding) -> str:
    return f"{finding.attribute}: {finding.message}" if finding.attribute else finding.message
