"""`headrace catalog archive`, `runs` and `events`: archive old runs and events, and search them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from headrace.nouns import counted
from headrace.terminal.archived import show_archived, show_cold_rows
from headrace.terminal.arguments import AsJson, examples, time_of
from headrace.terminal.output import emit, show, table

app = typer.Typer()

FromArchive = Annotated[bool, typer.Option("--archived", help="Include the archive.")]
Process = Annotated[str | None, typer.Option(metavar="KEY", help="Only for this process.")]
Run = Annotated[str | None, typer.Option(metavar="RUN", help="Only for the run whose id starts with this.")]
Since = Annotated[
    datetime | None,
    typer.Option(metavar="TIME", parser=time_of, help="From this time (ISO 8601, UTC by default)."),
]
Until = Annotated[datetime | None, typer.Option(metavar="TIME", parser=time_of, help="Before this time.")]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number, newest first.")]


@app.command(epilog=examples("headrace catalog archive --dry-run", "headrace catalog archive"))
def archive(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be archived, without changing anything.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Archive runs and events older than 90 days.

    Prunes Dagster's event log as well. `headrace up` does this every night. It can be interrupted; the next one
    continues. Versions stay, and so do each process's newest run and newest success, and runs that have not ended.
    """
    from headrace.database.connection import connect
    from headrace.local.environment import dagster_instance
    from headrace.orchestration.jobs.dagster_log import prune
    from headrace.retention.archiving import HOT_RETENTION, archive_everywhere, cold_everywhere
    from headrace.terminal.progress import progress

    before = datetime.now(UTC) - HOT_RETENTION
    with dagster_instance() as instance:
        if dry_run:
            waiting = cold_everywhere(connect())
            pruned = prune(instance, before, dry_run=True)
        else:
            with progress("archiving") as on_progress:
                done = archive_everywhere(connect(), on_progress=on_progress)
            with progress("pruning Dagster's event log"):
                pruned = prune(instance, before)
    if as_json:
        emit({"archive": waiting if dry_run else done, "dagster": pruned, "dry_run": dry_run})
        return
    if dry_run:
        show_cold_rows(waiting)
    else:
        show_archived(done)
    gone = f"{counted(pruned.events, 'event')} and {counted(pruned.check_results, 'check result')}"
    typer.echo(f"Of Dagster's event log {gone} {'would be' if dry_run else 'were'} deleted.")


@app.command(
    epilog=examples(
        "headrace catalog runs --process flights/daily_delays",
        "headrace catalog runs --archived --until 2026-01-01 --state FAILED",
    )
)
def runs(
    archived: FromArchive = False,
    process: Process = None,
    run: Run = None,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="Only with this status, such as FAILED.")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    from headrace.catalog.records import RunState
    from headrace.database.connection import connect
    from headrace.retention.history import runs as found_runs

    try:
        wanted = None if state is None else RunState(state.upper())
    except ValueError as error:
        raise typer.BadParameter(
            f"{state!r} is not a run status; use one of {', '.join(RunState)}"
        ) from error
    found = found_runs(
        connect(),
        archived=archived,
        process=process,
        run=run,
        state=wanted,
        since=since,
        until=until,
        limit=limit,
    )
    if as_json:
        emit({"runs": found})
    elif found:
        rows = [
            (
                each.run_id,
                each.process_key,
                each.state,
                each.started_at,
                each.ended_at,
                each.attempt,
                _kept(each.location),
            )
            for each in found
        ]
        show(table(["run", "of", "state", "started", "ended", "#attempt", "kept in"], rows))
    else:
        typer.echo("No matching run." + ("" if archived else " --archived searches the archive too."))


@app.command(
    epilog=examples(
        "headrace catalog events --run 3f9c21d0",
        "headrace catalog events --archived --until 2026-01-01 --json",
    )
)
def events(
    archived: FromArchive = False,
    process: Process = None,
    run: Run = None,
    type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Only events of this type, such as COMPLETE.")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List raw events, newest first.

    --json shows their full content.
    """
    from headrace.database.connection import connect
    from headrace.retention.history import events as found_events

    found = found_events(
        connect(),
        archived=archived,
        process=process,
        run=run,
        event_type=type and type.upper(),
        since=since,
        until=until,
        limit=limit,
    )
    if as_json:
        emit({"events": found})
    elif found:
        rows = [
            (
                each.event_time,
                each.event_type,
                each.process_key,
                each.run_id,
                each.received_at,
                _kept(each.location),
            )
            for each in found
        ]
        show(table(["time", "type", "of", "run", "received", "kept in"], rows))
    else:
        typer.echo("No matching event." + ("" if archived else " --archived searches the archive too."))


def _kept(location: str | None) -> str:
    return "database" if location is None else "archive"
