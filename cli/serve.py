"""`headrace serve`: the catalog's API, without the rest of Headrace."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.arguments import examples

app = typer.Typer()
APPLICATION = "catalog.api.serving:application"
READY = "/health/ready"
FIRST_PORT = 3200
_KEEP_ALIVE_SECONDS = 30
_CONNECTIONS = 1000  # at once; who comes then is told to try again


@app.command(
    rich_help_panel="This machine",
    epilog=examples("headrace serve", "headrace serve --host 0.0.0.0 --port 3200"),
)
def serve(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = FIRST_PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every host that reaches this one.")
    ] = "127.0.0.1",
) -> None:
    """Serve the catalog's API over HTTP until Ctrl-C, as `headrace up` does beside all else.

    Programs ask and report at http://HOST:PORT/api/v1, as its document at /api/v1/docs says, with a token: `headrace
    access` gives them out. OpenLineage clients report to http://HOST:PORT. A line of JSON for each request goes to
    standard error.
    """
    from catalog.database import connect
    from cli import webserver

    connect()
    webserver.run(
        APPLICATION,
        host,
        port,
        f"Serving the catalog at http://{host}:{port}/api/v1/docs; Ctrl-C stops it.",
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        limit_concurrency=_CONNECTIONS,
    )


def server(port: int) -> list[str]:
    """The module and arguments by which Python serves the API on this machine."""
    from cli import webserver

    return [
        *("uvicorn", "--factory", APPLICATION, "--host", "127.0.0.1", "--port", str(port)),
        *("--http", webserver.PROTOCOL, "--log-level", "warning", "--no-access-log", "--no-server-header"),
        *("--timeout-keep-alive", str(_KEEP_ALIVE_SECONDS), "--limit-concurrency", str(_CONNECTIONS)),
    ]


def is_up(port: int) -> bool:
    """Whether the API on this machine answers, and has its database."""
    from cli import webserver

    return webserver.answers(port, READY)
