"""With which code and environment a run computes: the commit of the project, the installed packages, their digests."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any
from uuid import UUID

GIT_SECONDS = 10


@cache
def code_state(root: Path) -> dict[str, Any]:
    """Return the state of this process's code: Python, PySpark and Headrace, a digest of all installed packages, and
    of a git repository the commit and whether files differ from it.

    The state is that at the first call: a process imports code once.
    """
    packages = sorted(f"{each.name}=={each.version}" for each in distributions())
    state: dict[str, Any] = {
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "headrace": version("headrace"),
        "packages": hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16],
    }
    commit = _git(root, "rev-parse", "HEAD")
    if commit is not None:
        state["commit"] = commit
        state["uncommitted"] = bool(_git(root, "status", "--porcelain", "--", "."))
    return state


def _git(root: Path, *words: str) -> str | None:
    """Return what git prints; None without git, or outside a repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def fingerprint(code_version: str | None, inputs: Iterable[UUID]) -> str:
    """Return the hex SHA-256 of a code version and the versions of all inputs, in any order.

    Versions with the same fingerprint were computed the same way.
    """
    return hashlib.sha256(
        "\n".join([code_version or "", *sorted({str(version_id) for version_id in inputs})]).encode()
    ).hexdigest()
