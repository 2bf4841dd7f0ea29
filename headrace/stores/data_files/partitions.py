"""Partition keys as directory names, exactly as Spark writes them."""

from __future__ import annotations

COLUMN = "partition"
_ESCAPED = frozenset([chr(i) for i in range(1, 0x20)] + list("\"#%'*/:=?\\{[]^\x7f"))


def directory(key: str) -> str:
    """Return the name of a partition's directory: `partition=<escaped key>`."""
    return f"{COLUMN}={escaped(key)}"


def escaped(key: str) -> str:
    """Escape a key for a file name, as Spark does (ExternalCatalogUtils.escapePathName)."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in key)
