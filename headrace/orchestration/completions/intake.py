"""Ingest completion files: read, store the events, and only then move the files away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic

from sqlalchemy import Engine

from headrace.autosys.findings import Finding
from headrace.context import current_context
from headrace.database.locks import alone
from headrace.events.value_errors import VALUE_ERRORS
from headrace.job_reports.completions.names import DEFAULT_NAMES
from headrace.job_reports.completions.parsing import Completions, read_completions
from headrace.job_reports.ingestion import IngestionResult, ingest_each
from headrace.landed.measures import measured
from headrace.orchestration.completions.folder import ClaimedFile, Folder
from headrace.severity import Severity

MAX_BATCH_FILES = 1000
MAX_BATCH_BYTES = 16 * 1024**2
MAX_FILE_BYTES = 64 * 1024**2  # bytes of a file
PATIENCE_SECONDS = 30.0


Readings = Sequence[tuple[ClaimedFile, Completions]]
_UnderWay = tuple[Readings, "Future[tuple[IngestionResult, dict[str, str]]]"]


@dataclass(slots=True)
class IntakeResult:
    """Result of reading the folder.

    files: number of ingested files. problems: errors, one line each, with file, line and field. waiting: invalid files
    that may still be being written. more: files were left for lack of time. busy: another process is reading the
    folder.
    """

    files: int = 0
    ingested: IngestionResult = field(default_factory=IngestionResult)
    problems: list[str] = field(default_factory=list)
    waiting: int = 0
    more: bool = False
    busy: bool = False

    def __add__(self, later: IntakeResult) -> IntakeResult:
        """Combine two results, in order."""
        return IntakeResult(
            self.files + later.files,
            self.ingested + later.ingested,
            self.problems + later.problems,
            later.waiting,
            later.more,
            later.busy,
        )


def take_in(
    engine: Engine,
    folder: Folder,
    within: timedelta,
    *,
    patience: float = PATIENCE_SECONDS,
    batch_files: int = MAX_BATCH_FILES,
) -> IntakeResult:
    """Ingest the completion files in the folder, for at most `within`.

    A file is archived once its events are in the catalog, so a process that dies in between reads it again, without
    effect. An invalid file is quarantined with the reasons; its valid reports are ingested. One process at a time reads
    a folder. patience: seconds since its last change for which an invalid file may still be being written.
    """
    taken = IntakeResult()
    deadline = monotonic() + within.total_seconds()
    held: set[str] = set()  # files in progress, or left for the next call
    with alone(engine, f"completions in {folder.location}") as mine:
        if not mine:
            taken.busy = True
            return taken
        # While the database stores a batch, the next one is read.
        with ThreadPoolExecutor(1) as storing:
            before: _UnderWay | None = None
            for batch in _batches(folder, held, batch_files):
                readings = [(file, found) for file in batch if (found := _read(folder, file)) is not None]
                under_way = readings, storing.submit(_ingest, engine, readings)
                if before is not None:
                    _finish_files(folder, before, taken, held, patience)
                before = under_way
                if monotonic() >= deadline:
                    taken.more = True
                    break
            if before is not None:
                _finish_files(folder, before, taken, held, patience)
    return taken


def _finish_files(
    folder: Folder, under_way: _UnderWay, taken: IntakeResult, held: set[str], patience: float
) -> None:
    """Archive or quarantine the files of a batch after it was stored."""
    readings, stored = under_way
    ingested, refused = stored.result()
    taken.ingested += ingested
    for file, found in readings:
        problems = [str(error) for error in found.errors]
        problems += [f"{each.origin}: {refused[each.key]}" for each in found.events if each.key in refused]
        if problems and file.age < patience:
            taken.waiting += 1
            continue
        if problems and folder.quarantine(file, "\n".join(problems) + "\n"):
            taken.problems += problems
        elif not problems and folder.archive(file):
            taken.files += 1
        else:
            continue  # it was written to: the next call reads it again
        held.discard(file.place)


def _read(folder: Folder, file: ClaimedFile) -> Completions | None:
    """Parse the file; None if it was removed."""
    here = current_context().settings
    shown = f"{folder.location}/{file.name}".encode(errors="replace").decode()
    if file.byte_size > MAX_FILE_BYTES:
        return _unreadable(
            shown, f"has more than {MAX_FILE_BYTES:,} bytes; load it with `headrace legacy ingest`"
        )
    try:
        data = folder.read(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unreadable(shown, f"cannot be read: {error.strerror or error}")
    try:
        return read_completions(
            data,
            shown,
            name=file.name,
            at=file.modified,
            zone=here.completions_zone,
            patterns=(*here.completion_names, *DEFAULT_NAMES),
        )
    except VALUE_ERRORS as error:
        return _unreadable(shown, f"cannot be ingested: {type(error).__name__}: {error}")


def _unreadable(file: str, why: str) -> Completions:
    return Completions((), (Finding("completion/file", Severity.ERROR, why, file, 0),))


def _ingest(engine: Engine, readings: Readings) -> tuple[IngestionResult, dict[str, str]]:
    """Ingest the events of the files; returns, by key, why the database rejected one."""
    events = [event for _, found in readings for event in measured(engine, found.events)]
    result, refused = ingest_each(engine, events)
    return result, {event.key: why for event, why in refused}


def _batches(folder: Folder, held: set[str], batch_files: int) -> Iterator[list[ClaimedFile]]:
    """Yield batches of files to read, limited by their total size; they are `held` from then on."""
    files = folder.left()
    while True:
        batch: list[ClaimedFile] = []
        size = 0
        for file in files:
            if file.place in held:
                continue
            held.add(file.place)
            if batch and (size + file.byte_size > MAX_BATCH_BYTES or len(batch) == batch_files):
                yield batch
                batch, size = [], 0
            batch.append(file)
            size += file.byte_size
        if batch:
            yield batch
        files = folder.claim(batch_files + len(held))
        if all(file.place in held for file in files):
            return
