"""Where things are in this repository."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

# How long a test waits for another process: far longer than it takes, since the machine may be busy.
WAIT_SECONDS = 600
