"""Erase rows with the command in this process, and kill it at a named place.

The place is `before:<step>` or `after:<step>` of a step of the erasure.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg

import headrace.local.environment as environment
from headrace.cli import app
from headrace.execution import erasure as rows
from headrace.orchestration import erasure as events
from headrace.stores.data_files.store import DataFileStore

ERASE = ["erase", "crm/people", "--where", "id = 1", "--reason", "request 7", "--yes"]
_STEPS: dict[str, Any] = {
    "publish": rows,
    "record_erasure": rows,
    "forget_erased_versions": events,
    "delete": DataFileStore,
}


def die_at(place: str) -> None:
    """Put a killing step in the place of the one that `place` names."""
    when, _, step = place.partition(":")
    original: Callable[..., Any] = getattr(_STEPS[step], step)

    def killing(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        original(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(_STEPS[step], step, killing)


def erase(folder: str, place: str) -> int:
    """Run the command with the Dagster instance in a folder."""

    @contextmanager
    def instance() -> Iterator[dg.DagsterInstance]:
        yield dg.DagsterInstance.local_temp(folder)

    environment.dagster_instance = instance
    die_at(place)
    app(ERASE)
    return 0
