"""`headrace setup-lineage`: install, verify or remove the OL_* tables in PostgreSQL, DB2 or Teradata."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Yes, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.exports import Verification

app = typer.Typer()

Database = Annotated[
    str | None,
    typer.Argument(
        metavar="URL",
        help="The database: postgresql://, db2:// or teradatasql://. Default: HEADRACE_LINEAGE_DATABASE_URL, which "
        "keeps the password out of the list of processes.",
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema", metavar="NAME", help="The schema of the tables. [default: the user's default schema]"
    ),
]


@app.command(
    "setup-lineage",
    epilog=examples(
        "headrace setup-lineage db2:// --openlineage-only --schema LINEAGE --dry-run > lineage.sql",
        "headrace setup-lineage postgresql://bi@dwh/reports -o --schema lineage",
        "headrace setup-lineage postgresql://bi@dwh/reports -o --schema lineage --verify",
    ),
)
def setup_lineage(
    database: Database = None,
    openlineage: Annotated[
        bool,
        typer.Option(
            "--openlineage",
            "-o",
            help="Install the OL_* tables; list existing LIN_* tables and leave them unchanged.",
        ),
    ] = False,
    openlineage_only: Annotated[
        bool, typer.Option("--openlineage-only", help="Install the OL_* tables, ignoring LIN_* tables.")
    ] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop the OL_* tables with all their rows, and nothing else.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the tables with the model; exit with 1 if they differ.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the statements without connecting.")
    ] = False,
    schema: Schema = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Install the OL_* tables in another database.

    Existing tables stay; missing ones are created, and the installed version is recorded. The catalog's own database
    already has all of them, as views in the schema `openlineage`.
    """
    if openlineage == openlineage_only:
        raise typer.BadParameter(
            "pass --openlineage (-o) or --openlineage-only; this command never creates LIN_* tables"
        )
    if verify and (drop or dry_run):
        raise typer.BadParameter("--verify cannot be combined with --drop or --dry-run")
    from headrace import exports
    from headrace.exports.targets import lineage_database

    url = lineage_database(database)
    if dry_run:
        statements = (exports.drop_statements if drop else exports.create_statements)(
            exports.dialect_of(url), schema
        )
        if as_json:
            emit({"statements": statements})
        else:
            typer.echo("\n\n".join(f"{statement};" for statement in statements))
        return
    engine = exports.engine_of(url)
    place = engine.url.render_as_string(hide_password=True)
    if verify:
        _report(exports.verify(engine, schema), place, legacy=openlineage, as_json=as_json)
        return
    if drop:
        if not yes and not as_json and sys.stdin.isatty():
            typer.confirm(f"Drop the OL_* tables of {place} with all their rows?", abort=True)
        gone = exports.drop(engine, schema)
        if as_json:
            emit({"dropped": gone})
        else:
            typer.echo(f"Removed {', '.join(gone)}." if gone else "No OL_* tables found.")
        return
    made = exports.install(engine, schema)
    if as_json:
        emit(made)
        return
    typer.echo(f"Created {', '.join(made.created)}." if made.created else "All OL_* tables already exist.")
    if openlineage:
        typer.echo(_legacy_words(made.legacy))


def _report(found: Verification, place: str, *, legacy: bool, as_json: bool) -> None:
    if as_json:
        emit(found)
    else:
        for problem in found.problems:
            typer.echo(problem)
        if not found.problems:
            typer.echo(f"All OL_* tables, keys and indexes are installed ({found.version}).")
        if legacy:
            typer.echo(_legacy_words(found.legacy))
    if found.problems:
        raise CommandError(
            f"{place} differs from the model in {len(found.problems)} places; the same command without --verify "
            "creates what is missing"
        )


def _legacy_words(names: Sequence[str]) -> str:
    return (
        f"LIN_* tables found and left unchanged: {', '.join(names)}." if names else "No LIN_* tables found."
    )
