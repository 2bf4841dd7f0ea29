"""Convert jobs from JIL to catalog records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from headrace.autosys import Finding, Job, start_in_words
from headrace.autosys.conditions import unparse
from headrace.autosys.diff import spelled
from headrace.autosys.jil import Statement, UnwritableError, write
from headrace.autosys.objectives import sla_of
from headrace.autosys.rescan import Piece, Reading
from headrace.catalog.records import Technology
from headrace.catalog.scans import Dependency, EstateText, Place, ScannedProcess, Use
from headrace.context import current_context
from headrace.estates.confidence import MIN_CONFIDENCE
from headrace.estates.dataset_candidates import candidates_of
from headrace.severity import Severity

_METADATA_ATTRIBUTES = (
    "application",
    "group",
    "machine",
    "command",
    "watch_file",
    "run_calendar",
    "timezone",
)


def scanned_jobs(reading: Reading, instance: str) -> Iterator[ScannedProcess]:
    """Yield the jobs of an estate."""
    lost = _lost_by_job(reading)
    for name, job in reading.estate.jobs.items():
        piece = reading.pieces.get(name)
        waits_for = tuple(
            Dependency(
                Technology.AUTOSYS,
                edge.atom.instance or instance,
                edge.atom.job,
                edge.attribute,
                edge.text,
                edge.orders,
            )
            for edge in reading.estate.waits_for.get(name, ())
        )
        yield ScannedProcess(
            technology=Technology.AUTOSYS,
            instance=instance,
            name=name,
            place=Place(
                job.file,
                job.line,
                piece.line if piece else job.line,
                piece.digest if piece else None,
                lost.get(name, ()),
            ),
            box=job.box,
            description=job.values.get("description") or None,
            owners=(job.owner,) if job.owner else (),
            attributes=tuple(spelled(job)),
            metadata=_metadata(job, instance),
            source=_source(job, piece),
            waits_for=waits_for,
            uses=tuple(_uses(job)),
        )


def scanned_objects(reading: Reading) -> Iterator[EstateText]:
    """Yield the objects of an estate other than jobs."""
    for things in reading.estate.things.values():
        for thing in things.values():
            statement = Statement(
                "insert", thing.kind, thing.name, list(thing.attributes), thing.file, thing.line
            )
            yield EstateText(thing.kind, thing.name, thing.file, thing.line, _written([statement]))
    calendars = reading.estate.calendars
    for kind, found in (("calendar", calendars.calendars), ("cycle", calendars.cycles)):
        for name, each in found.items():
            yield EstateText(kind, name, each.file, each.line, reading.calendars[each.file, each.line])


def _metadata(job: Job, instance: str) -> Mapping[str, Any]:
    condition = job.condition
    found = {
        "type": job.type,
        "box": job.box,
        **{name: job.values.get(name) for name in _METADATA_ATTRIBUTES},
        "schedule": start_in_words(job),
        "triggers": list(job.triggers),
        "condition": unparse(condition) if condition is not None else job.values.get("condition"),
        "sla": sla_of(job.schedule, instance, current_context().settings.completions_zone.key),
    }
    return {name: value for name, value in found.items() if value}


def _source(job: Job, piece: Piece | None) -> str:
    """Return the text of the job: as in the file, or regenerated if several statements define it."""
    if piece is not None and piece.text:
        return _without_comments_below(piece.text)
    statements = [Statement("insert", "job", job.name, list(job.attributes), job.file, job.line)]
    if job.overrides:
        statements.append(Statement("override", "job", job.name, list(job.overrides), job.file, job.line))
    return _written(statements)


def _written(statements: Sequence[Statement]) -> str:
    try:
        return write(statements)
    except UnwritableError:
        return "\n".join(f"{each.name}: {each.value}" for one in statements for each in one.attributes)


def _without_comments_below(text: str) -> str:
    """Cut comments after the last attribute: in dumps, they are the title of the next job."""
    lines = text.split("\n")
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("/*")):
        lines.pop()
    return "\n".join(lines) + "\n"


def _uses(job: Job) -> Iterator[Use]:
    for pattern, each in candidates_of(job, at_least=MIN_CONFIDENCE):
        line = each.line - job.line if each.file == job.file else 0
        yield Use(pattern, each.direction.value, each.attribute, each.text, each.confidence, line)


def _lost_by_job(reading: Reading) -> Mapping[str, list[Mapping[str, Any]]]:
    """Return the findings within the text of each job defined by one text, for scans that do not parse that text
    again."""
    starts: dict[str, list[tuple[int, str]]] = {}
    for name, piece in reading.pieces.items():
        if piece.digest is not None:
            starts.setdefault(piece.file, []).append((piece.line, name))
    for places in starts.values():
        places.sort()
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in reading.estate.findings:
        places = starts.get(finding.file, [])
        number = bisect_right(places, finding.line, key=itemgetter(0)) - 1
        if finding.severity is Severity.INFO or number < 0:
            continue
        first, name = places[number]
        if finding.line < first + len(reading.pieces[name].text.splitlines()):
            found.setdefault(name, []).append(finding_to_json(finding, first))
    return found


def finding_to_json(finding: Finding, first: int) -> Mapping[str, Any]:
    """Encode a finding, with its line relative to `first`; its file is that of its job."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "line": finding.line - first,
        "subject": finding.subject,
        "attribute": finding.attribute,
        "hint": finding.hint,
    }


def finding_from_json(kept: Mapping[str, Any], file: str, first: int) -> Finding:
    """Decode a stored finding, at the current position of its text."""
    return Finding(
        kept["rule"], Severity(kept["severity"]), kept["message"], file, kept["line"] + first, kept["subject"],
        kept["attribute"], kept["hint"],
    )  # fmt: skip
