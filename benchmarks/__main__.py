"""Measure every claim, one after another: python -m benchmarks [NAME ...]. Use an otherwise idle machine."""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "publish",
    "loading",
    "backfill",
    "materialization",
    "estate",
    "simulate",
    "ingestion",
    "expiry",
    "stores",
    "tables",
    "growth",
    "personal_data",
    "profiles",
    "erasure",
    "retention",
    "graph",
    "pages",
    "sla",
    "sla_calibration",
    "column_lineage",
    "alerts",
    "reporting",
    "status",
    "openmetadata",
    "demo",
)


def main(names: list[str]) -> int:
    """Run the named benchmarks (all of them by default); 0 when all went through."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}: there are {', '.join(NAMES)}")
    failed = 0
    for name in names or NAMES:
        print(f"\n== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
