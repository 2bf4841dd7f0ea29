"""A server written in Java for tests: a source file, and the jars that a make target has fetched."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.paths import WAIT_SECONDS


@contextmanager
def running(source: Path, jars: Path, folder: Path, options: Sequence[str] = ()) -> Iterator[str]:
    """Run it in a folder, and yield the address that it prints; it ends with its standard input."""
    command = ["java", "-Xmx512m", *options, "-cp", f"{jars}/*", str(source), str(folder)]
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
