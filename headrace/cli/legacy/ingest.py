"""`headrace legacy ingest`, `follow` and `quarantine`: load run events of Autosys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from headrace.nouns import counted
from headrace.terminal.arguments import AsJson, examples, zone_of
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit, facts, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.autosys import Finding
    from headrace.orchestration.ingestion import LoadResult

app = typer.Typer()
MAX_ERRORS_SHOWN = 50  # maximum errors shown


Zone = Annotated[
    ZoneInfo | None,
    typer.Option(
        metavar="ZONE",
        parser=zone_of,
        help="The time zone of times without one, usually the Autosys server's. "
        "[default: the setting completions_zone, UTC]",
    ),
]
Instance = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The scheduler instance (AUTOSERV) of logs and reports; log names imply it."
    ),
]


@app.command(
    epilog=examples(
        "headrace legacy ingest completions/ feed.jsonl",
        "headrace legacy ingest event_demon.ACE --zone Europe/London --historical",
        "headrace legacy ingest report.txt --instance ACE --json",
    )
)
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATHS",
            exists=True,
            show_default=False,
            help="Completion files, JSON lines, event demon logs, `autorep` reports, archived runs, or directories of "
            "them.",
        ),
    ],
    zone: Zone = None,
    instance: Instance = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The format of the files, of an installed package. [default: detected]"
        ),
    ] = None,
    historical: Annotated[
        bool, typer.Option("--historical", help="Load as history: trigger no runs and no alerts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Load run events from files, which are left unchanged.

    The format is detected from the content. Loading a file again changes nothing. `autorep` reports and archived runs
    always count as history. Exits with 1 when something could not be loaded; everything else is loaded.
    """
    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.landed.measures import measured
    from headrace.orchestration.event_sources import EVENT_SOURCES
    from headrace.orchestration.ingestion import load
    from headrace.severity import Severity
    from headrace.terminal.estate_files import files_of
    from headrace.terminal.progress import progress

    files = [file for path in paths for file in files_of(path)]
    with progress("ingesting") as on_progress:
        try:
            loaded = load(
                connect(),
                files,
                zone=zone or current_context().settings.completions_zone,
                instance=instance,
                historical=historical,
                source=EVENT_SOURCES.get(source) if source else None,
                on_progress=on_progress,
                measured=measured,
            )
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}") from error
    result = loaded.ingested
    if as_json:
        emit(loaded.facts())
    else:
        show(
            facts(
                [
                    ("files", loaded.files),
                    ("events", f"{result.new:,} new, {result.repeated:,} already known"),
                    ("runs", f"{result.runs:,} new or changed"),
                    ("versions", result.versions or None),
                    ("processes not in any scan", _some(result.unscanned)),
                    ("matched with jobs scanned without an instance", _some(result.assumed)),
                    ("undeclared datasets", _some(result.drafts)),
                    ("ignored, because Headrace computes it", _some(result.computed_here)),
                ]
            )
        )
        _complain(result.not_measured, "warning: ")
        _complain(loaded.errors)
    if any(error.severity is Severity.ERROR for error in loaded.errors):
        raise typer.Exit(1)


@app.command(
    epilog=examples("headrace legacy follow /opt/autouser/out/event_demon.ACE --zone America/New_York")
)
def follow(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", exists=True, dir_okay=False, help="An event demon's live log.")
    ],
    zone: Zone = None,
    instance: Instance = None,
) -> None:
    """Follow an event demon's log until Ctrl-C.

    Resumes where it stopped, and continues across the rotation at midnight without losing lines.
    """
    import signal
    from threading import Event

    from headrace.context import current_context
    from headrace.database.connection import connect
    from headrace.orchestration.ingestion import follow as read_on

    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    typer.echo(f"Following {log}; Ctrl-C stops.")
    try:
        read_on(
            connect(),
            log,
            zone=zone or current_context().settings.completions_zone,
            instance=instance,
            stop=stop,
            on_progress=_print,
        )
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}") from error


@app.command(
    epilog=examples("headrace legacy quarantine", "headrace legacy quarantine --retry LOAD_FLIGHTS.json")
)
def quarantine(
    retry: Annotated[str | None, typer.Option(metavar="NAME", help="Retry this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """List rejected completion files with the reasons."""
    from headrace.context import current_context
    from headrace.orchestration.completions.opening import folder_at

    folder = folder_at(current_context().settings.completions_location)
    if retry is not None:
        try:
            folder.retry(retry)
        except FileNotFoundError as error:
            raise CommandError(
                f"{retry} is not in quarantine; `headrace legacy quarantine` lists the files"
            ) from error
        except FileExistsError as error:
            raise CommandError(str(error)) from error
        typer.echo(f"{retry} is back in {folder.location}; the sensor `completions` will read it.")
        return
    found = folder.quarantined()
    if as_json:
        emit({"quarantined": found})
    elif found:
        show(table(["file", "reason"], [(each.name, each.reason) for each in found]))
        typer.echo(f"They are in {folder.location}/quarantine; correct a file there, then --retry it.")
    else:
        typer.echo("No files are in quarantine.")


def _print(loaded: LoadResult) -> None:
    if loaded.ingested.new:
        typer.echo(f"{counted(loaded.ingested.new, 'new event')}, {counted(loaded.ingested.runs, 'run')}")
    _complain(loaded.errors)


def _complain(reported: Sequence[Finding | str], kind: str = "") -> None:
    for each in reported[:MAX_ERRORS_SHOWN]:
        typer.echo(f"{kind}{each}", err=True)
    if len(reported) > MAX_ERRORS_SHOWN:
        typer.echo(f"and {len(reported) - MAX_ERRORS_SHOWN:,} more; --json has all.", err=True)


def _some(names: Sequence[str]) -> str | None:
    if len(names) <= 5:
        return ", ".join(names) or None
    return f"{len(names):,}: {', '.join(names[:5])} ..."
