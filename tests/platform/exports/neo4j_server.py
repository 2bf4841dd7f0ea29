"""A Neo4j for tests: the one in TEST_NEO4J (it is emptied), or one started from the jars of `make neo4j`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.paths import REPOSITORY, WAIT_SECONDS

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
    command = ["java", "-Xmx512m", "-cp", f"{JARS}/*", str(source), str(folder)]
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        assert server.stdout is not None
        assert server.stdin is not None
        ready = next((line for line in server.stdout if line.startswith("READY ")), None)
        assert ready is not None, (folder / "errors").read_text()
        try:
            yield ready.split()[1]
        finally:
            server.stdin.close()
            server.wait(WAIT_SECONDS)
