"""Convert process descriptions and DB2 listings to catalog records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from headrace.autosys import Finding
from headrace.catalog.records import Technology
from headrace.catalog.scans import Dependency, Place, ScannedProcess, Use
from headrace.estates.described.db2 import ListedProcedure
from headrace.estates.described.processes import DescribedProcess, Predecessor
from headrace.estates.entries import line_of
from headrace.estates.tools import Direction
from headrace.severity import Severity
from headrace.slas.calendars import Calendars, UnknownCalendar

_CERTAIN = 0.95  # stated by a person or by the database
Name = tuple[str, str, str]  # of a process: technology, instance and name


def described_processes(
    described: Iterable[DescribedProcess], listed: Iterable[ListedProcedure], instance: str
) -> Iterator[ScannedProcess]:
    """Yield the described processes, with their listed tables, and the procedures that are only listed.

    instance: the scheduler of jobs that they name without one.
    """
    listings: dict[str, ListedProcedure] = {}
    for each in listed:
        first = listings.setdefault(each.procedure, each)
        if first is not each:
            first.uses += each.uses
            first.calls += each.calls
    for one in described:
        listing = listings.pop(one.description.name, None) if one.technology is Technology.DB2_SP else None
        yield _with_listing(_described(one, instance), listing)
    for listing in listings.values():
        empty = ScannedProcess(
            Technology.DB2_SP, "", listing.procedure, Place(listing.file, listing.line, listing.line)
        )
        yield _with_listing(empty, listing)


def unknown_upstream(
    described: Iterable[DescribedProcess],
    instance: str,
    there: Collection[Name],
    look_up: Callable[[Collection[tuple[str, str]]], Collection[Name]],
) -> Iterator[Finding]:
    """Yield findings for unknown names in `after`.

    there: the processes of these files, and the known ones outside them. look_up: returns the known processes of these
    technologies and names, of any instance.
    """
    open_: list[tuple[DescribedProcess, Predecessor, Name]] = []
    for one in described:
        for each in one.after():
            if each.technology is None:
                what = (
                    f"{each.text!r} is not a name: write NAME, autosys/JOB, autosys/INSTANCE/JOB, shell/NAME"
                )
                yield _about(one, Severity.ERROR, what, "the process is kept without it")
            elif (name := _named(each, instance)) not in there:
                open_.append((one, each, name))
    known = look_up({(name[0], name[2]) for _, _, name in open_}) if open_ else ()
    for one, each, name in open_:
        if name not in known:
            what = f"{each.text} is neither in these files nor in the catalog"
            yield _about(one, Severity.WARNING, what, _meant(name, there, known))


def unknown_calendars(described: Iterable[DescribedProcess], known: Calendars) -> Iterator[Finding]:
    """Yield findings for calendars that are neither in a scan nor those of an exchange or country."""
    for one in described:
        for field, name in one.description.schedule.calendars() if one.description.schedule else ():
            try:
                known.named(name)
            except UnknownCalendar as error:
                hint = "until a scan has it, no start is expected"
                line = line_of(one.lines, field, one.line)
                yield Finding(
                    "entry/calendar",
                    Severity.WARNING,
                    str(error),
                    one.file,
                    line,
                    one.description.name,
                    field,
                    hint,
                )


def _about(one: DescribedProcess, severity: Severity, what: str, hint: str) -> Finding:
    line = one.lines.get("after", one.line)
    return Finding("entry/after", severity, what, one.file, line, one.description.name, "after", hint)


def _meant(name: Name, there: Collection[Name], known: Collection[Name]) -> str:
    elsewhere = sorted(other for other in {*there, *known} if other[2] == name[2])
    if not elsewhere:
        ends = name[2][:1] + name[2][-1:]  # seldom misspelt; estates have a hundred thousand names
        alike = {
            other[2]: other for other in there if other[0] == name[0] and other[2][:1] + other[2][-1:] == ends
        }
        elsewhere = [alike[near] for near in get_close_matches(name[2], sorted(alike), 3)]
    if not elsewhere:
        return "misspelt, or not scanned yet?"
    written = ["/".join(filter(None, (other[0].lower(), *other[1:]))) for other in elsewhere]
    return f"did you mean {' or '.join(written)}?"


def _named(after: Predecessor, instance: str) -> Name:
    own = instance if after.instance is None else after.instance
    return (str(after.technology), own, after.name)


def _described(one: DescribedProcess, instance: str) -> ScannedProcess:
    described = one.description
    schedule = described.schedule
    kept = {
        "machine": described.machine,
        "database": described.database,
        "application": described.application,
        "command": described.command,
        "schedule": "; ".join(filter(None, (schedule.words if schedule else None, described.schedule_note))),
        "starts": schedule.terms if schedule else None,
        "sla": described.sla.stored(schedule) if described.sla else None,
        "condition": ", ".join(described.after) or None,
    }
    uses = [
        Use(_table_or_path(one, text), direction.value, attribute, text, _CERTAIN,
            one.lines.get(attribute, one.line) - one.line)
        for attribute, direction, texts in (
            ("reads", Direction.READS, described.reads),
            ("writes", Direction.WRITES, described.writes),
        )
        for text in texts
    ]  # fmt: skip
    fields = dict(_flat(described.model_dump(mode="json", exclude_defaults=True)))
    return ScannedProcess(
        technology=one.technology,
        instance="",
        name=described.name,
        place=Place(one.file, one.line, one.line),
        description=described.description,
        owners=tuple(described.owners),
        attributes=tuple(
            (name, str(value))
            for name, given in fields.items()
            for value in (given if isinstance(given, list) else [given])
        ),
        metadata={**described.metadata, **{name: value for name, value in kept.items() if value}},
        waits_for=tuple(
            Dependency(each.technology, _named(each, instance)[1], each.name, "after", f"after {each.name}")
            for each in one.after()
            if each.technology is not None
        ),
        uses=tuple(uses),
    )


def _flat(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _table_or_path(one: DescribedProcess, text: str) -> str:
    is_table = one.technology is Technology.DB2_SP and "/" not in text
    return f"db2:{text}" if is_table else text


def _with_listing(one: ScannedProcess, listing: ListedProcedure | None) -> ScannedProcess:
    if listing is None:
        return one
    uses = tuple(
        Use(f"db2:{each.table}", each.direction.value, "access", f"{each.access} {each.table}", _CERTAIN)
        for each in listing.uses
    )
    attributes = tuple((each.direction.value, each.table) for each in listing.uses)
    calls = tuple(("calls", name) for name in listing.calls)
    metadata = {**one.metadata, **({"calls": listing.calls} if listing.calls else {})}
    return replace(
        one, uses=(*one.uses, *uses), attributes=(*one.attributes, *attributes, *calls), metadata=metadata
    )
