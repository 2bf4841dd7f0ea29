"""The time-zone rules of this process, identified by a digest, since updates can change them."""

from __future__ import annotations

import zoneinfo
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path


@cache
def rules() -> str:
    """Return a digest (SHA-256, hex) of all zones' rules, computed once per process."""
    digest = sha256()
    for name in sorted(zoneinfo.available_timezones()):
        digest.update(name.encode() + b"\0" + _data(name))
    return digest.hexdigest()


def _data(name: str) -> bytes:
    """Return the source of a zone for `zoneinfo`: the machine's data, then the package tzdata."""
    for folder in zoneinfo.TZPATH:
        found = Path(folder, name)
        if found.is_file():
            return found.read_bytes()
    return resources.files("tzdata").joinpath("zoneinfo", name).read_bytes()
