"""The application on this machine's catalog, as servers start it, logging to standard error."""

from __future__ import annotations

import gc
import logging
import sys

from fastapi import FastAPI

from headrace.access.redaction import redact_logs
from headrace.database.connection import connect
from headrace.service.app import create_app

# A thread that has its answer from the database waits this long at most for one that reads a request: a transaction of
# many statements would wait as many times.
_SWITCH_SECONDS = 0.0005


def application() -> FastAPI:
    """The application over the catalog that the settings name; its access log is a line of JSON for each request.

    Raises CatalogUnavailable when the database cannot be reached or started.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    _log_to_standard_error()
    app = create_app(connect())
    # What is there now stays: to look through all of it for garbage again and again would hold up answers.
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
