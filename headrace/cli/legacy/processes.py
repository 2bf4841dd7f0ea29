"""`headrace legacy processes`, `unscanned` and `adopt`: the processes of other systems that the catalog holds."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.output import emit, show, table
from headrace.cli.legacy.commands import LISTED, PANEL
from headrace.cli.legacy.scan import Instance

if TYPE_CHECKING:
    from headrace.catalog.queries.processes import ProcessRow

app = typer.Typer()
Like = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="Only those with this name; % or * stands for any letters."),
]


@app.command(
    rich_help_panel=PANEL,
    epilog=examples("headrace legacy processes", "headrace legacy processes --like 'FIN_%' --json"),
)
def processes(like: Like = None, as_json: AsJson = False) -> None:
    """List the jobs and other processes that the catalog holds: standing, what starts them, last run."""
    _list(like, None, as_json, "No process is like that." if like else "No scan has found a process yet.")


@app.command(rich_help_panel=PANEL, epilog=examples("headrace legacy unscanned"))
def unscanned(like: Like = None, as_json: AsJson = False) -> None:
    """List the jobs that are known from what was reported of their runs only, and are in no scanned file."""
    _list(like, "UNSCANNED", as_json, "Every process that was heard of has been scanned or adopted.")


@app.command(
    rich_help_panel=PANEL, epilog=examples("headrace legacy adopt FIN_EXTRA_LOAD --box FIN_NIGHT_BOX")
)
def adopt(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's name, as `unscanned` lists it.")],
    box: Annotated[
        str | None, typer.Option(metavar="BOX", help="The box that it is in, '' for none.")
    ] = None,
    owner: Annotated[list[str] | None, typer.Option(metavar="OWNER", help="Who answers for it.")] = None,
    instance: Instance = "",
) -> None:
    """Take in a job that no file has: it counts as active until a scan finds it, and then as that says.

    Adopt it again to say otherwise.
    """
    from headrace.autosys.scan.adoption import adopt as take_in
    from headrace.database.connection import connect

    key = take_in(connect(), job, instance, box=box, owners=owner or None, by=getpass.getuser())
    typer.echo(f"{key} is active.")


def _list(like: str | None, standing: str | None, as_json: bool, nothing: str) -> None:
    from headrace.catalog.queries.processes import processes as processes_of
    from headrace.database.connection import connect

    found = processes_of(connect(), like, standing, None if as_json else LISTED + 1)
    if as_json:
        emit({"processes": found})
    elif found:
        header = ["process", "standing", "owner", "starts", "waits for", "last run", "ended"]
        show(table(header, map(_row, found[:LISTED])))
        if len(found) > LISTED:
            typer.echo(f"The first {LISTED}; --like narrows them down, --json has all.")
    else:
        typer.echo(nothing)


def _row(row: ProcessRow) -> tuple[object, ...]:
    return (
        row.key, row.standing.lower(), row.owners or None, row.schedule, row.condition, row.run_state,
        row.run_ended or row.run_at,
    )  # fmt: skip
