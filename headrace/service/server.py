"""The application over the configured catalog, as started by servers, with logs on standard error."""

from __future__ import annotations

import gc
import logging
import sys

from fastapi import FastAPI

from headrace.access.redaction import redact_logs
from headrace.database.connection import connect
from headrace.service.app import create_app

# Seconds that a thread with a response from the database waits at most for one that parses a request: a transaction of
# many statements would wait that many times.
_SWITCH_SECONDS = 0.0005


def application() -> FastAPI:
    """Create the application over the configured catalog; its access log has one line of JSON per request.

    Raises CatalogUnavailable if the database cannot be reached or started.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    _log_to_standard_error()
    app = create_app(connect())
    # Long-lived objects are excluded from garbage collection: scanning all of them repeatedly would delay responses.
    gc.collect()
    gc.freeze()
    return app


def _log_to_standard_error() -> None:
    access = logging.getLogger("headrace.access")
    if access.handlers:
        return
    lines = logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(message)s"))
    access.addHandler(lines)
    access.setLevel(logging.INFO)
    access.propagate = False
    others = logging.StreamHandler()
    others.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("headrace").addHandler(others)
    redact_logs("headrace", "headrace.access", "uvicorn", "uvicorn.error")
