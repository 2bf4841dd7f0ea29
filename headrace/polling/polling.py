"""One poll: read what changed, drop the reports into the folder of completions, and remember the watermark.

The watermark moves only after the reports are in the folder: a process that dies in between reads the rows again, and
the same report of a run is stored once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.polling.polls import Poll
from headrace.polling.reading import PollFailed, Watermark, read_rows
from headrace.polling.reports import as_file, greatest, is_ascending, reports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Drop = Callable[[str, bytes], None]  # the name of a completion file, and its content


@dataclass(frozen=True, slots=True)
class PollState:
    """Where the next poll starts. is_behind: the last one left rows. polled_at: None before the first."""

    watermark: Watermark
    is_behind: bool = False
    polled_at: datetime | None = None

    @classmethod
    def of(cls, poll: Poll, stored: str | None) -> PollState:
        """Return the stored state. That of the first poll if there is none, or only one of the stored watermark and
        `since` is a number, or has a zone."""
        kept: Mapping[str, Any] = json.loads(stored) if stored else {}
        watermark = kept.get("watermark")
        if watermark is None:
            return cls(poll.since)
        watermark = watermark if isinstance(watermark, int) else datetime.fromisoformat(watermark)
        if _kind(watermark) != _kind(poll.since):
            return cls(poll.since)
        return cls(watermark, bool(kept["is_behind"]), datetime.fromisoformat(kept["polled_at"]))

    @property
    def stored(self) -> str:
        """The state as text."""
        watermark = self.watermark.isoformat() if isinstance(self.watermark, datetime) else self.watermark
        polled_at = self.polled_at and self.polled_at.isoformat()
        return json.dumps({"watermark": watermark, "is_behind": self.is_behind, "polled_at": polled_at})

    def is_due(self, poll: Poll, now: datetime) -> bool:
        """Return True if it is time for the next poll."""
        return self.is_behind or self.polled_at is None or now - self.polled_at >= poll.every


def _kind(watermark: Watermark) -> tuple[bool, bool]:
    return isinstance(watermark, datetime), isinstance(watermark, datetime) and watermark.tzinfo is not None


@dataclass(frozen=True, slots=True)
class Polled:
    """The result of a poll: the number of rows, their reports, and where the next one starts."""

    rows: int
    reports: list[dict[str, Any]]
    state: PollState


def run_poll(
    poll: Poll, state: PollState, session: Callable[[], SparkSession], drop: Drop | None, now: datetime
) -> Polled:
    """Poll once. drop: None to change nothing.

    Raises PollFailed; StoreUnavailable and StatementFailed of a database.
    """
    start = state.watermark
    if poll.overlap is not None and not state.is_behind and isinstance(start, datetime):
        start = start - poll.overlap
    found = read_rows(poll, start, session)
    last = greatest(poll, found.rows, state.watermark)
    if found.is_full and not is_ascending(poll, found.rows, state.watermark):
        raise PollFailed(
            f"there are more than {len(found.rows):,} rows, and they are not in the order of {poll.watermark}: order "
            "them, so that the next poll can continue"
        )
    if found.is_full and last == start:
        raise PollFailed(
            f"{len(found.rows):,} rows have the watermark {last}, so that the poll does not get further: order the "
            f"rows by {poll.watermark}, and choose a finer watermark"
        )
    made = reports(poll, found.rows)
    if made and drop is not None:
        drop(f"poll_{poll.name}_{now.astimezone(UTC):%Y%m%dT%H%M%S%fZ}.json", as_file(made))
    return Polled(len(found.rows), made, PollState(last, found.is_full, now))
