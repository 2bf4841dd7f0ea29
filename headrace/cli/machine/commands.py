"""`headrace up`, `down`, `clean` and `env`: run Headrace on this machine."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.terminal.arguments import AsJson, Yes, examples
from headrace.terminal.errors import CommandError
from headrace.terminal.output import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.local.supervisor import StoppedServices

app = typer.Typer()


@app.command(epilog=examples("headrace up", "headrace up --port 3333"))
def up(
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=1,
            max=65535,
            help="Port of Dagster's UI. [default: the first free one from 3000]",
        ),
    ] = None,
) -> None:
    """Serve Dagster and the catalog until Ctrl-C."""
    from headrace.local.supervisor import up as serve

    serve(port)


@app.command(epilog=examples("headrace down", "headrace down --force"))
def down(
    force: Annotated[
        bool, typer.Option("--force", help="Stop PostgreSQL even while other commands use it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop all services, including the embedded PostgreSQL.

    While other commands use PostgreSQL, it keeps running, and the exit code is 1.
    """
    from headrace.local.supervisor import down as stop

    stopped = stop(force=force)
    if as_json:
        emit({"stopped": stopped.services, "sessions": stopped.sessions})
    elif stopped.services or not stopped.sessions:
        typer.echo(_stopped_words(stopped.services))
    _refuse_used(stopped)


@app.command()
def clean(yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop all services and delete the state folder.

    Deletes the database, versions and logs. Asks for confirmation on a terminal, except with --yes or --json.
    """
    from headrace.context import current_context
    from headrace.local.supervisor import clean as delete

    home = current_context().settings.home.resolve()
    if home.exists() and not yes and not as_json and sys.stdin.isatty():
        typer.confirm(f"Delete {home} with every version, run and log in it?", abort=True)
    stopped, deleted = delete()
    if as_json:
        emit({"stopped": stopped.services, "deleted": str(deleted) if deleted else None})
    else:
        typer.echo(_stopped_words(stopped.services))
        if deleted:
            typer.echo(f"Deleted {deleted}.")
    _refuse_used(stopped)


def _stopped_words(services: Sequence[str]) -> str:
    return f"Stopped {' and '.join(services)}." if services else "Nothing was running."


def _refuse_used(stopped: StoppedServices) -> None:
    if stopped.sessions:
        raise CommandError(
            f"PostgreSQL keeps running for {', '.join(stopped.sessions)}. Wait until they end, or stop it anyway"
            " with `headrace down --force`."
        )


@app.command(epilog=examples('eval "$(headrace env)"', "dagster asset list -m definitions"))
def env(as_json: AsJson = False) -> None:
    """Print the environment variables for `dagster` and `dg`."""
    from headrace.local.environment import environment

    variables = environment()
    if as_json:
        emit(variables)
        return
    for name, value in variables.items():
        typer.echo(f"export {name}={shlex.quote(value)}")
