"""Formats of run events from other packages, in addition to the detected ones."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Protocol

from headrace.job_reports.completions.parsing import Completions
from headrace.plugins import Registry


class EventSource(Protocol):
    """Converts a file of one format to run events: a pure function of its bytes."""

    def read(self, data: bytes, name: str, *, at: datetime, zone: tzinfo) -> Completions:
        """Parse the file to events and errors, by line and field.

        name: the file's path, for messages. at: the file's modification time. zone: of times without one.
        """
        ...


EVENT_SOURCES: Registry[EventSource] = Registry("headrace.event_sources", "event source", {})
