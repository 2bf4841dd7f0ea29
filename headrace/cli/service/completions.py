"""`headrace intake`: take what other systems report over HTTP, without the rest of Headrace."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.common.arguments import examples
from headrace.local.servers import COMPLETIONS

app = typer.Typer()


@app.command(
    rich_help_panel="This machine",
    epilog=examples("headrace intake", "headrace intake --host 0.0.0.0 --port 3100"),
)
def intake(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = COMPLETIONS.first_port,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every host that reaches this one.")
    ] = "127.0.0.1",
) -> None:
    """Take run and dataset reports over HTTP until Ctrl-C, as `headrace up` does beside all else.

    Jobs report to http://HOST:PORT/api/v1/events, most simply by the client that `headrace legacy client` writes. With
    HEADRACE_INTAKE_TOKEN set here, they have to have the same.
    """
    from headrace.database.connection import connect
    from headrace.local import ports as webserver
    from headrace.settings import settings

    connect()
    if host not in ("127.0.0.1", "localhost", "::1") and settings().intake_token is None:
        typer.echo(f"Whoever reaches {host}:{port} may report: HEADRACE_INTAKE_TOKEN is not set.", err=True)
    webserver.run(
        COMPLETIONS.application, host, port, f"Taking reports at http://{host}:{port}; Ctrl-C stops it."
    )
