"""A JanusGraph for tests: the one in TEST_JANUSGRAPH (it is emptied), or one of the jars of `make janusgraph`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import java_server
from tests.paths import REPOSITORY

JARS = REPOSITORY / ".venv" / "janusgraph"
MISSING = "no JanusGraph: `make janusgraph` brings one and its driver, or TEST_JANUSGRAPH names one that may be emptied"


@contextmanager
def running(folder: Path) -> Iterator[str | None]:
    """The address of a server; None if there is none."""
    if given := os.environ.get("TEST_JANUSGRAPH"):
        yield given
        return
    if not JARS.is_dir():
        yield None
        return
    source = Path(__file__).with_name("janusgraph") / "Server.java"
    with java_server.running(source, JARS, folder, ["-Xmx768m"]) as uri:
        yield uri
