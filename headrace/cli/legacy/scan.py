"""`headrace legacy scan`: an estate's files into the catalog, what that changes shown first."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import emit, facts, show, table
from headrace.cli.legacy.commands import PANEL
from headrace.cli.legacy.estates import EstateFiles, files_of

if TYPE_CHECKING:
    from headrace.autosys.scan.plan import Plan

app = typer.Typer()
SHOWN = 50  # rows of each list
Instance = Annotated[
    str,
    typer.Option(metavar="NAME", help="The Autosys instance (AUTOSERV), where there is more than one."),
]


@app.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "headrace legacy scan jobs.jil calendars.txt --dry-run",
        "headrace legacy scan estate/ --instance PRD",
    ),
)
def scan(
    files: EstateFiles,
    instance: Instance = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and store nothing.")
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Store it though more than half of the known jobs are not there."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the catalog to what an estate's files say, and show what that changes.

    Files are JIL and calendar exports of one instance, descriptions of other processes (.yaml) and listings of what
    DB2 procedures use (.csv). Jobs that are not in the files any more are retired, never deleted. All is stored, or
    nothing.
    """
    from headrace.autosys.scan.estates import scan as scan_files
    from headrace.cli.common.launching import progress
    from headrace.database.connection import connect

    paths = [file for path in files for file in files_of(path)]
    told: list[Plan] = []

    def accept(plan: Plan) -> bool:
        told.append(plan)
        if not plan.processes:
            raise CommandError(
                "there is no job and no other process in these files, and nothing was stored. JIL begins jobs with"
                " insert_job (`headrace legacy report` says what is wrong with it); YAML is a list of processes"
            )
        if not as_json:
            tell(plan)
        return not dry_run

    with progress("starting the database"):
        engine = connect()
    try:
        scan_files(engine, paths, instance, may_retire_most=yes, accept=accept)
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read: {error.strerror}") from error
    [plan] = told
    if as_json:
        emit({**_as_json(plan), "stored": not dry_run})
    else:
        typer.echo("Nothing was stored." if dry_run else f"Stored{_in(plan)}.")


def tell(plan: Plan) -> None:
    """Print what a scan finds and would change; of long lists the beginning."""
    show(
        facts(
            [
                ("files", len(plan.files)),
                ("processes", f"{plan.processes:,}"),
                ("added", _number(plan.added, (plan.taken_over, "heard of before"))),
                ("changed", _number(plan.changed)),
                ("back again", _number(plan.returned)),
                ("not there any more", _number(plan.removed)),
                ("kept all the same", _number(plan.kept)),
            ]
        )
    )
    first = not plan.known
    for title, names in (
        ("added", () if first else plan.added),
        ("back again", plan.returned),
        ("not there any more", plan.removed),
        ("kept all the same, as what could not be read may be theirs", plan.kept),
    ):
        _list(title, names)
    changes = [
        (title, change.attribute, "\n".join(change.before) or None, "\n".join(change.after) or None)
        for title, found in plan.changed.items()
        for change in found
    ]
    if changes:
        show(table(["changed", "attribute", "from", "to"], changes[:SHOWN]))
        _more(len(changes))
    for finding in (*plan.errors, *plan.doubts)[:SHOWN]:
        typer.echo(str(finding))
    _more(len(plan.errors) + len(plan.doubts))
    if plan.errors or plan.warnings:
        counts = f"{_several(len(plan.errors), 'error')}, {_several(plan.warnings, 'warning')}"
        typer.echo(f"{counts}; `headrace legacy report` shows all about JIL.")


def _list(title: str, names: Sequence[str]) -> None:
    if names:
        show(table([title], [[name] for name in names[:SHOWN]]))
        _more(len(names))


def _more(count: int) -> None:
    if count > SHOWN:
        typer.echo(f"and {count - SHOWN:,} more; --json has all.")


def _number(names: Sized, also: tuple[Sized, str] = ((), "")) -> str | None:
    if not names:
        return None
    return f"{len(names):,}" + (f", {len(also[0]):,} {also[1]}" if also[0] else "")


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _in(plan: Plan) -> str:
    return f" as instance {plan.instance}" if plan.instance else ""


def _as_json(plan: Plan) -> dict[str, object]:
    return {
        "instance": plan.instance,
        "files": [file._asdict() for file in plan.files],
        "counts": plan.counts,
        "added": plan.added,
        "taken_over": plan.taken_over,
        "returned": plan.returned,
        "changed": plan.changed,
        "removed": plan.removed,
        "kept": plan.kept,
        "errors": plan.errors,
        "doubts": plan.doubts,
        "warnings": plan.warnings,
    }
