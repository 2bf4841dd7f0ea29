"""`headrace legacy processes`, `unscanned` and `adopt`: the external processes in the catalog."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.legacy.commands import MAX_ROWS
from headrace.cli.legacy.scan import Instance
from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.output import emit, show, table

if TYPE_CHECKING:
    from headrace.queries.processes import ProcessRow

app = typer.Typer()
Like = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="Only those whose name matches; % or * matches any text."),
]


@app.command(epilog=examples("headrace legacy processes", "headrace legacy processes --like 'FIN_%' --json"))
def processes(like: Like = None, as_json: AsJson = False) -> None:
    """List external processes: lifecycle, schedule, last run."""
    _list(like, None, as_json, "No matching process." if like else "No processes have been scanned yet.")


@app.command(epilog=examples("headrace legacy unscanned"))
def unscanned(like: Like = None, as_json: AsJson = False) -> None:
    """List jobs known from run events only, not from a scan."""
    _list(like, "UNSCANNED", as_json, "Every known process has been scanned or adopted.")


@app.command(epilog=examples("headrace legacy adopt FIN_EXTRA_LOAD --box FIN_NIGHT_BOX"))
def adopt(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's name, as `unscanned` lists it.")],
    box: Annotated[
        str | None, typer.Option(metavar="BOX", help="The box it belongs to, '' for none.")
    ] = None,
    owner: Annotated[list[str] | None, typer.Option(metavar="OWNER", help="The owner.")] = None,
    instance: Instance = "",
) -> None:
    """Adopt an unscanned job: it is active until a scan finds it.

    Adopt it again to change what is recorded.
    """
    from headrace.database.connection import connect
    from headrace.estates.adoption import adopt as take_in

    key = take_in(connect(), job, instance, box=box, owners=owner or None, by=getpass.getuser())
    typer.echo(f"{key} is active.")


def _list(like: str | None, lifecycle: str | None, as_json: bool, nothing: str) -> None:
    from headrace.database.connection import connect
    from headrace.queries.processes import processes as processes_of

    found = processes_of(connect(), like, lifecycle, None if as_json else MAX_ROWS + 1)
    if as_json:
        emit({"processes": found})
    elif found:
        header = ["process", "lifecycle", "owner", "schedule", "waits for", "last run", "ended"]
        show(table(header, map(_row, found[:MAX_ROWS])))
        if len(found) > MAX_ROWS:
            typer.echo(f"Showing the first {MAX_ROWS}; filter with --like, or use --json for all.")
    else:
        typer.echo(nothing)


def _row(row: ProcessRow) -> tuple[object, ...]:
    return (
        row.key, row.lifecycle.lower(), row.owners or None, row.schedule, row.condition, row.run_state,
        row.run_ended or row.run_at,
    )  # fmt: skip
