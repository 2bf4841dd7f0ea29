"""`headrace legacy scan`: store an estate's files in the catalog, after showing the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.estate_files import EstateFiles, files_of
from headrace.terminal.output import emit
from headrace.terminal.scan_plan import print_plan

if TYPE_CHECKING:
    from headrace.estates.plan import Plan

app = typer.Typer()
Instance = Annotated[
    str, typer.Option(metavar="NAME", help="The Autosys instance (AUTOSERV), if there are several.")
]


@app.command(
    epilog=examples(
        "headrace legacy scan jobs.jil calendars.txt --dry-run", "headrace legacy scan estate/ --instance PRD"
    )
)
def scan(
    files: EstateFiles,
    instance: Instance = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, without storing it.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Store the scan even if it retires more than half of the known jobs."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Scan an estate's files into the catalog, and show the changes.

    Files are JIL and calendar exports of one instance, descriptions of other processes (.yaml) and listings of tables
    used by DB2 procedures (.csv). Jobs no longer in the files are retired, never deleted. The scan is stored as a whole
    or not at all.
    """
    from headrace.database.connection import connect
    from headrace.estates.estates import scan as scan_files
    from headrace.terminal.progress import progress

    paths = [file for path in files for file in files_of(path)]
    plans: list[Plan] = []

    def accept(plan: Plan) -> bool:
        plans.append(plan)
        if not plan.processes:
            raise CommandError(
                "no jobs or other processes in these files; nothing was stored. JIL begins jobs with"
                " insert_job (`headrace legacy report` lists the problems); YAML is a list of processes"
            )
        if not as_json:
            print_plan(plan)
        return not dry_run

    with progress("starting the database"):
        engine = connect()
    try:
        scan_files(engine, paths, instance, allow_mass_retirement=yes, accept=accept)
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}") from error
    [plan] = plans
    if as_json:
        emit({**plan.facts(), "stored": not dry_run})
    else:
        typer.echo("Nothing stored." if dry_run else f"Stored{_in(plan)}.")


def _in(plan: Plan) -> str:
    return f" as instance {plan.instance}" if plan.instance else ""
