"""A digest of code and inputs: versions with the same fingerprint were computed the same way."""

from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID


def fingerprint(code_version: str | None, inputs: Iterable[UUID]) -> str:
    """Return the hex SHA-256 of a code version and the versions of all inputs, in any order."""
    return sha256(
        "\n".join([code_version or "", *sorted({str(version_id) for version_id in inputs})]).encode()
    ).hexdigest()
