"""Store a scan in one transaction: processes, dependencies, and the files they seem to use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from psycopg import Cursor
from psycopg.rows import tuple_row
from sqlalchemy import Engine

from headrace.access.redacted_json import jsonb_without_secrets
from headrace.catalog.locks import lock_registrations
from headrace.catalog.organisations import create_organisation
from headrace.catalog.records import Technology
from headrace.catalog.scans import EstateText, KnownProcess, Place, ScannedProcess
from headrace.context import current_context
from headrace.database.connection import transaction
from headrace.database.jsonb import encoded, jsonb
from headrace.errors import ScanRefused
from headrace.estates.sql import statement
from headrace.registration.declarations import link

_MAX_BLOCK_TEXTS = 500  # texts
_NEWEST = """
SELECT scan_id FROM catalog.estate_scan WHERE organisation_id = %s ORDER BY scanned_at DESC, scan_id LIMIT 1
"""
_SCAN = """
INSERT INTO catalog.estate_scan (organisation_id, instance, scanned_by, files, counts, changes, findings)
VALUES (%s, %s, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True, slots=True)
class StoredEstate:
    """The processes in the catalog, and the newest scan of any instance at that time."""

    processes: tuple[KnownProcess, ...]
    newest_scan: UUID | None


@dataclass(frozen=True, slots=True)
class Scan:
    """The parts of a scan to store.

    since: the newest scan when the catalog was read. written: processes that are new, changed or back. placed: new
    places of others. moved: by how many lines the texts of a block have moved. retired: processes, by technology and
    name, that the files no longer have. objects: other objects. calendars: the days of each parsed calendar. files,
    counts, changes, findings: for the scan's row.
    """

    instance: str
    by: str
    since: UUID | None
    files: Sequence[Mapping[str, Any]] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    findings: Sequence[Mapping[str, Any]] = ()
    written: Sequence[ScannedProcess] = ()
    placed: Sequence[tuple[Technology, str, Place]] = ()
    moved: Mapping[int, int] = field(default_factory=dict)
    retired: Sequence[tuple[str, str]] = ()
    objects: Sequence[EstateText] = ()
    calendars: Mapping[str, Sequence[date]] = field(default_factory=dict)


def known(engine: Engine, instance: str) -> StoredEstate:
    """Return the jobs of one Autosys instance, and the processes of systems without instances."""
    with transaction(engine) as cursor:
        newest = cursor.execute(_NEWEST, [current_context().organisation_id]).fetchone()
        rows = statement("estate_known").execute(
            cursor, {"organisation": current_context().organisation_id, "instance": instance}
        )
        rows.row_factory = tuple_row  # type: ignore[assignment]
        return StoredEstate(
            tuple(KnownProcess._make(row) for row in rows.fetchall()),
            newest["scan_id"] if newest else None,
        )


