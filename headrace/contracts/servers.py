"""The published version of a dataset as a server of its contract, for tools that test the data."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from headrace.catalog.locators import FilesLocator
from headrace.queries.versions import versions

_NEWEST = 100  # versions among which the published one is looked for


class NoFiles(Exception):
    """A dataset without a published version that consists of files on this machine."""


def published_server(engine: Engine, key: str) -> dict[str, Any]:
    """Return the files of the newest published version as a server. Raises UnknownDataset, NoFiles."""
    for row in versions(engine, key, limit=_NEWEST):
        locator = row.version.locator
        if row.published and isinstance(locator, FilesLocator) and locator.uri.startswith("file://"):
            path = f"{locator.uri.removeprefix('file://').rstrip('/')}/*.{row.version.format}"
            return {"server": "published", "type": "local", "path": path, "format": row.version.format}
    raise NoFiles(
        f"{key} has no published version in files on this machine; `headrace materialize {key}` creates one"
    )
