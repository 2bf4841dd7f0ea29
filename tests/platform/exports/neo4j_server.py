"""A Neo4j for tests: the one in TEST_NEO4J (it is emptied), or one started from the jars of `make neo4j`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import java_server
from tests.paths import REPOSITORY

JARS = REPOSITORY / ".venv" / "neo4j"
MISSING = "no Neo4j: `make neo4j` brings one, or TEST_NEO4J names one that may be emptied"


@contextmanager
def running(folder: Path) -> Iterator[str | None]:
    """The bolt URI of a server without a password; None if there is none."""
    if given := os.environ.get("TEST_NEO4J"):
        yield given
        return
    if not JARS.is_dir():
        yield None
        return
    source = Path(__file__).with_name("neo4j") / "Server.java"
    with java_server.running(source, JARS, folder) as uri:
        yield uri
