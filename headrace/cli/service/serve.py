"""`headrace serve`: the HTTP service alone."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.local.servers import KEEP_ALIVE_SECONDS, MAX_CONNECTIONS, SERVICE
from headrace.terminal.arguments import examples

app = typer.Typer()


@app.command(epilog=examples("headrace serve", "headrace serve --host 0.0.0.0 --port 3200"))
def serve(
    port: Annotated[int, typer.Option(metavar="PORT", help="Port to listen on.")] = SERVICE.first_port,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every host that reaches this one.")
    ] = "127.0.0.1",
) -> None:
    """Run only the HTTP service until Ctrl-C.

    Query and report at http://HOST:PORT/api/v1 (documented at /api/v1/docs) with a token from `headrace access`.
    OpenLineage clients report to http://HOST:PORT. Each request is logged to standard error as a line of JSON.
    """
    from headrace.database.connection import connect
    from headrace.local import ports as webserver

    connect()
    webserver.run(
        SERVICE.application,
        host,
        port,
        f"Serving the catalog at http://{host}:{port}/api/v1/docs; Ctrl-C stops it.",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=MAX_CONNECTIONS,
    )
