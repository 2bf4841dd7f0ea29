"""Headrace's own dataset names and locations in external events: the files of a version map to its dataset."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from urllib.parse import unquote, urlsplit
from uuid import UUID, uuid5

from headrace.settings import settings

_TAG = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_WRITTEN = re.compile(r"[._]?\d{8}T\d{6}Z-[0-9a-f]{8}(?![0-9A-Za-z])")
_PARTITION = "partition="
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "wasbs": "wasb", "abfss": "abfs"}


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """What the spec identifies datasets and jobs by: a name that is unique in its namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}#{self.name}"


@dataclass(frozen=True, slots=True)
class Place:
    """What a reported name stands for: a dataset's name, and the version and partition that the name states."""

    name: Name
    version: str | None = None
    partition: str = ""


def job(name: Name) -> Name:
    """The name of a job without the version that it wrote, which Spark's listener takes from the directory."""
    plain = _WRITTEN.sub("", name.name)
    return Name(name.namespace, plain) if plain else name


def own_namespace(organisation: str) -> str:
    """The namespace of the jobs and datasets that Headrace itself knows by their keys."""
    return f"headrace://{organisation}"


def name_id(organisation_id: UUID, name: Name) -> UUID:
    """The id of a dataset's name, and of the dataset that is made for it."""
    return uuid5(organisation_id, f"dataset/{name.namespace}\n{name.name}")


def job_id(organisation_id: UUID, name: Name) -> UUID:
    """The id of the process that is made for a job."""
    return uuid5(organisation_id, f"job/{name.namespace}\n{name.name}")


def key_of(name: Name, own: str) -> str:
    """The key under which a dataset or process of this name is shown: ours as it is, others' with their namespace.

    No declared key has a `#`, and none of a namespace is left in front of it, so that no two names have one key.
    """
    if name.namespace == own:
        return name.name
    return f"{name.namespace.replace('#', '%23')}#{name.name}"


def place(name: Name, own: str) -> Place:
    """The dataset that a name stands for: for a path below the warehouse ours, for any other name itself."""
    return placer(own)(name)


def placer(own: str) -> Callable[[Name], Place]:
    """As `place`, for many names: where the warehouse lies is asked once."""
    return partial(_place, own=own, warehouse=settings().warehouse_uri)


@lru_cache(maxsize=50_000)
def _place(name: Name, own: str, warehouse: str) -> Place:
    root, path = _normal(warehouse), _located(name)
    if path is None or not path.startswith(f"{root}/"):
        return Place(name)
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
    """The path that a name is, where it is one, in one spelling."""
    if name.namespace in {"file", "file:", "file://"}:
        return _normal(f"file:///{name.name.removeprefix('file:').lstrip('/')}")
    if "://" in name.namespace:
        return _normal(f"{name.namespace.rstrip('/')}/{name.name.lstrip('/')}")
    return None


def _normal(uri: str) -> str | None:
    """scheme://authority/path, for `s3a:` and `s3:` and for `file:/x` and `file:///x` alike."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # as of a bracket in a host
        return None
    if not parts.scheme:
        return None
    scheme = _SAME_STORE.get(parts.scheme, parts.scheme)
    path = "/".join(step for step in unquote(parts.path).split("/") if step)
    return f"{scheme}://{parts.netloc}/{path}".rstrip("/")
