"""The application on this machine's catalog, as servers start it, with its log lines on standard error."""

from __future__ import annotations

import logging

from fastapi import FastAPI

from catalog.api.app import create_app
from catalog.database import connect


def application() -> FastAPI:
    """The application over the catalog that the settings name; its access log is a line of JSON for each request.

    Raises CatalogUnavailable when the database cannot be reached or started.
    """
    _log_to_standard_error()
    return create_app(connect())


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
