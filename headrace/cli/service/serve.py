"""`headrace serve`: the catalog's API, without the rest of Headrace."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.common.arguments import examples
from headrace.local.servers import KEEP_ALIVE_SECONDS, MAX_CONNECTIONS, SERVICE

app = typer.Typer()


@app.command(
    epilog=examples("headrace serve", "headrace serve --host 0.0.0.0 --port 3200"),
)
def serve(
    port: Annotated[int, typer.Option(help="Port to listen on.")] = SERVICE.first_port,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every host that reaches this one.")
    ] = "127.0.0.1",
) -> None:
    """Serve the HTTP service alone until Ctrl-C.

    Programs ask and report at http://HOST:PORT/api/v1, as its document at /api/v1/docs says, with a token: `headrace
    access` gives them out. OpenLineage clients report to http://HOST:PORT. A line of JSON for each request goes to
    standard error.
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
