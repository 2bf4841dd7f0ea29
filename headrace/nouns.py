"""Singular and plural nouns for messages."""

from __future__ import annotations


def noun(number: int, one: str) -> str:
    """Return the noun for a number: `file` for 1, `files` for any other number."""
    return one if number == 1 else f"{one}es" if one.endswith("s") else f"{one}s"


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number and its noun: `1 file`, `2,000 files`. more: a text between them."""
    return f"{number:,}{more} {noun(number if not more else 0, one)}"
