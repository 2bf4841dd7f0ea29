"""Partition keys as directory names, exactly as Spark writes them."""

from __future__ import annotations

from dataclasses import dataclass

COLUMN = "partition"
_ESCAPED = frozenset([chr(i) for i in range(1, 0x20)] + list("\"#%'*/:=?\\{[]^\x7f"))


@dataclass(frozen=True, slots=True)
class PartitionWrite:
    """The partitions to be written.

    key: an SQL expression of a row's partition key as a string; None: all rows belong to the only partition.
    """

    key: str | None
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys or not all(self.keys):
            raise ValueError("a partitioned write needs at least one partition key, and no empty one")
        if len(set(self.keys)) != len(self.keys):
            raise ValueError("a partition key occurs twice")
        if self.key is None and len(self.keys) > 1:
            raise ValueError("rows of several partitions need a key to separate them")


def directory(key: str) -> str:
    """Return the name of a partition's directory: `partition=<escaped key>`."""
    return f"{COLUMN}={escaped(key)}"


def escaped(key: str) -> str:
    """Escape a key for a file name, as Spark does (ExternalCatalogUtils.escapePathName)."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in key)
