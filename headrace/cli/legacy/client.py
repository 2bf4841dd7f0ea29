"""`headrace legacy client`: the files that jobs on other hosts report with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.common.arguments import AsJson, examples
from headrace.cli.common.errors import CommandError
from headrace.cli.common.output import emit

app = typer.Typer()


@app.command(
    rich_help_panel="Autosys estate",
    epilog=examples("headrace legacy client /opt/headrace", "scp -r /opt/headrace batch01:/opt/"),
)
def client(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write them; made if it is not there.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write the files by which jobs report, to be copied to the hosts that they run on.

    headrace_client.py needs Python 3.6 or newer, headrace.sh a POSIX shell and curl; headrace-run, before a job's
    command, takes whichever there is. None of them needs anything else of Headrace.
    """
    from headrace.autosys.client import write

    try:
        written = write(folder)
    except OSError as error:
        raise CommandError(f"{folder} cannot be written to: {error.strerror}") from error
    if as_json:
        emit({"files": [str(path) for path in written]})
        return
    for path in written:
        typer.echo(path)
