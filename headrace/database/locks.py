"""Mutual exclusion between processes: a lock lives as long as its holder."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, text

from headrace.context import current_context
from headrace.database.connection import translated


@contextmanager
def alone(engine: Engine, work: str) -> Iterator[bool]:
    """Try to take the lock without waiting. It is released when the block ends or the process dies."""
    digest = hashlib.sha256(f"{current_context().organisation_id}/{work}".encode()).digest()
    key = {"key": int.from_bytes(digest[:8], "big", signed=True)}
    with translated(engine), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        got = bool(session.scalar(text("SELECT pg_try_advisory_lock(:key)"), key))
        try:
            yield got
        finally:
            if got and not session.invalidated:
                session.execute(text("SELECT pg_advisory_unlock(:key)"), key)
