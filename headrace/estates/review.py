"""Review files: candidate datasets as an editable list, with the evidence as comments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headrace.autosys import Finding
from headrace.estates.candidates import CandidateRow, Decision, Status
from headrace.estates.dataset_candidates import Candidate, Evidence
from headrace.estates.entries import lost, read_entries
from headrace.estates.tools import Direction

_HEAD = """\
# Files and tables that processes seem to use. They become datasets once they are confirmed here:
#   decision: confirm   with `dataset: domain/name`, optionally `owner` and `format`, and `written_by: JOB` or
#                       `read_by: JOB` if the evidence does not show what a job does with it
#   decision: reject    not a dataset
#   decision: pending   decide later
# Give the file back with `headrace legacy review --apply FILE`.
"""
_MAX_EVIDENCE = 5  # pieces of evidence
_FORMATS = {"csv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "orc": "orc", "avro": "avro",
            "xml": "xml", "xlsx": "xlsx"}  # fmt: skip


def _nothing(value: object) -> object:
    return None if value == "" else value


def _one_or_several(value: object) -> object:
    if value in (None, ""):
        return []
    return [value] if isinstance(value, str) else value


Key = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*/[A-Za-z_]\w*$")]


Texts = Annotated[list[str], BeforeValidator(_one_or_several)]


class Entry(BaseModel):
    """One candidate in a review file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str
    instance: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    decision: Literal["pending", "confirm", "reject"] = "pending"
    dataset: Annotated[Key | None, BeforeValidator(_nothing)] = None
    owner: Texts = []
    format: Annotated[str | None, BeforeValidator(_nothing)] = None
    written_by: Texts = []
    read_by: Texts = []

    @model_validator(mode="after")
    def _complete(self) -> Entry:
        if self.decision == "confirm" and self.dataset is None:
            raise ValueError("a confirmed candidate needs a `dataset: domain/name`")
        return self


def confidence(row: CandidateRow) -> float:
    """Return the confidence that it is a dataset, from 0 to 1."""
    evidence = tuple(
        Evidence(each.name, Direction(each.direction), each.attribute, "", 0, each.excerpt, each.confidence)
        for each in row.evidence
    )
    return Candidate(row.pattern, evidence).confidence if evidence else 0.0


def by_confidence(rows: Sequence[CandidateRow]) -> list[CandidateRow]:
    """Return the rows sorted by descending confidence."""
    return sorted(rows, key=lambda row: (-confidence(row), row.instance, row.pattern))


def format_of(pattern: str) -> str:
    """Return the format suggested by a pattern's extension."""
    if pattern.startswith("db2:"):
        return "db2"
    return _FORMATS.get(pattern.rpartition(".")[2].lower(), "file")


def exported(rows: Sequence[CandidateRow]) -> str:
    """Return the text of a review file."""
    return _HEAD + "".join("\n" + "\n".join(_lines(row)) + "\n" for row in by_confidence(rows))


def read_review(text: str, file: str) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """Parse the decisions of a review file; returns them and findings, by line and field."""
    entries, findings = read_entries(text, file, Entry, "pattern")
    found: dict[tuple[str, str], Decision] = {}
    for entry in entries:
        one = entry.value
        key = (one.instance, one.pattern)
        if key in found:
            findings.append(
                lost(
                    "duplicate",
                    "decided before in this file; the first counts",
                    file,
                    entry.line,
                    one.pattern,
                )
            )
            continue
        status = {"confirm": Status.CONFIRMED, "reject": Status.REJECTED}.get(one.decision, Status.PENDING)
        found[key] = Decision(
            pattern=one.pattern,
            status=status,
            instance=one.instance,
            dataset=one.dataset if status is Status.CONFIRMED else None,
            format=one.format or format_of(one.pattern),
            owners=tuple(one.owner),
            written_by=tuple(one.written_by) if status is Status.CONFIRMED else (),
            read_by=tuple(one.read_by) if status is Status.CONFIRMED else (),
            line=entry.line,
        )
    return tuple(found.values()), tuple(findings)


def _lines(row: CandidateRow) -> Iterator[str]:
    yield f"- pattern: {json.dumps(row.pattern)}"
    if row.instance:
        yield f"  instance: {json.dumps(row.instance)}"
    yield f"  # confidence {confidence(row):.2f}"
    for each in row.evidence[:_MAX_EVIDENCE]:
        at = f" ({each.place})" if each.place else ""
        yield " ".join(f"  # {each.direction} {each.name}{at}, {each.attribute}: {each.excerpt}".split("\n"))
    if len(row.evidence) > _MAX_EVIDENCE:
        yield f"  # and {len(row.evidence) - _MAX_EVIDENCE} more"
    decision = {Status.CONFIRMED: "confirm", Status.REJECTED: "reject"}.get(row.status, "pending")
    yield f"  decision: {decision}"
    yield f"  dataset: {row.dataset or ''}".rstrip()
    yield "  owner:"
    yield f"  format: {format_of(row.pattern)}"
