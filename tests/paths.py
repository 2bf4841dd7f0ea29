"""Where things are in this repository."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
