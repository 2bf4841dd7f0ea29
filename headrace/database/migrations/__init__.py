"""Migrations of the catalog's schema (Alembic)."""

from pathlib import Path

HEAD = "0001"  # the newest revision, known without importing Alembic: every connection compares it


def run_script(script: Path) -> None:
    """Execute the statements of a revision, one after another, in its transaction."""
    from alembic import op

    connection = op.get_bind().connection.driver_connection
    assert connection is not None  # noqa: S101 - `migrate` hands an open one over
    # psycopg itself, without parameters: only then may one call carry many statements.
    connection.execute(script.read_text(encoding="utf-8"))
