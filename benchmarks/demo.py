"""Where `make demo` spends its time: from an empty state folder, and a second time.

Run: python -m benchmarks.demo
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headrace.database import embedded
from tests.paths import REPOSITORY


def main() -> None:
    """Run the demo twice and print the seconds of each step."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "state"
        try:
            cold, again = _demo(home), _demo(home)
        finally:
            embedded.stop(home)
    table = Table("step", "first", "again", title=f"make demo, seconds ({os.cpu_count()} CPUs)")
    for step in dict.fromkeys([*cold, *again]):
        table.add_row(step, *(f"{times[step]:.1f}" if step in times else "-" for times in (cold, again)))
    Console().print(table)


def _demo(home: Path) -> dict[str, float]:
    """The seconds of each step of one run, and of the whole command."""
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "jobs.demo", "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "HEADRACE_HOME": str(home)},
        stdout=subprocess.PIPE,
        check=True,
    )
    steps: dict[str, float] = json.loads(ran.stdout)["steps"]
    return {**steps, "the whole command": time.perf_counter() - began}


if __name__ == "__main__":
    main()
