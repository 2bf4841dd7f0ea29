"""Severity of events, checks and findings: one scale for the whole platform."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """From INFO to CRITICAL; members compare by rank, not alphabetically as plain strings would.

    A check with ERROR blocks the publish; one with WARNING is recorded and shown.
    """

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"

    @property
    def rank(self) -> int:
        """0 for INFO, rising with the severity."""
        return list(Severity).index(self)

    def __lt__(self, other: str) -> bool:
        return self.rank < Severity(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Severity(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Severity(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Severity(other).rank
