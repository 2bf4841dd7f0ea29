"""Singular and plural nouns for sensor summaries."""

from __future__ import annotations


def noun(number: int, one: str) -> str:
    """Return the noun for a number: `file` for 1, `files` for any other number."""
    return one if number == 1 else f"{one}s"
