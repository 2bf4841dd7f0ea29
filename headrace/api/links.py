"""Addresses of the pages about a row, for those who read it by the API."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from headrace.access.sensitivity import Public
from headrace.context import current_context


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses about a row: page, and the run in Dagster's UI if there is one and `dagster_url` is set."""

    page: Public[str]
    dagster: Public[str | None] = None


def links_to(*path: str, partition: str | None = None, dagster_run: str | None = None) -> Links:
    """Return the addresses. path: the parts of the page's path, such as `datasets` and a key."""
    settings = current_context().settings
    address = "/".join([settings.service_url.rstrip("/"), *(quote(part, safe="/") for part in path)])
    if partition is not None:
        address += "?" + urlencode({"partition": partition})
    if dagster_run is None or settings.dagster_url is None:
        return Links(address)
    return Links(address, f"{settings.dagster_url.rstrip('/')}/runs/{quote(dagster_run, safe='')}")