def differing(
    engine: Engine, instance: str, processes: Sequence[ScannedProcess]
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return those of the processes that are stored differently, by technology and name, with the stored attributes."""
    parameters = {
        "organisation": current_context().organisation_id,
        "instance": instance,
        "technologies": [one.technology.value for one in processes],
        "names": [one.name for one in processes],
        "hashes": [one.digest() for one in processes],
    }
    with transaction(engine) as cursor:
        return {
            (row["technology"], row["external_name"]): [
                (name, value) for name, value in row["attributes"] or ()
            ]
            for row in statement("estate_differing").execute(cursor, parameters)
        }


def sources(engine: Engine, instance: str) -> list[EstateText]:
    """Return the current sources from scans of one Autosys instance, by file and line."""
    parameters = {"organisation": current_context().organisation_id, "instance": instance}
    with transaction(engine) as cursor:
        return [EstateText(**row) for row in statement("estate_sources").execute(cursor, parameters)]


def named(engine: Engine, names: Iterable[tuple[str, str]]) -> set[tuple[str, str, str]]:
    """Return the active processes with these technologies and names, of any instance."""
    technologies, external = (list(each) for each in zip(*names, strict=True))
    parameters = {
        "organisation": current_context().organisation_id,
        "technologies": technologies,
        "names": external,
    }
    with transaction(engine) as cursor:
        rows = statement("estate_named").execute(cursor, parameters).fetchall()
    return {(row["technology"], row["instance"], row["external_name"]) for row in rows}


def store(engine: Engine, scan: Scan) -> None:
    """Store a scan, in one transaction; no process is deleted, and no id changes.

    Raises ScanRefused if another scan was stored since the catalog was read.
    """
    parameters = {"organisation": current_context().organisation_id}
    with transaction(engine) as cursor:
        create_organisation(cursor)
        lock_registrations(cursor)
        newest = cursor.execute(_NEWEST, [current_context().organisation_id]).fetchone()
        if (newest["scan_id"] if newest else None) != scan.since:
            raise ScanRefused("another scan was stored at the same time; run this one again")
        cursor.execute(
            _SCAN,
            [
                current_context().organisation_id,
                scan.instance,
                scan.by,
                jsonb(scan.files),
                jsonb(scan.counts),
                jsonb(scan.changes),
                jsonb_without_secrets(list(scan.findings)),
            ],
        )
        if scan.objects:
            objects = jsonb([each._asdict() for each in scan.objects])
            of = {**parameters, "instance": scan.instance, "objects": objects}
            statement("estate_objects").execute(cursor, of)
        if scan.moved:
            moves = {"blocks": list(scan.moved), "bys": list(scan.moved.values())}
            statement("estate_moves").execute(cursor, moves)
        _copy(cursor, scan)
        if scan.written:
            statement("estate_processes").execute(cursor, parameters)
            statement("estate_dependencies").execute(cursor, parameters)
            for part in ("estate_candidates", "estate_old_evidence", "estate_evidence"):
                statement(part).execute(cursor, parameters)
        if scan.written or scan.placed:
            statement("estate_texts").execute(cursor, parameters)
            statement("estate_unused_blocks").execute(cursor, parameters)
        if scan.retired:
            technologies, names = zip(*scan.retired, strict=True)
            gone = {"technologies": list(technologies), "names": list(names), "instance": scan.instance}
            statement("estate_retire").execute(cursor, {**parameters, **gone})
        if scan.written or scan.retired:
            link(cursor)
            statement("sla_scanned").execute(cursor, parameters)
        if scan.calendars:
            days = jsonb([{"name": name, "days": days} for name, days in scan.calendars.items()])
            of = {**parameters, "instance": scan.instance, "calendars": days}
            statement("sla_calendars").execute(cursor, of)


def _copy(cursor: Cursor[Any], scan: Scan) -> None:
    """Copy the scan into temporary tables of this transaction."""
    for command in statement("estate_temporary").text.split(b";"):
        cursor.execute(command)
    _fill(cursor, "scanned_process", map(_process, scan.written))
    _fill(cursor, "scanned_text", _texts(scan))
    _fill(cursor, "scanned_dependency", _each(scan.written, _dependencies))
    _fill(cursor, "scanned_evidence", _each(scan.written, _evidence))


def _fill(cursor: Cursor[Any], table: str, rows: Iterable[Sequence[object]]) -> None:
    with cursor.copy(f"COPY pg_temp.{table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row([_storable(value) if isinstance(value, str) else value for value in row])


def _storable(text: str) -> str:
    """Replace NUL characters, which PostgreSQL's text cannot store."""
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def _process(one: ScannedProcess) -> Sequence[object]:
    metadata = encoded({**one.metadata, "attributes": one.attributes}).decode()
    owners = [_storable(owner) for owner in one.owners]
    return (
        one.technology.value, one.instance, one.name, *map(_storable, one.key), one.description, owners, one.source,
        metadata, one.digest(),
    )  # fmt: skip


def _texts(scan: Scan) -> Iterator[Sequence[object]]:
    """Yield the places of processes with their new block numbers: consecutive ones share a block."""
    instances = dict.fromkeys(Technology, "") | {Technology.AUTOSYS: scan.instance}
    texts = [(one.technology, one.name, one.place) for one in scan.written] + list(scan.placed)
    texts.sort(key=lambda text: (text[2].file, text[2].block or 0, text[2].text_line))
    together: tuple[str, int | None] | None = None
    block = size = 0
    for technology, name, place in texts:
        size += 1
        if together != (place.file, place.block) or size > _MAX_BLOCK_TEXTS:
            together, size = (place.file, place.block), 1
            block += 1
        lost = encoded(place.lost).decode() if place.lost else None
        yield (
            technology.value, instances[technology], name, place.file, place.line, place.text_line, place.digest, lost,
            block,
        )  # fmt: skip


def _each(
    processes: Iterable[ScannedProcess], rows_of: Callable[[ScannedProcess], Iterable[Sequence[object]]]
) -> Iterator[Sequence[object]]:
    for one in processes:
        for row in rows_of(one):
            yield one.technology.value, one.instance, one.name, *row


def _dependencies(one: ScannedProcess) -> Iterator[Sequence[object]]:
    for each in one.waits_for:
        yield each.technology.value, each.instance, each.name, each.attribute, each.condition, each.orders


def _evidence(one: ScannedProcess) -> Iterator[Sequence[object]]:
    best: dict[tuple[str, str], tuple[object, ...]] = {}
    for use in sorted(one.uses, key=lambda each: each.confidence):
        pattern = _storable(use.pattern)
        best[pattern, use.direction] = (use.confidence, use.attribute, use.excerpt, use.line)
    for (pattern, direction), rest in best.items():
        yield pattern, direction, *rest
