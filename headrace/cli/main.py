"""The `headrace` command and the options that all commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from headrace import __version__
from headrace.cli.root import SETTINGS, Commands
from headrace.project import VARIABLE, unused_project
from headrace.terminal.arguments import examples

app = typer.Typer(
    name="headrace",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    **{**SETTINGS, "add_completion": True},
    epilog=examples(
        "headrace init shop", "headrace datasets --domain flights", "headrace show flights/flights_clean"
    ),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="FOLDER",
            help="The project folder. [default: found from the current folder upwards]",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Headrace: versioned datasets, lineage and SLAs for Dagster, Spark and Autosys.

    Commands exit with 0 on success, 1 on failure and 2 on wrong usage. With --json they print one JSON document on
    standard output; messages and progress go to standard error.
    """
    if project is not None:
        os.environ[VARIABLE] = str(project)
    elif (unused := unused_project()) is not None:
        typer.echo(f"Using the project {os.environ[VARIABLE]} ({VARIABLE}), not {unused}.", err=True)
