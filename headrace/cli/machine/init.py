"""`headrace init`: create a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.output import emit

app = typer.Typer()


@app.command(epilog=examples("headrace init shop", "headrace init flights --demo"))
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="NAME", help="The new folder; its name is the project's.")
    ],
    demo: Annotated[
        bool, typer.Option("--demo", help="Include datasets of real flights and an Autosys estate.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a Headrace project."""
    from headrace.local.scaffold import create_project

    files = create_project(folder, demo=demo)
    if as_json:
        emit({"project": str(folder.resolve()), "files": [str(file) for file in files]})
        return
    typer.echo(f"Created {folder} with {len(files)} files. Next:")
    typer.echo(f"  cd {folder}")
    typer.echo("  python -m jobs.demo   # load the data and materialize it" if demo else "  headrace check")
    typer.echo("  headrace up           # serve Dagster and the catalog until Ctrl-C")
