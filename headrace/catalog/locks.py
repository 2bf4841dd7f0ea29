"""Advisory locks of writers, held until their transaction ends."""

from typing import Any
from uuid import UUID

from psycopg import Cursor

_REGISTRATION = 0x7265676973746572  # "register"
_COMPLETIONS = 0x696E67657374  # "ingest"


def lock_registrations(cursor: Cursor[Any]) -> None:
    """Block other writers of declarations, scans and candidates."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_REGISTRATION])


def lock_completions(cursor: Cursor[Any]) -> None:
    """Block other writers of completions: their sequence is the order of visibility."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_COMPLETIONS])


def lock_events(cursor: Cursor[Any], organisation: UUID) -> None:
    """Block other projections of the organisation's events. Taken before the lock of completions."""
    # Prepared plans are kept, because planning costs more than execution. All of these statements use index lookups; a
    # plan made while a table was small would still scan it when it is large.
    cursor.execute(
        "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true), "
        "set_config('enable_mergejoin', 'off', true), pg_advisory_xact_lock(hashtextextended(%s, 0))",
        [f"run events/{organisation}"],
    )
