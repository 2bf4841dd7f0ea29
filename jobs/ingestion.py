"""Loading what other systems wrote of their runs, completion files, logs and reports: once, or as they grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from pathlib import Path
from threading import Event

from pydantic import ValidationError
from sqlalchemy import Engine

from catalog.ingestion import Ingested, ingest
from catalog.run_events import RunEvent
from legacy.autorep import is_report, read_report
from legacy.completion_names import DEFAULT_NAMES
from legacy.completions import read_completions
from legacy.event_demon import DemonLog, LogPosition, read_kept
from legacy.findings import Finding
from settings import settings

EVENTS_AT_ONCE = 2000
_LOOKED_AT = 64 * 1024  # bytes by which a file is told
_DEMON = b"CAUAJM_I_"


@dataclass(slots=True)
class Loaded:
    """What loading came to. errors: what could not be taken, by file, line and field."""

    files: int = 0
    ingested: Ingested = field(default_factory=Ingested)
    errors: list[Finding] = field(default_factory=list)


def load(
    engine: Engine,
    files: Sequence[Path],
    *,
    zone: tzinfo = UTC,
    instance: str | None = None,
    historical: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Loaded:
    """Ingest files as they are, which stay where they are; loading one again changes nothing.

    What each file is shows its content. Logs of one scheduler are read as one, in the order of time. Reports of
    `autorep` are history in any case.

    Args:
        engine: the catalog.
        files: completion files, JSON lines, event demon logs, reports of `autorep`.
        zone: of times that name none: that of the Autosys server.
        instance: the scheduler that logs and reports are of; of a log, the name tells it otherwise.
        historical: start nothing and alarm nobody.
        tell: is called with the progress in words.

    Raises OSError for a file that cannot be read.
    """
    loaded = Loaded()
    reached: set[Path] = set()
    for file, events, errors in _read(files, zone, instance, historical):
        if file not in reached:
            reached.add(file)
            tell(f"ingesting {file}" + (f" ({len(reached)} of {len(files)})" if len(files) > 1 else ""))
        loaded.errors += errors
        for begin in range(0, len(events), EVENTS_AT_ONCE):
            loaded.ingested += ingest(engine, events[begin : begin + EVENTS_AT_ONCE])
    loaded.files = len(files)
    return loaded


def follow(
    engine: Engine,
    log: Path,
    *,
    zone: tzinfo = UTC,
    instance: str | None = None,
    stop: Event,
    seconds: float = 1.0,
    tell: Callable[[Loaded], None] = lambda _: None,
) -> None:
    """Ingest an event demon's log as it grows, across its rotation, until `stop`.

    Where it stopped is kept in the state folder, after the events are in the catalog, so that the next call goes on
    there. `tell` is called with what each piece came to. Raises OSError for a log that cannot be read.
    """
    place = position_of(log)
    place.parent.mkdir(parents=True, exist_ok=True)
    reader = DemonLog(log, zone, _kept(place), instance=instance)
    while True:
        for piece in reader.read():
            loaded = Loaded(1, errors=piece.errors)
            for begin in range(0, len(piece.events), EVENTS_AT_ONCE):
                loaded.ingested += ingest(engine, piece.events[begin : begin + EVENTS_AT_ONCE])
            hidden = place.with_suffix(".new")
            hidden.write_text(reader.position.model_dump_json(), encoding="utf-8")
            hidden.replace(place)
            tell(loaded)
        if stop.wait(seconds):
            return


def position_of(log: Path) -> Path:
    """The file in the state folder that says how far a log was read."""
    digest = sha256(str(log.resolve()).encode()).hexdigest()[:16]
    return settings().home.resolve() / "followed" / f"{log.name}-{digest}.json"


def _kept(place: Path) -> LogPosition | None:
    try:
        return LogPosition.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        return None  # of another version: the log is read from its beginning, which changes nothing


def _read(
    files: Sequence[Path], zone: tzinfo, instance: str | None, historical: bool
) -> Iterator[tuple[Path, Sequence[RunEvent], Sequence[Finding]]]:
    """Each file with what it says; the logs last, for those of one scheduler are one."""
    logs = []
    for file in files:
        with file.open("rb") as opened:
            beginning = opened.read(_LOOKED_AT)
        if _DEMON in beginning:
            logs.append(file)
        elif is_report(beginning.decode("utf-8", errors="replace")):
            report = read_report(file.read_bytes(), str(file), zone=zone, instance=instance or "")
            yield file, report.events, report.errors
        else:
            found = read_completions(
                file.read_bytes(),
                str(file),
                name=file.name,
                at=datetime.fromtimestamp(file.stat().st_mtime, UTC),
                zone=zone,
                patterns=(*settings().completion_names, *DEFAULT_NAMES),
            )
            yield file, [replace(event, historical=historical) for event in found.events], found.errors
    for file, piece in read_kept(logs, zone, instance=instance, historical=historical):
        yield file, piece.events, piece.errors
