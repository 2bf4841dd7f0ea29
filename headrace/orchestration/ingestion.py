"""Load run events from completion files, logs and reports: once, or continuously."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from pathlib import Path
from threading import Event

from pydantic import ValidationError
from sqlalchemy import Engine

from headrace.autosys.findings import Finding
from headrace.catalog.records import RunState, Technology
from headrace.catalog.run_events import RunEvent
from headrace.context import current_context
from headrace.events.running import under_way
from headrace.job_reports.completions.names import DEFAULT_NAMES
from headrace.job_reports.completions.parsing import read_completions
from headrace.job_reports.ingestion import IngestionResult, ingest_each
from headrace.job_reports.logs.archived_runs import is_list_of_jobs, listed_jobs, read_archived, scheduler_of
from headrace.job_reports.logs.autorep import is_report, read_report
from headrace.job_reports.logs.demon_files import instance_of
from headrace.job_reports.logs.demon_runs import JobState
from headrace.job_reports.logs.event_demon import Begun, DemonLog, LogPosition, first_state, read_kept
from headrace.orchestration.event_sources import EventSource
from headrace.severity import Severity

_FINGERPRINT_BYTES = 64 * 1024  # bytes that identify a file
_DEMON = b"CAUAJM_I_"


@dataclass(slots=True)
class LoadResult:
    """Result of loading. errors: invalid reports, by file, line and field."""

    files: int = 0
    ingested: IngestionResult = field(default_factory=IngestionResult)
    errors: list[Finding] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """Return the result as JSON values."""
        return {
            "files": self.files,
            "new": self.ingested.new,
            "repeated": self.ingested.repeated,
            "runs": self.ingested.runs,
            "versions": self.ingested.versions,
            "unscanned": self.ingested.unscanned,
            "assumed": self.ingested.assumed,
            "drafts": self.ingested.drafts,
            "computed_here": self.ingested.computed_here,
            "not_measured": self.ingested.not_measured,
            "errors": self.errors,
        }


def load(
    engine: Engine,
    files: Sequence[Path],
    *,
    zone: tzinfo = UTC,
    instance: str | None = None,
    historical: bool = False,
    source: EventSource | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
    measured: Callable[[Engine, Sequence[RunEvent]], Sequence[RunEvent]] = lambda _, events: events,
) -> LoadResult:
    """Ingest files without moving them; loading a file again changes nothing.

    The format is detected from the content. Logs of one scheduler are read as one, ordered by time, and continue runs
    that the catalog has as running at their start. Reports of `autorep` and archived runs always count as history.

    Args:
        engine: the catalog.
        files: completion files, JSON lines, event demon logs, reports of `autorep`, archived runs and the job lists
            or logs that name their jobs.
        zone: of times without one: that of the Autosys server.
        instance: the scheduler of logs and reports; by default from a log's name.
        historical: trigger no runs and no alerts.
        source: parses every file, instead of the detected format.
        on_progress: called with the progress in words.
        measured: measures the outputs that request it.

    Raises OSError for a file that cannot be read.
    """
    loaded = LoadResult()
    reached: set[Path] = set()
    found = (
        _read(engine, files, zone, instance, historical)
        if source is None
        else _read_from(source, files, zone, historical)
    )
    for file, events, errors in found:
        if file not in reached:
            reached.add(file)
            on_progress(
                f"ingesting {file}" + (f" ({len(reached)} of {len(files)})" if len(files) > 1 else "")
            )
        loaded.errors += errors
        _ingest(engine, measured(engine, events), loaded)
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
    on_progress: Callable[[LoadResult], None] = lambda _: None,
) -> None:
    """Ingest an event demon's log as it grows, across its rotation, until `stop`.

    The position is stored in the state folder, after the events are in the catalog, so that the next call resumes
    there. `on_progress` is called with the result of each piece. Raises OSError for a log that cannot be read.
    """
    place = position_of(log)
    place.parent.mkdir(parents=True, exist_ok=True)
    position = _kept(place)
    if position is None:
        own = instance_of(log.name) if instance is None else instance
        position = LogPosition(runs=first_state(log, zone, own, _begun(engine)))
    reader = DemonLog(log, zone, position, instance=instance)
    while True:
        for piece in reader.read():
            loaded = LoadResult(1, errors=piece.errors)
            _ingest(engine, piece.events, loaded)
            hidden = place.with_suffix(".new")
            hidden.write_text(reader.position.model_dump_json(), encoding="utf-8")
            hidden.replace(place)
            on_progress(loaded)
        if stop.wait(seconds):
            return


def position_of(log: Path) -> Path:
    """Return the file in the state folder with the position in a log."""
    digest = sha256(str(log.resolve()).encode()).hexdigest()[:16]
    return current_context().settings.home.resolve() / "followed" / f"{log.name}-{digest}.json"


def _ingest(engine: Engine, events: Sequence[RunEvent], loaded: LoadResult) -> None:
    result, refused = ingest_each(engine, events)
    loaded.ingested += result
    for event, why in refused:
        file, _, line = str(event.origin).rpartition(":")
        loaded.errors.append(
            Finding("event/value", Severity.ERROR, why, file, int(line), event.process or None)
        )


def _kept(place: Path) -> LogPosition | None:
    try:
        return LogPosition.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        return None  # of another version: the log is read from its start, which changes nothing


def _begun(engine: Engine) -> Begun:
    """Return the running attempts in the catalog, so that a log continues those of an earlier one."""
    return lambda instance, at: {
        each.process: JobState(
            run=each.run,
            attempt=each.attempt,
            began=each.began,
            machine=each.machine,
            running=each.state not in (RunState.QUEUED, RunState.HELD),
        )
        for each in under_way(engine, Technology.AUTOSYS, instance, at)
    }


def _read_from(
    source: EventSource, files: Sequence[Path], zone: tzinfo, historical: bool
) -> Iterator[tuple[Path, Sequence[RunEvent], Sequence[Finding]]]:
    for file in files:
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        found = source.read(file.read_bytes(), str(file), at=at, zone=zone)
        yield file, [replace(event, historical=historical) for event in found.events], found.errors


def _read(
    engine: Engine, files: Sequence[Path], zone: tzinfo, instance: str | None, historical: bool
) -> Iterator[tuple[Path, Sequence[RunEvent], Sequence[Finding]]]:
    """Yield each file with its parsed content; the logs last, as one per scheduler."""
    logs, archives, lists = [], [], []
    for file in files:
        with file.open("rb") as opened:
            beginning = opened.read(_FINGERPRINT_BYTES)
        if scheduler_of(file.name) is not None:
            archives.append(file)
        elif _DEMON in beginning:
            logs.append(file)
        elif is_list_of_jobs(text := beginning.decode("utf-8", errors="replace")):
            lists.append(file)
        elif is_report(text):
            report = read_report(file.read_bytes(), str(file), zone=zone, instance=instance or "")
            yield file, report.events, report.errors
        else:
            found = read_completions(
                file.read_bytes(),
                str(file),
                name=file.name,
                at=datetime.fromtimestamp(file.stat().st_mtime, UTC),
                zone=zone,
                patterns=(*current_context().settings.completion_names, *DEFAULT_NAMES),
            )
            yield file, [replace(event, historical=historical) for event in found.events], found.errors
    for file in archives:
        own = scheduler_of(file.name) or ""
        names: dict[int, str] = {}
        for other in (*lists, *(log for log in logs if instance_of(log.name) == own)):
            with other.open(encoding="utf-8", errors="replace") as lines:
                names |= listed_jobs(lines)
        report = read_archived(file.read_bytes(), str(file), names, instance=instance or own)
        yield file, report.events, report.errors
    for file, piece in read_kept(logs, zone, instance=instance, historical=historical, begun=_begun(engine)):
        yield file, piece.events, piece.errors
