"""Formats of run events that other packages add to those that are detected from a file's content."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Protocol

from headrace.job_reports.completions.parsing import Completions
from headrace.plugins import Registry


class EventSource(Protocol):
    """Translates a file of one format to run events: a pure function of its bytes."""

    def read(self, data: bytes, name: str, *, at: datetime, zone: tzinfo) -> Completions:
        """The events of the file, and what could not be read of it, by line and field.

        name: the file's path, for messages. at: when the file was written. zone: of times that name none.
        """
        ...


EVENT_SOURCES: Registry[EventSource] = Registry("headrace.event_sources", "event source", {})
