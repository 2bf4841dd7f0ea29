"""`headrace up`, `down`, `clean` and `env`: run Headrace on this machine."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from headrace.cli.common.arguments import AsJson, Yes, examples
from headrace.cli.common.output import emit

app = typer.Typer()


@app.command(epilog=examples("headrace up", "headrace up --port 3333"))
def up(
    port: Annotated[
        int | None, typer.Option(help="Port of Dagster's UI. Default: the first free one from 3000.")
    ] = None,
) -> None:
    """Serve Dagster and the catalog until Ctrl-C."""
    from headrace.local.supervisor import up as serve

    serve(port)


@app.command()
def down(as_json: AsJson = False) -> None:
    """Stop all services, including the embedded PostgreSQL."""
    from headrace.local.supervisor import down as stop

    stopped = stop()
    if as_json:
        emit({"stopped": stopped})
    else:
        typer.echo(_stopped_words(stopped))


@app.command()
def clean(yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop all services and delete the state folder.

    Deletes the database, versions and logs. Asks for confirmation on a terminal, except with --yes or --json.
    """
    from headrace.local.supervisor import clean as delete
    from headrace.settings import settings

    home = settings().home.resolve()
    if home.exists() and not yes and not as_json and sys.stdin.isatty():
        typer.confirm(f"Delete {home} with every version, run and log in it?", abort=True)
    stopped, deleted = delete()
    if as_json:
        emit({"stopped": stopped, "deleted": str(deleted) if deleted else None})
        return
    typer.echo(_stopped_words(stopped))
    if deleted:
        typer.echo(f"Deleted {deleted}.")


def _stopped_words(stopped: list[str]) -> str:
    return f"Stopped {' and '.join(stopped)}." if stopped else "Nothing was running."


@app.command(
    epilog=examples('eval "$(headrace env)"', "dagster asset list -m definitions"),
)
def env(as_json: AsJson = False) -> None:
    """Print the environment variables for `dagster` and `dg`."""
    from headrace.local.environment import environment

    variables = environment()
    if as_json:
        emit(variables)
        return
    for name, value in variables.items():
        typer.echo(f"export {name}={shlex.quote(value)}")
