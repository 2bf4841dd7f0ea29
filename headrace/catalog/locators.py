"""Where a version is stored: files, a snapshot of a table, or a relation of a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FilesLocator:
    """Files below a URI. byte_size: None if the writer did not report it; checksum: '' then."""

    uri: str
    file_count: int
    byte_size: int | None
    checksum: str

    def __post_init__(self) -> None:
        if not self.uri:
            raise ValueError("files have a URI")

    def __str__(self) -> str:
        return self.uri


@dataclass(frozen=True, slots=True)
class SnapshotLocator:
    """A snapshot of a table whose format keeps its own history."""

    table: str
    snapshot: str

    def __post_init__(self) -> None:
        if not self.table or not self.snapshot:
            raise ValueError("a snapshot has a table and an id")

    def __str__(self) -> str:
        return f"{self.table}#{self.snapshot}"  # not @: domain/name@tag looks like a password of Oracle's


@dataclass(frozen=True, slots=True)
class RelationLocator:
    """A table or view of a database, behind a named connection."""

    connection: str
    relation: str

    def __post_init__(self) -> None:
        if not self.connection or not self.relation:
            raise ValueError("a relation has a connection and a name")

    def __str__(self) -> str:
        return f"{self.connection}:{self.relation}"


Locator = FilesLocator | SnapshotLocator | RelationLocator

_KINDS: Mapping[str, type[SnapshotLocator] | type[RelationLocator]] = {
    "snapshot": SnapshotLocator,
    "relation": RelationLocator,
}


def locator_metadata(store: str, locator: Locator | None) -> dict[str, Any]:
    """Return the store and locator for a version's metadata; files are described by the version's own columns."""
    if locator is None or isinstance(locator, FilesLocator):
        return {"store": store} if store != FILES_STORE else {}
    kind = next(name for name, each in _KINDS.items() if isinstance(locator, each))
    return {"store": store, "locator": {"kind": kind, **asdict(locator)}}


def locator_of(metadata: Mapping[str, Any]) -> SnapshotLocator | RelationLocator | None:
    """Return the locator in a version's metadata; None if its own columns describe files."""
    kept = metadata.get("locator")
    if kept is None:
        return None
    fields = {name: value for name, value in kept.items() if name != "kind"}
    return _KINDS[kept["kind"]](**fields)


FILES_STORE = "files"
JDBC_STORE = "jdbc"  # of tables that other programs write, too
