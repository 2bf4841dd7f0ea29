"""Completion files: whatever their form, the run events that they say, and what is wrong with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from catalog.run_events import RunEvent
from legacy.completion_forms import Entry, Form, entries, form_of
from legacy.completion_names import DEFAULT_NAMES, fields_of
from legacy.findings import Finding
from legacy.jil.text import decode
from legacy.reports import Place, event_of, wrong


@dataclass(frozen=True, slots=True)
class Completions:
    """What a file of completions says; errors: what could not be taken, by line and field."""

    events: tuple[RunEvent, ...] = ()
    errors: tuple[Finding, ...] = ()


def read_completions(
    data: bytes,
    file: str,
    *,
    name: str,
    at: datetime,
    zone: tzinfo = UTC,
    patterns: Sequence[str] = DEFAULT_NAMES,
) -> Completions:
    """The events in a completion file: JSON (a document, an array, JSON lines), key=value, CSV, or a bare flag.

    A report that is wrong is an error, and the others are read. What the name of the file says by `patterns` stands in
    for fields that its content lacks.

    Args:
        data: the file's bytes, in any encoding.
        file: its path, for messages.
        name: its name, for the patterns.
        at: its time, for reports that name none.
        zone: the zone of times that name none.
        patterns: see `completion_names.fields_of`.
    """
    text, _ = decode(data, file)
    named = fields_of(name, patterns)
    form = form_of(text)
    if form is Form.EMPTY:
        found = [Entry(1, {})] if named else [Entry(1, {}, _nothing(name))]
    elif form is None:
        found = [
            Entry(1, {}, "is neither JSON nor key=value nor CSV with a header that names status and process")
        ]
    else:
        found = list(entries(text, form))
    events: list[RunEvent] = []
    errors: list[Finding] = []
    for entry in found:
        place = Place(file, entry.line, at, zone)
        if entry.problem:
            errors.append(wrong(place, entry.problem))
            continue
        event, problems = event_of({**(named or {}), **entry.fields}, place)
        errors += problems
        if event is not None:
            events.append(event)
    return Completions(tuple(events), tuple(errors))


def _nothing(name: str) -> str:
    return f"is empty, and no pattern says what the name {name} means (setting completion_names)"
