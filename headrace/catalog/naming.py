"""Headrace's own dataset names and locations in external events: the files of a version map to its dataset."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import UUID, uuid5

from headrace.context import current_context

_TAG = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_WRITTEN = re.compile(r"[._]?\d{8}T\d{6}Z-[0-9a-f]{8}(?![0-9A-Za-z])")
_PARTITION = "partition="
# The last steps of a path, below a bucket, that are a date: 2025-09-08, dt=2025-09-08, v20250908, 20250908T0100,
# year=2025/month=09/day=08.
_DAY = r"(?:19|20)\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])"
_DATED = re.compile(
    rf"(?![\w+.-]+://[^/]*/[^/]+/?$)(?P<dataset>.*[^/:])/(?P<directory>(?:[A-Za-z_]\w*=|[vV]_?)?{_DAY}(?:[T_-]?\d\d(?:-?:?\d\d){{0,2}}Z?)?"
    r"|year=\d{4}/month=\d\d?(?:/day=\d\d?)?)/?"
)
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "wasbs": "wasb", "abfss": "abfs"}


class Name(NamedTuple):
    """Identifier of a dataset or job in the spec: a name that is unique in its namespace.

    A tuple, because it is hashed and compared thirty times per event.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}#{self.name}"


@dataclass(frozen=True, slots=True)
class Place:
    """The dataset of a reported name, and the version and partition in that name.

    directory: the dated directory of another system's dataset, which is its version; '' without one.
    """

    name: Name
    version: str | None = None
    partition: str = ""
    directory: str = ""


def job(name: Name) -> Name:
    """Return the name of the job without the version tag, which Spark's listener takes from the directory."""
    plain = _WRITTEN.sub("", name.name)
    return Name(name.namespace, plain) if plain else name


def own_namespace(organisation: str) -> str:
    """Return the namespace of the jobs and datasets that have Headrace keys."""
    return f"headrace://{organisation}"


def name_id(organisation_id: UUID, name: Name) -> UUID:
    """Return the id of a dataset's name, and of the dataset created for it."""
    return uuid5(organisation_id, f"dataset/{name.namespace}\n{name.name}")


def job_id(organisation_id: UUID, name: Name) -> UUID:
    """Return the id of the process created for a job."""
    return uuid5(organisation_id, f"job/{name.namespace}\n{name.name}")


def key_of(name: Name, own: str) -> str:
    """Return the key of a dataset or process of this name: Headrace's own unchanged, others with their namespace.

    No declared key has a `#`, and a namespace's are escaped, so that no two names have the same key.
    """
    if name.namespace == own:
        return name.name
    return f"{name.namespace.replace('#', '%23')}#{name.name}"


def place(name: Name, own: str) -> Place:
    """Return the dataset of a name: for a path below the warehouse Headrace's own, for any other name itself.

    Without the dated directory at the end of a path, which is a version (setting `dated_directories`).
    """
    return placer(own)(name)


def placer(own: str) -> Callable[[Name], Place]:
    """Return `place` for many names: the settings are read once."""
    here = current_context().settings
    return partial(_place, own=own, warehouse=here.warehouse_uri, dated=here.dated_directories)


@lru_cache(maxsize=50_000)
def _place(name: Name, own: str, warehouse: str, dated: bool) -> Place:
    root, path = _normal(warehouse), _located(name)
    if path is None or not path.startswith(f"{root}/"):
        found = _DATED.fullmatch(name.name) if dated else None
        return (
            Place(Name(name.namespace, found["dataset"]), directory=found["directory"])
            if found
            else Place(name)
        )
    steps = [step for step in path.removeprefix(f"{root}/").split("/") if step]
    tagged = next((index for index, step in enumerate(steps) if _TAG.fullmatch(step)), None)
    if tagged is None:
        return Place(Name(own, "/".join(steps[:2]))) if len(steps) >= 2 else Place(name)
    if tagged == 0:
        return Place(name)
    partition = next((step for step in steps[tagged + 1 :] if step.startswith(_PARTITION)), "")
    return Place(
        Name(own, "/".join(steps[:tagged])), steps[tagged], unquote(partition.removeprefix(_PARTITION))
    )


def _located(name: Name) -> str | None:
    """Return the path in the name, if it is one, normalised."""
    if name.namespace in {"file", "file:", "file://"}:
        return _normal(f"file:///{name.name.removeprefix('file:').lstrip('/')}")
    if "://" in name.namespace:
        return _normal(f"{name.namespace.rstrip('/')}/{name.name.lstrip('/')}")
    return None


def _normal(uri: str) -> str | None:
    """Normalise to scheme://authority/path, with `s3a:` as `s3:` and `file:/x` as `file:///x`."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # such as a bracket in a host
        return None
    if not parts.scheme:
        return None
    scheme = _SAME_STORE.get(parts.scheme, parts.scheme)
    path = "/".join(step for step in unquote(parts.path).split("/") if step)
    return f"{scheme}://{parts.netloc}/{path}".rstrip("/")
