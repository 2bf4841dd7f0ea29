"""The application for tests, and a real server for those that need one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine

from headrace.http.protocol import BoundedProtocol
from headrace.service.app import assembled, connect


@cache
def _assembled() -> FastAPI:
    return assembled()


def application(engine: Engine) -> FastAPI:
    """The application over the catalog, which a test leaves to the next: its routes take 0.4 s of CPU.

    What surrounds the routes (limits, caches) is new for each test.
    """
    app = _assembled()
    app.middleware_stack = None
    connect(app, engine)
    return app


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The URL at which uvicorn serves the application, on a free port."""
    config = uvicorn.Config(app, port=0, log_level="warning", access_log=False, http=BoundedProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
