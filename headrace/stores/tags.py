"""Tags of versions: the same in every store."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

_TAG = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]{8}")


def new_tag() -> str:
    """Generate a version tag: the time in UTC to the second, and eight random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def is_tag(name: str) -> bool:
    """Return True if the name has the form of a generated tag."""
    return _TAG.fullmatch(name) is not None


def begun(tag: str) -> datetime:
    """Return when the write of a tag began. Raises ValueError for a name of another form."""
    match = _TAG.fullmatch(tag)
    if match is None:
        raise ValueError(f"{tag!r} is not a version tag")
    return datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
