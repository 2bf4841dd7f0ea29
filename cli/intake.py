"""`headrace intake`: take what other systems report over HTTP, without the rest of Headrace."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.arguments import examples

app = typer.Typer()
APPLICATION = "sensors.intake:app"
HEALTH = "/health"
FIRST_PORT = 3100


@app.command(
    rich_help_panel="This machine",
    epilog=examples("headrace intake", "headrace intake --host 0.0.0.0 --port 3100"),
)
def intake(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = FIRST_PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every host that reaches this one.")
    ] = "127.0.0.1",
) -> None:
    """Take run and dataset reports over HTTP until Ctrl-C, as `headrace up` does beside all else.

    Jobs report to http://HOST:PORT/api/v1/events, most simply by the client that `headrace legacy client` writes. With
    HEADRACE_INTAKE_TOKEN set here, they have to have the same.
    """
    from catalog.database import connect
    from cli import webserver
    from settings import settings

    connect()
    if host not in ("127.0.0.1", "localhost", "::1") and settings().intake_token is None:
        typer.echo(f"Whoever reaches {host}:{port} may report: HEADRACE_INTAKE_TOKEN is not set.", err=True)
    webserver.run(APPLICATION, host, port, f"Taking reports at http://{host}:{port}; Ctrl-C stops it.")


def server(port: int) -> list[str]:
    """The module and arguments by which Python serves the intake on this machine."""
    from cli import webserver

    return [
        *("uvicorn", "--factory", APPLICATION, "--host", "127.0.0.1", "--port", str(port)),
        *("--http", webserver.PROTOCOL, "--log-level", "warning", "--no-access-log"),
    ]


def is_up(port: int) -> bool:
    """Whether the intake on this machine answers, and can store what it gets."""
    from cli import webserver

    return webserver.answers(port, HEALTH)
