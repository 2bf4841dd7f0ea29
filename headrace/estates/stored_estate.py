"""Rebuild an estate from the source text that its scans stored in the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from sqlalchemy import Engine

from headrace import garbage_collection
from headrace.autosys import Estate, read_calendars, resolve
from headrace.autosys.calendars import merged
from headrace.autosys.jil import Jil
from headrace.autosys.jil.scanner import scan
from headrace.autosys.rescan import shifted
from headrace.catalog.scans import EstateText
from headrace.estates.storage import sources

_OF_CALENDARS = ("calendar", "cycle")


def stored_estate(engine: Engine, instance: str) -> Estate:
    """Return the estate of one Autosys instance from its scans, without unscanned jobs."""
    texts = sources(engine, instance)
    with garbage_collection.paused():
        jils = [_jil(each) for each in texts if each.kind not in _OF_CALENDARS]
        exports = groupby((each for each in texts if each.kind in _OF_CALENDARS), lambda each: each.file)
        calendars = merged(read_calendars(_together(found), file) for file, found in exports)
        return resolve(jils, replace(calendars, findings=()))


def _jil(text: EstateText) -> Jil:
    read = replace(scan(text.source, text.file), findings=())  # reported by the scan
    return shifted(read, text.line - read.statements[0].line) if read.statements else read


def _together(texts: Iterable[EstateText]) -> str:
    """Combine the records of one export, each on its line: the date order is detected from all of them."""
    lines: list[str] = []
    for text in texts:
        lines += [""] * (text.line - 1 - len(lines))
        lines += text.source.removesuffix("\n").split("\n")
    return "\n".join(lines)
