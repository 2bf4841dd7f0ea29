"""Parse completion files of any format into run events and a list of errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from headrace.autosys.findings import Finding
from headrace.autosys.jil.text import decode
from headrace.catalog.run_events import RunEvent
from headrace.job_reports.completions.formats import Entry, Form, entries, form_of
from headrace.job_reports.completions.names import DEFAULT_NAMES, fields_of
from headrace.job_reports.completions.reports import FIELDS, Place, event_of, wrong

MAX_TEXT_LENGTH = 10_000  # maximum characters of a flag file's text
_BEGINS_JSON = re.compile(r"""\s*(\{\s*(["}]|\Z)|\[\s*([][{]|\Z))""")


@dataclass(frozen=True, slots=True)
class Completions:
    """The contents of a completion file; errors: invalid reports, by line and field."""

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
    """Parse the events in a completion file: JSON (a document, an array, JSON lines), key=value, CSV, or a flag file.

    An invalid report is an error, and the others are parsed. Fields in the file's name, by `patterns`, are used if the
    content lacks them; such a file may contain any text instead, which is kept as `text`.

    Args:
        data: the file's bytes, in any encoding.
        file: its path, for messages.
        name: its name, for the patterns.
        at: its modification time, for reports without a time.
        zone: the zone of times without one.
        patterns: see `completion_names.fields_of`.
    """
    text, _ = decode(data, file)
    named = fields_of(name, patterns)
    found = _entries(text, named is not None, name)
    events: list[RunEvent] = []
    errors: list[Finding] = []
    for entry in found:
        place = Place(file, entry.line, at, zone, entry.element)
        if entry.problem:
            errors.append(wrong(place, entry.problem))
            continue
        event, problems = event_of({**(named or {}), **entry.fields}, place)
        errors += problems
        if event is not None:
            events.append(event)
    return Completions(tuple(events), tuple(errors))


def _entries(text: str, is_flag: bool, name: str) -> list[Entry]:
    """Return the reports in a text. is_flag: the name of the file has the required fields."""
    form = form_of(text)
    if form is Form.EMPTY:
        nothing = f"is empty, and no pattern matches the name {name} (setting completion_names)"
        return [Entry(1, {}, None if is_flag else nothing)]
    found = list(entries(text, form)) if form else []
    if is_flag and _is_prose(text, form, found):
        return [Entry(1, {"text": text.strip()[:MAX_TEXT_LENGTH]})]
    if form is None:
        return [
            Entry(1, {}, "is neither JSON nor key=value nor CSV with a header that names status and process")
        ]
    return found


def _is_prose(text: str, form: Form | None, found: Sequence[Entry]) -> bool:
    """Return True for free text, which may resemble a format: `[04:15] begins` is not valid JSON, `Lines: 842` not
    part of a report."""
    if form is Form.JSON:
        return not _BEGINS_JSON.match(text)
    return form is not Form.CSV and not any(entry.fields.keys() & FIELDS for entry in found)
