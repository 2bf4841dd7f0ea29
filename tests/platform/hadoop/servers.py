"""HDFS and YARN for tests, each with one node in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import java_server
from tests.paths import REPOSITORY

_JARS = REPOSITORY / ".venv" / "hadoop"


@contextmanager
def running(server: str, folder: Path) -> Iterator[str]:
    """Run the server `Hdfs` or `Yarn` in a folder, and yield its address."""
    if not _JARS.is_dir():
        pytest.skip("no HDFS and no YARN: `make hadoop` fetches them")
    source = REPOSITORY / "tests" / "platform" / "hadoop" / f"{server}.java"
    options = ["--add-opens", "java.base/java.lang=ALL-UNNAMED", f"-Dtest.build.data={folder}"]
    with java_server.running(source, _JARS, folder, options) as address:
        yield address
