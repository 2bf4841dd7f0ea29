"""`headrace legacy client`: the reporting client for hosts where jobs run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.terminal.arguments import AsJson, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit

app = typer.Typer()


@app.command(epilog=examples("headrace legacy client /opt/headrace", "scp -r /opt/headrace batch01:/opt/"))
def client(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory to write to; created if missing.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write the reporting client, to copy to hosts that run jobs.

    headrace_client.py needs Python 3.6 or newer, headrace.sh a POSIX shell and curl; headrace-run, put
    before a job's command, uses whichever is available. Nothing else of Headrace is needed.
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
